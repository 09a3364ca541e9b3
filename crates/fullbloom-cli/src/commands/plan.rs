//! `fullbloom plan`: what a filter would cost in each dialect, and what it would keep.

use crate::args;
use crate::error::{Failure, Status};
use crate::numbers;
use crate::output::{self, Output};
use crate::sizing::TargetArgs;
use crate::table::Table;
use crate::text;
use clap::builder::{PossibleValue, TypedValueParser};
use fullbloom::SizeError;
use fullbloom::any::{self, Plan};
use fullbloom::dialect::Name;
use fullbloom::sizing::{Request, Target};
use serde_json::{Value, json};
