//! What differs between nodes that should be alike.

use super::group::{Group, GroupOfNode};
use crate::text;
use serde::Serialize;

/// The expected rates of two nodes differ if one is this many times the other.
const OTHER_RATE: f64 = 2.0;

/// What differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Some nodes have the group, and others do not.
    Absent,
    /// The recorded rates.
    RecordedRate,
    /// The expected rates, by more than a factor of two.
    ExpectedRate,
    /// How many data files have no filter that can be read.
    MissingFilters,
    /// The versions of the data files.
    Versions,
}

impl What {
    /// What differs, in words.
    pub fn about(self) -> &'static str {
        match self {
            What::Absent => "not on every node",
            What::RecordedRate => "recorded rate",
            What::ExpectedRate => "expected rate",
            What::MissingFilters => "data files without a filter",
            What::Versions => "versions",
        }
    }
}

/// A difference between nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The group.
    pub group: String,
    /// What differs.
    pub what: What,
    /// Each value, and the nodes that have it; the value of most nodes first.
    pub values: Vec<Value>,
}

/// A value, and the nodes that have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Value {
    /// The value, for people.
    pub value: String,
    /// The nodes.
    pub nodes: Vec<String>,
}

/// What differs between the nodes of a group.
pub(super) fn of(name: &str, is_table: bool, group: &Group, all: &[String]) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut add = |what, values: Vec<Value>| {
        if values.len() > 1 {
            differences.push(Difference { group: name.to_owned(), what, values });
        }
    };
    let is_there = |name: &String| group.nodes.iter().any(|node| node.node == *name);
    let (there, absent): (Vec<String>, Vec<String>) = all.iter().cloned().partition(is_there);
    // A level of a database may well be empty.
    if is_table && !absent.is_empty() {
        let values = [("there", there), ("absent", absent)];
        add(What::Absent, values.map(|(value, nodes)| Value { value: value.to_owned(), nodes }).into());
    }
    add(What::RecordedRate, values(&group.nodes, |node| rates(&node.sums.recorded_fpr)));
    add(
        What::Versions,
        values(&group.nodes, |node| {
            Some(node.sums.versions.iter().cloned().collect::<Vec<_>>().join(", "))
                .filter(|text| !text.is_empty())
        }),
    );
    add(
        What::MissingFilters,
        values(&group.nodes, |node| {
            Some(match node.without_filter() {
                0 => "none".to_owned(),
                count if count == node.sums.data_files => "all".to_owned(),
                count => format!("{count} of {}", node.sums.data_files),
            })
        }),
    );
    let expected = || group.nodes.iter().filter_map(|node| node.sums.expected_fpr);
    let (least, most) =
        expected().fold((f64::MAX, 0.0f64), |(least, most), fpr| (least.min(fpr), most.max(fpr)));
    if most > least * OTHER_RATE {
        add(What::ExpectedRate, values(&group.nodes, |node| node.sums.expected_fpr.map(text::rate)));
    }
    differences
}

fn rates(rates: &[f64]) -> Option<String> {
    let shown: Vec<String> = rates.iter().map(|fpr| text::rate(*fpr)).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// The values of the nodes, that of most nodes first.
fn values(nodes: &[GroupOfNode], value: impl Fn(&GroupOfNode) -> Option<String>) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    for node in nodes {
        let Some(text) = value(node) else { continue };
        match values.iter_mut().find(|known| known.value == text) {
            Some(known) => known.nodes.push(node.node.clone()),
            None => values.push(Value { value: text, nodes: vec![node.node.clone()] }),
        }
    }
    values.sort_by_key(|value| std::cmp::Reverse(value.nodes.len()));
    values
}
