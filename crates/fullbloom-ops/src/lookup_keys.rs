//! Keys that are looked up in many filters: encoded and hashed once for all filters of a kind.

use crate::key_spec::KeySpec;
use fullbloom_any::{AnyFilter, KeyHash};
use fullbloom_dialects::Name;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Keys as they are written. What each type and dialect makes of them is kept for the next filter.
#[derive(Debug, Default)]
pub struct LookupKeys {
    written: Vec<Vec<u8>>,
    encoded: Mutex<Vec<(KeySpec, Name, Arc<Encoded>)>>,
}

impl LookupKeys {
    /// The bytes of the keys as values of this type, in this dialect.
    pub(crate) fn encoded(&self, spec: &KeySpec, dialect: Name) -> Arc<Encoded> {
        let mut known = self.encoded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, encoded)) = known.iter().find(|(of, by, _)| of == spec && *by == dialect) {
            return encoded.clone();
        }
        let encoded = Arc::new(Encoded::new(&self.written, spec, dialect));
        known.push((spec.clone(), dialect, encoded.clone()));
        encoded
    }
}

impl From<Vec<Vec<u8>>> for LookupKeys {
    fn from(written: Vec<Vec<u8>>) -> LookupKeys {
        LookupKeys { written, encoded: Mutex::default() }
    }
}

impl Clone for LookupKeys {
    fn clone(&self) -> LookupKeys {
        self.written.clone().into()
    }
}

impl Deref for LookupKeys {
    type Target = [Vec<u8>];

    fn deref(&self) -> &[Vec<u8>] {
        &self.written
    }
}

/// The keys in the bytes of one type and dialect.
#[derive(Debug)]
pub(crate) struct Encoded {
    /// The bytes of each key, or why it is not of the type.
    keys: Vec<Result<Vec<u8>, String>>,
    /// Their hashes, by the first filter that was asked; `None` if it does not hash single keys.
    hashes: OnceLock<Option<Vec<KeyHash>>>,
}

impl Encoded {
    fn new(written: &[Vec<u8>], spec: &KeySpec, dialect: Name) -> Encoded {
        let one = |text: &Vec<u8>| {
            let mut key = Vec::new();
            spec.encode(text, dialect, &mut key).map(|()| key)
        };
        Encoded { keys: written.iter().map(one).collect(), hashes: OnceLock::new() }
    }

    /// The first key that is not of the type, and why.
    pub fn first_refused(&self) -> Option<(usize, &str)> {
        self.keys.iter().enumerate().find_map(|(at, key)| Some((at, key.as_ref().err()?.as_str())))
    }

    /// For each key: whether it is of the type.
    pub fn fit(&self) -> Vec<bool> {
        self.keys.iter().map(Result::is_ok).collect()
    }

    /// The bytes of each key; none of a key that is not of the type.
    pub fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|key| key.as_deref().unwrap_or_default())
    }

    /// Looks all keys up. The answer about a key that is not of the type has no meaning.
    pub fn look_up(&self, filter: &AnyFilter) -> Vec<bool> {
        let mut answers = vec![false; self.keys.len()];
        let form = filter.key_form();
        if form.is_plain() {
            let hash = || self.bytes().map(|key| filter.hash(key).ok()).collect();
            let hashes = self.hashes.get_or_init(hash).as_deref();
            // A filter with another seed refuses the hashes before it changes an answer.
            if hashes.is_some_and(|hashes| filter.may_contain_hashes(hashes, &mut answers[..]).is_ok()) {
                return answers;
            }
        }
        for (key, answer) in self.bytes().zip(&mut answers) {
            *answer = filter.may_contain(&form.apply(key));
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbloom::sizing::{Request, Target};

    #[test]
    fn hashes_of_one_filter_answer_for_the_next_and_not_for_one_with_another_hash() {
        let keys: LookupKeys = vec![b"7".to_vec(), b"seven".to_vec(), b"8".to_vec()].into();
        let int: KeySpec = "int".parse().unwrap();
        let encoded = keys.encoded(&int, Name::Cassandra);
        assert_eq!(encoded.fit(), [true, false, true]);
        assert_eq!(encoded.first_refused().unwrap().0, 1);
        assert!(Arc::ptr_eq(&encoded, &keys.encoded(&int, Name::Cassandra)), "encoded once");
        assert!(!Arc::ptr_eq(&encoded, &keys.encoded(&int, Name::Spark)));

        let request = Request { expected_keys: 100, target: Target::Fpr(0.001) };
        for (name, present) in [(Name::Cassandra, 7i32), (Name::Cassandra, 8), (Name::Guava, 8)] {
            let mut filter = AnyFilter::new(name, &request).unwrap();
            filter.insert(&present.to_be_bytes()).unwrap();
            let found = encoded.look_up(&filter);
            assert_eq!((found[0], found[2]), (present == 7, present == 8), "{name}");
        }
    }
}
