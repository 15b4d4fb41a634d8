//! The installation that `appliance doctor` examines.

use std::path::PathBuf;

use super::args::Args;
use crate::domain::disk::UploadLimits;
use crate::world::World;

/// The state that all examinations share.
pub(super) struct Patient<'a> {
    pub(super) args: &'a Args,
    pub(super) world: &'a dyn World,
    /// The absolute path of the file.
    pub(super) path: PathBuf,
    /// Whether a service, or a command that excludes services, uses the file.
    pub(super) is_running: bool,
    /// Whether the file exists and can be read.
    pub(super) is_readable: bool,
    pub(super) limits: UploadLimits,
}
