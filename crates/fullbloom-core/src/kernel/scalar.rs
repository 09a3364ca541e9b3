//! The kernel that every CPU can run: one probe after the other. It defines the answers that every other
//! kernel must match.

use super::Body;

/// The kernel that every CPU can run.
#[derive(Debug, Clone, Copy)]
pub struct Scalar;

impl Body for Scalar {}
