//! Tests of the test helpers and of the golden files' list.

mod oracle;
mod provenance;
mod public_interface;
