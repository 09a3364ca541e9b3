//! What a native filter tells about its form: links, generations, counters.

use crate::text;
use fullbloom::native::{GrowingFilter, Keep, NativeFilter, Rotation, StoredFilter};
use serde_json::{Map, Value, json};
use std::time::SystemTime;

/// The form, and what only it has.
#[derive(Debug)]
pub enum FormFacts {
    Plain,
    Growing { asked_fpr: f64, links: Vec<Link> },
    Removing { counter_bytes: u64, full_counters: u64 },
    Rotating { asked_fpr: f64, rotation: Rotation, time: SystemTime, generations: Vec<Generation> },
}

/// One filter of a chain.
#[derive(Debug)]
pub struct Link {
    keys: u64,
    expected_keys: u64,
    bits: u64,
    probes: u32,
    fill: f64,
    expected_fpr: f64,
}

/// The keys of one part of the time.
#[derive(Debug)]
pub struct Generation {
    opened: SystemTime,
    keys: u64,
    expected_fpr: f64,
    links: Vec<Link>,
}

impl Link {
    fn of<S: AsRef<[u8]>>(link: &NativeFilter<S>) -> Link {
        let shape = link.geometry();
        Link {
            keys: link.keys(),
            expected_keys: link.expected_keys(),
            bits: shape.bit_len,
            probes: shape.probes,
            fill: link.fill(),
            expected_fpr: link.expected_fpr(),
        }
    }

    fn all<S: AsRef<[u8]>>(filter: &GrowingFilter<S>) -> Vec<Link> {
        filter.links().iter().map(Link::of).collect()
    }

    fn json(&self) -> Value {
        json!({
            "keys": self.keys,
            "expected_keys": self.expected_keys,
            "bits": self.bits,
            "probes": self.probes,
            "fill": self.fill,
            "expected_fpr": self.expected_fpr,
        })
    }

    fn text(&self) -> String {
        format!(
            "{} of {} keys in {}, fill {}, rate {}",
            self.keys,
            self.expected_keys,
            text::bytes(self.bits / 8),
            text::rate(self.fill),
            text::rate(self.expected_fpr)
        )
    }
}

impl FormFacts {
    /// Of this filter. Reads the arrays, unless it is a plain one.
    pub fn of<S: AsRef<[u8]>>(stored: &StoredFilter<S>) -> FormFacts {
        match stored {
            StoredFilter::Growing(filter) => {
                FormFacts::Growing { asked_fpr: filter.planned_fpr(), links: Link::all(filter) }
            }
            StoredFilter::Removing(filter) => FormFacts::Removing {
                counter_bytes: filter.filter().bits().len() as u64 * 4,
                full_counters: filter.full_counters(),
            },
            StoredFilter::Rotating(filter) => FormFacts::Rotating {
                asked_fpr: filter.planned_fpr(),
                rotation: filter.rotation(),
                time: filter.time(),
                generations: filter
                    .generations()
                    .map(|one| Generation {
                        opened: one.opened(),
                        keys: one.filter().keys(),
                        expected_fpr: one.filter().expected_fpr(),
                        links: Link::all(one.filter()),
                    })
                    .collect(),
            },
            _ => FormFacts::Plain,
        }
    }

    /// Whether it is several filters.
    pub fn has_links(&self) -> bool {
        matches!(self, FormFacts::Growing { .. } | FormFacts::Rotating { .. })
    }

    /// Whether its number of keys is that of insertions less removals.
    pub fn counts_insertions(&self) -> bool {
        matches!(self, FormFacts::Removing { .. })
    }

    /// For machines.
    pub fn add_to(&self, object: &mut Map<String, Value>) {
        let links = |links: &[Link]| Value::from_iter(links.iter().map(Link::json));
        let mut form = |name: &str| object.insert("form".into(), name.into());
        match self {
            FormFacts::Plain => {
                form("plain");
            }
            FormFacts::Growing { links: of, .. } => {
                form("growing");
                object.insert("links".into(), links(of));
            }
            FormFacts::Removing { counter_bytes, full_counters } => {
                form("removing");
                object.insert("counter_bytes".into(), (*counter_bytes).into());
                object.insert("full_counters".into(), (*full_counters).into());
            }
            FormFacts::Rotating { rotation, time, generations, .. } => {
                form("rotating");
                let (millis, keys) = match rotation.keep {
                    Keep::Time(time) => (Some(time.as_millis() as u64), None),
                    Keep::Keys(keys) => (None, Some(keys)),
                };
                object.insert("remember_ms".into(), millis.into());
                object.insert("remember_keys".into(), keys.into());
                object.insert("generations_planned".into(), rotation.generations.into());
                object.insert("refresh".into(), rotation.refresh.into());
                object.insert("time".into(), text::time(*time).into());
                let generation = |one: &Generation| {
                    json!({
                        "opened": text::time(one.opened),
                        "keys": one.keys,
                        "expected_fpr": one.expected_fpr,
                        "links": links(&one.links),
                    })
                };
                object.insert("generations".into(), Value::from_iter(generations.iter().map(generation)));
            }
        }
    }

    /// For people: names and values.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        match self {
            FormFacts::Plain => {}
            FormFacts::Growing { asked_fpr, links } => {
                let (count, fpr) = (text::counted(links.len() as u64, "link"), text::rate(*asked_fpr));
                lines.push(("form", format!("growing: {count}, the rate stays under {fpr} at any size")));
                lines.extend(links.iter().map(|link| ("link", link.text())));
            }
            FormFacts::Removing { counter_bytes, full_counters } => {
                let size = text::bytes(*counter_bytes);
                let told = format!("removing: counters of 4 bits in {size}, {full_counters} of them full");
                lines.push(("form", told));
            }
            FormFacts::Rotating { asked_fpr, rotation, time, generations } => {
                let keep = match rotation.keep {
                    Keep::Time(time) => text::duration(time),
                    Keep::Keys(keys) => format!("{keys} new keys"),
                };
                let since = if rotation.refresh { "since they last came" } else { "since they were new" };
                lines.push((
                    "form",
                    format!(
                        "rotating: keys are remembered for {keep} {since}, in {}; the rate stays under {}",
                        text::counted(rotation.generations.into(), "generation"),
                        text::rate(*asked_fpr)
                    ),
                ));
                for one in generations {
                    let bits: u64 = one.links.iter().map(|link| link.bits).sum();
                    lines.push((
                        "generation",
                        format!(
                            "since {}: {}, {} in {}, rate {}",
                            text::time(one.opened),
                            text::counted(one.keys, "key"),
                            text::counted(one.links.len() as u64, "link"),
                            text::bytes(bits / 8),
                            text::rate(one.expected_fpr)
                        ),
                    ));
                }
                lines.push(("time", text::time(*time)));
            }
        }
        lines
    }
}
