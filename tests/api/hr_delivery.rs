//! `/api/admin/hr-deliveries`: what admins see of deliveries, and sending one again.

crate::tests![];
