//! The policies inside SlateDB, against a model; and the policies by themselves.

mod bytes_of_filters;
mod engine;
mod model;
mod policies;
mod rates;
