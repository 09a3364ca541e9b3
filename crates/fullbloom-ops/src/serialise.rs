//! How numbers and names are written as JSON.

use fullbloom_dialects::Name;
use serde::{Serialize, Serializer};

/// A dialect by its name.
pub fn name<S: Serializer>(name: &Name, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name.as_str())
}

/// A dialect by its name; null for none.
pub fn some_name<S: Serializer>(name: &Option<Name>, serializer: S) -> Result<S::Ok, S::Error> {
    name.map(Name::as_str).serialize(serializer)
}

/// Dialects by their names.
pub fn names<S: Serializer>(names: &[Name], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(names.iter().map(|name| name.as_str()))
}

/// The nearest whole number; null for `None` and NaN.
pub fn whole<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) if (0.0..1e18).contains(number) => serializer.serialize_u64(number.round() as u64),
        number => number.filter(|number| number.is_finite()).serialize(serializer),
    }
}
