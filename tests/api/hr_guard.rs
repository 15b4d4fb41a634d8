//! Where deliveries never go, however the target is spelled and whatever name servers say.

crate::tests![];
