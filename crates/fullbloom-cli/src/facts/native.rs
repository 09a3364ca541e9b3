//! What only a native filter can tell about itself.

use super::form::FormFacts;
use crate::text;
use fullbloom::native::{ExceptionFacts, Hashing, StoredFilter};
use fullbloom::sizing::Layout;
use serde_json::{Map, Value, json};

/// The numbers of a native filter beyond its bits.
#[derive(Debug)]
pub struct NativeFacts {
    layout: Layout,
    hash: Hash,
    expected_keys: u64,
    new_keys: u64,
    keys_estimated: bool,
    overfull: bool,
    planned_fpr: f64,
    exceptions: Option<ExceptionFacts>,
    label: String,
    form: FormFacts,
}

#[derive(Debug)]
enum Hash {
    Seed(u64),
    Keyed { secret_stored: bool },
}

impl NativeFacts {
    /// Of this filter. Of a plain one, none of it needs the bits.
    pub fn of<S: AsRef<[u8]>>(stored: &StoredFilter<S>) -> NativeFacts {
        let form = FormFacts::of(stored);
        let filter = stored.first();
        let (expected_keys, new_keys, planned_fpr) = match stored {
            StoredFilter::Growing(all) => (0, all.keys(), all.planned_fpr()),
            StoredFilter::Rotating(all) => (0, all.keys(), all.planned_fpr()),
            _ => (filter.expected_keys(), filter.keys(), filter.planned_fpr()),
        };
        NativeFacts {
            layout: filter.layout(),
            hash: match filter.hashing() {
                _ if stored.is_locked() => Hash::Keyed { secret_stored: false },
                Hashing::Secret(_) => Hash::Keyed { secret_stored: filter.stores_secret() },
                Hashing::Seed(seed) => Hash::Seed(*seed),
            },
            expected_keys,
            new_keys,
            keys_estimated: match stored {
                StoredFilter::Growing(all) => all.keys_are_estimated(),
                _ => filter.keys_are_estimated(),
            },
            overfull: expected_keys > 0 && new_keys > expected_keys,
            planned_fpr,
            exceptions: match stored {
                StoredFilter::Plain(plain) => plain.exceptions(),
                _ => None,
            },
            label: filter.label().to_owned(),
            form,
        }
    }

    /// More keys than it was made for.
    pub fn warning(&self) -> Option<String> {
        self.overfull.then(|| {
            format!(
                "{} new keys are in, more than the {} it was made for at a rate of {}",
                self.new_keys,
                self.expected_keys,
                text::rate(self.planned_fpr),
            )
        })
    }

    /// For machines.
    pub fn add_to(&self, object: &mut Map<String, Value>) {
        let (keyed, seed, stored) = match self.hash {
            Hash::Seed(seed) => (false, Some(seed), None),
            Hash::Keyed { secret_stored } => (true, None, Some(secret_stored)),
        };
        if !self.form.has_links() {
            object.insert("lines".into(), self.layout.lines().into());
            object.insert("block_lines".into(), self.layout.block_lines().into());
        }
        object.insert("expected_keys".into(), self.expected_keys.into());
        object.insert("new_keys".into(), self.new_keys.into());
        object.insert("new_keys_estimated".into(), self.keys_estimated.into());
        let planned = if self.form.has_links() {
            Some(self.planned_fpr)
        } else {
            planned(self.expected_keys, self.planned_fpr)
        };
        object.insert("planned_fpr".into(), planned.into());
        object.insert("overfull".into(), self.overfull.into());
        object.insert("keyed".into(), keyed.into());
        object.insert("secret_stored".into(), stored.into());
        object.insert("seed".into(), seed.into());
        let exceptions =
            self.exceptions.map(|e| json!({ "levels": e.levels, "listed": e.listed, "bytes": e.bytes }));
        object.insert("exceptions".into(), exceptions.into());
        object.insert("label".into(), self.label.as_str().into());
        self.form.add_to(object);
    }

    /// For people: names and values.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = self.form.lines();
        if !self.form.has_links() {
            lines.push(("layout", layout(self.layout)));
        }
        let about = if self.keys_estimated { "about " } else { "" };
        let planned = planned(self.expected_keys, self.planned_fpr).map_or(String::new(), |fpr| {
            format!(" of {} planned at {}", self.expected_keys, text::rate(fpr))
        });
        let name = if self.form.counts_insertions() { "keys in it" } else { "new keys" };
        lines.push((name, format!("{about}{}{planned}", self.new_keys)));
        lines.push((
            "hash",
            match self.hash {
                Hash::Seed(seed) => format!("fold64, seed {seed}"),
                Hash::Keyed { secret_stored: true } => "keyed; the secret is in the file".to_owned(),
                Hash::Keyed { secret_stored: false } => "keyed; the secret is not in the file".to_owned(),
            },
        ));
        if let Some(ExceptionFacts { levels, listed, bytes }) = self.exceptions {
            let hashes = format!("{listed} {}", if listed == 1 { "hash" } else { "hashes" });
            let how = match levels {
                0 => hashes,
                _ => format!("{} and {hashes}", text::counted(levels as u64, "level")),
            };
            lines.push(("exceptions", format!("{how} in {}", text::bytes(bytes))));
        }
        if !self.label.is_empty() {
            lines.push(("label", text::printable(&self.label).into_owned()));
        }
        lines
    }
}

/// The planned rate, where it is known for how many keys.
fn planned(expected_keys: u64, planned_fpr: f64) -> Option<f64> {
    (expected_keys > 0).then_some(planned_fpr)
}

/// A layout in words.
pub fn layout(layout: Layout) -> String {
    let bits = text::counted(layout.line_probes().into(), "bit");
    match layout.lines() {
        1 => format!("1 line of 512 bits for each key, {bits} set in it"),
        lines => format!(
            "{lines} lines of 512 bits for each key among {} in a block, {bits} set in each",
            layout.block_lines()
        ),
    }
}
