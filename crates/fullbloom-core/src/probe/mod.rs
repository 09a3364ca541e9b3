//! The bits that a key sets in its lines.

pub mod lines;
