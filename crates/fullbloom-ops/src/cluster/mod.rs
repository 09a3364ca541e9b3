//! What `inspect` reported on the nodes of a cluster, side by side.
//!
//! ```text
//!   inspect --json on each node ─► NodeReport ─► Cluster::add ─┐
//!                                  NodeReport ─► Cluster::add ─┴─► ClusterReport: nodes, groups, differences, problems
//! ```
//!
//! A group is a table of Cassandra, a level of a database, or the filter files of a dialect. It is the same
//! group on every node that has one of its name.

mod differences;
mod group;
mod node;
mod problems;

pub use differences::{Difference, Value, What};
pub use group::{GroupName, GroupOfNode, GroupRecord, Sums};
pub use node::{NodePlace, NodeProblem, NodeReport};
pub use problems::{ClusterProblem, CountOfNode};

use crate::problem::{Code, Severity};
use crate::report::{Counts, Status, VERSION};
use group::Group;
use problems::Problems;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::HashMap;

/// The most filters that are kept of all nodes, the worst first.
pub const MOST_FILTERS: usize = 10_000;

/// A node, and the sums over its filters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeRecord {
    /// Its name: that of the file it was read from.
    pub name: String,
    /// The file.
    pub path: String,
    /// The sums.
    #[serde(flatten)]
    pub sums: Sums,
    /// Notes among its problems.
    pub notes: u64,
}

/// One filter of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterOfNode {
    /// The node.
    pub node: String,
    /// The group it belongs to.
    pub group: GroupName,
    /// Its name for people.
    pub group_name: String,
    /// What the node reported.
    pub place: NodePlace,
    /// The codes of its problems.
    pub codes: Vec<String>,
    /// Errors and warnings among them.
    pub errors: u64,
    /// Warnings among them.
    pub warnings: u64,
}

impl FilterOfNode {
    /// The worst is the greatest. Filters without a rate let every key pass.
    fn badness(&self) -> (u64, u64, u64) {
        (self.errors, self.warnings, self.place.expected_fpr.unwrap_or(1.0).max(0.0).to_bits())
    }
}

/// Sums over all nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClusterSummary {
    /// Nodes.
    pub nodes: u64,
    /// The sums over all their filters.
    #[serde(flatten)]
    pub sums: Sums,
    /// Notes among the problems.
    pub notes: u64,
    /// The groups, the worst first.
    pub groups: Vec<GroupRecord>,
    /// What differs between nodes that have the same group.
    pub differences: Vec<Difference>,
}

/// What was found about a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterReport {
    /// The nodes, the worst first.
    pub nodes: Vec<NodeRecord>,
    /// The problems, equal ones as one, the worst first.
    pub problems: Vec<ClusterProblem>,
    /// Sums over all nodes.
    pub summary: ClusterSummary,
    /// The worst filters, at most [`MOST_FILTERS`] of them; not in the JSON, which the nodes have.
    pub filters: Vec<FilterOfNode>,
    /// How the command ends: as `inspect` would that had seen all nodes.
    pub status: Status,
}

impl Serialize for ClusterReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Place<'a> {
            r#type: &'static str,
            #[serde(flatten)]
            record: &'a NodeRecord,
        }
        let places: Vec<Place<'_>> =
            self.nodes.iter().map(|record| Place { r#type: "node", record }).collect();
        let mut object = serializer.serialize_struct("ClusterReport", 4)?;
        object.serialize_field("version", &VERSION)?;
        object.serialize_field("places", &places)?;
        object.serialize_field("problems", &self.problems)?;
        object.serialize_field("summary", &self.summary)?;
        object.end()
    }
}

/// A cluster, as far as its nodes were added.
#[derive(Debug, Default)]
pub struct Cluster {
    nodes: Vec<NodeRecord>,
    groups: HashMap<GroupName, Group>,
    problems: Problems,
    filters: Vec<FilterOfNode>,
    status: Status,
}

impl Cluster {
    /// One without nodes.
    pub fn new() -> Cluster {
        Cluster::default()
    }

    /// Whether a node has this name.
    pub fn has(&self, name: &str) -> bool {
        self.nodes.iter().any(|node| node.name == name)
    }

