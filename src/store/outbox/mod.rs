//! The outbox: the deliveries that the service owes to HR systems. The activity row of a decision records that a
//! delivery is owed. A moment later, the `intake` creates the delivery with its message (`payload`). The delivery then
//! waits in the `queue`, and each `attempt` updates it.
//!
//! A pending delivery has a time for its next attempt, unless an earlier delivery for its application has not arrived.
//! Each attempt looks up the integration. Therefore, the deliveries in the queue do not change when an admin or a 410
//! response disables the integration.

mod attempt;
mod erasure;
mod intake;
mod payload;
mod postponed;
mod queue;

pub use self::attempt::record_attempt;
pub(super) use self::erasure::erase_candidate;
pub(super) use self::intake::count_awaiting_intake;
pub use self::intake::{TAKEN_IN_MAX, has_more, take_in, take_in_all};
pub use self::postponed::{PostponedDelivery, bring_forward, postponed};
pub(super) use self::queue::release_all;
pub use self::queue::{Delivery, due, enqueue_ping, first_due};
