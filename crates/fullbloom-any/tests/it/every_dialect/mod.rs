//! What holds in every dialect, walked over all of them: requests, sizes, and keys that are found.

mod extremes;
mod found;
mod large;
mod requests;
mod small;
