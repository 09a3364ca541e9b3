//! What a caller asks a new filter to be, or says of one in bytes.

use crate::errors;
use crate::state::{State, Told};
use fullbloom::dialect::Name;
use fullbloom::native::{Hashing, Secret};
use fullbloom::sizing::{Request, Target};
use pyo3::prelude::*;

/// What a new filter is asked to be.
pub struct Asked {
    pub dialect: Name,
    pub target: Target,
    hashing: Hashing,
    store_secret: bool,
    label: Option<String>,
}

/// Numbers that a caller may give, of which one decides.
pub struct Wish {
    /// The rate.
    pub fpr: Option<f64>,
    pub bits_per_key: Option<f64>,
    pub bits: Option<u64>,
    pub probes: Option<u32>,
}

impl Wish {
    /// A rate of one in a hundred, unless something else is asked for.
    pub fn target(&self) -> PyResult<Target> {
        match (self.fpr, self.bits_per_key, self.bits, self.probes) {
            (None, None, None, None) => Ok(Target::Fpr(0.01)),
            (Some(fpr), None, None, None) => Ok(Target::Fpr(fpr)),
            (None, Some(bits_per_key), None, None) => Ok(Target::BitsPerKey(bits_per_key)),
            (None, None, Some(bit_len), Some(probes)) => Ok(Target::Exact { bit_len, probes }),
            _ => Err(errors::value("give one of fpr, bits_per_key, and bits with probes")),
        }
    }
}

/// The dialect of a name.
pub fn dialect(name: &str) -> PyResult<Name> {
    name.parse().map_err(errors::value)
}

fn secret_of(bytes: Option<&[u8]>) -> PyResult<Option<Secret>> {
    let Some(bytes) = bytes else { return Ok(None) };
    let bytes: [u8; 16] = bytes
        .try_into()
        .map_err(|_| errors::value(format_args!("a secret has 16 bytes, not {}", bytes.len())))?;
    Ok(Some(Secret::new(bytes)))
}

impl Asked {
    /// What these arguments mean; refused if another dialect cannot do it.
    pub fn new(
        name: &str,
        wish: &Wish,
        seed: Option<u64>,
        secret: Option<&[u8]>,
        store_secret: bool,
        label: Option<String>,
    ) -> PyResult<Asked> {
        let dialect = dialect(name)?;
        let secret = secret_of(secret)?;
        if dialect != Name::Native {
            let given = [
                ("seed", seed.is_some()),
                ("secret", secret.is_some()),
                ("store_secret", store_secret),
                ("label", label.is_some()),
            ];
            if let Some((what, _)) = given.iter().find(|(_, given)| *given) {
                return Err(errors::value(format_args!(
                    "{what}: only native filters have this, not {dialect}"
                )));
            }
        }
        let hashing = match (secret, seed) {
            (Some(_), Some(_)) => return Err(errors::value("give a seed or a secret, not both")),
            (Some(secret), None) => Hashing::Secret(secret),
            (None, _) if store_secret => {
                return Err(errors::value("store_secret: there is no secret to store"));
            }
            (None, seed) => Hashing::Seed(seed.unwrap_or(0)),
        };
        Ok(Asked { dialect, target: wish.target()?, hashing, store_secret, label })
    }

    /// The same for this many keys.
    pub fn request(&self, expected_keys: u64) -> Request {
        Request { expected_keys, target: self.target }
    }

    /// An empty filter for this many keys.
    pub fn empty(&self, expected_keys: u64) -> PyResult<State> {
        let mut state = State::empty(self.dialect, &self.request(expected_keys), self.hashing.clone())?;
        if let State::Native(filter) = &mut state {
            filter.set_label(self.label.as_deref().unwrap_or_default());
            filter.store_secret(self.store_secret);
        }
        Ok(state)
    }
}

/// What a caller says of bytes.
pub fn told(
    dialect_name: Option<&str>,
    bits: Option<u64>,
    probes: Option<u32>,
    secret: Option<&[u8]>,
) -> PyResult<Told> {
    let geometry = match (bits, probes) {
        (Some(bits), Some(probes)) => Some((bits, probes)),
        (None, None) => None,
        _ => return Err(errors::value("give bits and probes, or neither")),
    };
    Ok(Told { dialect: dialect_name.map(dialect).transpose()?, geometry, secret: secret_of(secret)? })
}
