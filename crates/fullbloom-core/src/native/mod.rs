//! What the native kinds share: how keys are hashed, the facts in the header of a file, its sections and
//! checksums, the layout in lines, and exceptions.

pub mod bare;
pub mod chunks;
pub mod exceptions;
pub mod format;
pub mod guard;
pub mod hashing;
pub mod head;
pub mod key_type;
pub mod shape;
pub mod shared;
pub mod sizing;
