//! One probe after the other: the definition.

/// Runs everywhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scalar;
