//! Equal problems as one, with their number.

use super::group::GroupName;
use super::node::NodeProblem;
use crate::problem::Severity;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Problems of one code in one group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClusterProblem {
    /// The path of the first of them.
    pub place: String,
    /// Their code.
    pub code: String,
    /// How much they matter.
    pub severity: Severity,
    /// The message of the first.
    pub message: String,
    /// What to do about the first.
    pub hint: Option<String>,
    /// The group they are in; null for what belongs to none.
    pub group: Option<String>,
    /// How many there are.
    pub count: u64,
    /// On which nodes; that of the first problem comes first.
    pub nodes: Vec<CountOfNode>,
}

/// How many of them a node has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CountOfNode {
    /// The node.
    pub node: String,
    /// How many.
    pub count: u64,
}

/// The problems so far.
#[derive(Debug, Default)]
pub(super) struct Problems {
    all: Vec<ClusterProblem>,
    /// Where each group and code is.
    places: HashMap<(Option<GroupName>, String), usize>,
}

impl Problems {
    /// Adds a problem of a node.
    pub(super) fn add(&mut self, node: &str, group: Option<&GroupName>, problem: &NodeProblem) {
        let place = *self.places.entry((group.cloned(), problem.code.clone())).or_insert_with(|| {
            self.all.push(ClusterProblem {
                place: problem.place.clone(),
                code: problem.code.clone(),
                severity: problem.severity,
                message: problem.message.clone(),
                hint: problem.hint.clone(),
                group: None,
                count: 0,
                nodes: Vec::new(),
            });
            self.all.len() - 1
        });
        let same = &mut self.all[place];
        same.count += 1;
        match same.nodes.last_mut() {
            Some(last) if last.node == node => last.count += 1,
            _ => same.nodes.push(CountOfNode { node: node.to_owned(), count: 1 }),
        }
    }

    /// All of them, the worst first, with the names of their groups as people see them.
    pub(super) fn finish(mut self, shown: impl Fn(&GroupName) -> String) -> Vec<ClusterProblem> {
        for ((group, _), place) in &self.places {
            self.all[*place].group = group.as_ref().map(&shown);
        }
        self.all.sort_by_key(|problem| Reverse((problem.severity, problem.count)));
        self.all
    }
}