    /// Adds what `inspect` reported on a node.
    pub fn add(&mut self, name: &str, path: &str, report: NodeReport) {
        let mut of_path: HashMap<&str, Vec<&NodeProblem>> = HashMap::new();
        let mut sums = Sums::default();
        let mut notes = 0;
        for problem in &report.problems {
            of_path.entry(&problem.place).or_default().push(problem);
            sums.count(problem.severity);
            notes += u64::from(problem.severity == Severity::Note);
            self.status = self.status.max(ends(problem));
        }
        let mut groups: HashMap<GroupName, GroupOfNode> = HashMap::new();
        let mut group_of_path: HashMap<&str, GroupName> = HashMap::new();
        for place in report.places.iter().flatten() {
            let group = GroupName::of(place);
            sums.add(place);
            groups.entry(group.clone()).or_insert_with(|| GroupOfNode::new(name)).add(place);
            group_of_path.entry(&place.path).or_insert_with(|| group.clone());
            self.keep(name, &group, place, of_path.get(place.path.as_str()));
        }
        for problem in &report.problems {
            let group = group_of_path.get(problem.place.as_str());
            if let Some(group) = group.and_then(|group| groups.get_mut(group)) {
                group.sums.count(problem.severity);
            }
            self.problems.add(name, group, problem);
        }
        for level in &report.summary.levels {
            if let Some(group) = groups.get_mut(&GroupName::of_level(level)) {
                group.useless_reads = Some(level.useless_reads);
            }
        }
        for (group, mut of_node) in groups {
            of_node.finish();
            self.groups.entry(group).or_default().nodes.push(of_node);
        }
        self.nodes.push(NodeRecord { name: name.to_owned(), path: path.to_owned(), sums, notes });
    }

    /// Keeps a filter, if it is among the worst.
    fn keep(
        &mut self,
        node: &str,
        group: &GroupName,
        place: &NodePlace,
        problems: Option<&Vec<&NodeProblem>>,
    ) {
        let problems = problems.map_or(&[][..], Vec::as_slice);
        let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count() as u64;
        self.filters.push(FilterOfNode {
            node: node.to_owned(),
            group: group.clone(),
            group_name: String::new(),
            place: place.clone(),
            codes: problems.iter().map(|problem| problem.code.clone()).collect(),
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
        });
        if self.filters.len() >= 2 * MOST_FILTERS {
            self.keep_worst();
        }
    }

    fn keep_worst(&mut self) {
        self.filters.sort_by_key(|filter| Reverse(filter.badness()));
        self.filters.truncate(MOST_FILTERS);
    }

    /// The report of all nodes that were added.
    pub fn finish(mut self) -> ClusterReport {
        self.keep_worst();
        let names: Vec<String> = self.nodes.iter().map(|node| node.name.clone()).collect();
        let mut groups: Vec<(GroupName, Group)> = self.groups.into_iter().collect();
        groups.sort_by(|(one, _), (other, _)| one.cmp(other));
        let shared = group::shared_names(groups.iter().map(|(name, _)| name));
        self.filters.iter_mut().for_each(|filter| filter.group_name = filter.group.shown(&shared));
        let problems = self.problems.finish(|name| name.shown(&shared));
        let of = |(name, group): &(GroupName, Group)| {
            differences::of(&name.shown(&shared), name.table.is_some(), group, &names)
        };
        let differences = groups.iter().flat_map(of).collect();
        let mut records: Vec<GroupRecord> =
            groups.into_iter().map(|(name, group)| group.record(name.shown(&shared), name)).collect();
        records.sort_by_key(|group| Reverse(group.badness()));
        let mut sums = Sums::default();
        self.nodes.iter().for_each(|node| sums.merge(&node.sums));
        let notes = self.nodes.iter().map(|node| node.notes).sum();
        self.nodes.sort_by_key(|node| Reverse((node.sums.errors, node.sums.warnings)));
        let summary = ClusterSummary { nodes: names.len() as u64, sums, notes, groups: records, differences };
        ClusterReport { nodes: self.nodes, problems, summary, filters: self.filters, status: self.status }
    }
}

impl ClusterReport {
    /// How many problems there are of each severity.
    pub fn counts(&self) -> Counts {
        let ClusterSummary { sums, notes, .. } = &self.summary;
        Counts { errors: sums.errors, warnings: sums.warnings, notes: *notes }
    }
}

/// How `inspect` ended because of a problem. A later release may have codes that are not known here.
fn ends(problem: &NodeProblem) -> Status {
    match Code::ALL.iter().find(|code| code.as_str() == problem.code) {
        Some(code) => code.ends_inspect(),
        None if problem.severity == Severity::Error => Status::NotWell,
        None => Status::Well,
    }
}
