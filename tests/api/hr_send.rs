//! Deliveries on their way: what is sent, when it is tried again, in what order, and what targets may do.

crate::tests![];
