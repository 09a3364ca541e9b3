//! The crate's tests on whole files.

mod files;
