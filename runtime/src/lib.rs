//! The runtime of compiled models.
