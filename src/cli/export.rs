//! `appliance export`.
use super::{DbArg, Failure};
use crate::world::World;
/// To come.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,
}
/// To come.
pub fn run(_args: &Args, _world: &dyn World) -> Result<(), Failure> {
    Err(Failure::new("to come"))
}
