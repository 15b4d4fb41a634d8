//! Withdrawal on a status page.

use serde::Serialize;

use super::StatusPage;
use super::view::StatusPageView;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::Action;
use crate::store::activity;
use crate::store::application::recorded_act;
use crate::world::World;

/// Withdraws the application of a page. The status of an application that has ended does not change, but an activity
/// row records the withdrawal. On the page of a later signup, only the page records the withdrawal.
pub fn withdraw(tx: &Tx<'_>, world: &dyn World, page: &StatusPage, view: &StatusPageView) -> Result<(), Error> {
    #[derive(Serialize)]
    struct UnchangedStatus {
        application: &'static str,
    }
    if let Some(application) = &view.application {
        let stamp = activity::stamp(world);
        if application.is_in_progress() {
            recorded_act::withdraw(tx, None, &view.organization.id, &application.application, None, &stamp)?;
        } else {
            let side = UnchangedStatus { application: application.application.record.status.as_str() };
            let (subject, detail) = (view.activity_subject(application), activity::detail(&side, &side)?);
            activity::append(tx, &stamp, None, Action::CandidateRoleWithdrawn, &subject, &detail)?;
        }
    }
    super::set_withdrawn(tx, page.number)
}
