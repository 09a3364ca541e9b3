//! Sums by labels, with a bound on the number of their series.

use super::exposition::{Exposition, Labels};
use fullbloom_ops::sstable::SstableName;
use fullbloom_ops::{Code, Problem, Severity};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The most series that groups have together. A node of 200 tables has about 2,000.
const MOST_SERIES: usize = 10_000;

/// A family of gauges: the end of its name, its unit, and its help.
pub type Family = (&'static str, &'static str, &'static str);

/// What is summed up about the filters of a group.
pub trait Sums: Default {
    /// The families, in the order of [`values`](Sums::values). The first is the number of files.
    const FAMILIES: &'static [Family];

    /// The value of each family, where it is known.
    fn values(&self) -> Vec<Option<f64>>;

    /// Adds the sums of another group.
    fn merge(&mut self, other: &Self);

    /// The rate that decides which of two groups is worse, problems being equal.
    fn rate(&self) -> Option<f64>;
}

/// A mean over keys.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    /// Adds the value of so many keys. A filter of unknown keys counts as one key.
    pub fn add(&mut self, value: f64, keys: u64) {
        let weight = keys.max(1) as f64;
        self.sum += value * weight;
        self.weight += weight;
    }

    /// Adds the values of another mean.
    pub fn merge(&mut self, other: Mean) {
        self.sum += other.sum;
        self.weight += other.weight;
    }

    /// The mean; `None` of no keys.
    pub fn value(self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }
}

/// One group.
#[derive(Debug, Default)]
struct Group<S> {
    /// `None` if all there is are problems.
    sums: Option<S>,
    problems: BTreeMap<Code, u64>,
}

impl<S: Sums> Group<S> {
    fn series(&self) -> usize {
        let known = |sums: &S| sums.values().iter().flatten().count();
        self.sums.as_ref().map_or(0, known) + self.problems.len()
    }

    fn count(&self, severity: Severity) -> u64 {
        self.problems.iter().filter(|(code, _)| code.severity() == severity).map(|(_, count)| count).sum()
    }

    fn merge(&mut self, other: &Group<S>) {
        if let Some(sums) = &other.sums {
            self.sums.get_or_insert_with(S::default).merge(sums);
        }
        for (code, count) in &other.problems {
            *self.problems.entry(*code).or_default() += count;
        }
    }
}

/// The groups of a run.
#[derive(Debug)]
pub struct Groups<S> {
    groups: Vec<(Labels, Group<S>)>,
    /// Where each group is.
    places: HashMap<Labels, usize>,
}

impl<S: Sums> Groups<S> {
    /// No groups.
    pub fn new() -> Groups<S> {
        Groups { groups: Vec::new(), places: HashMap::new() }
    }

    fn group(&mut self, labels: Labels) -> &mut Group<S> {
        let next = self.groups.len();
        let place = *self.places.entry(labels).or_insert_with_key(|labels| {
            self.groups.push((labels.clone(), Group { sums: None, problems: BTreeMap::new() }));
            next
        });
        &mut self.groups[place].1
    }

    /// The sums of the group with these labels.
    pub fn sums(&mut self, labels: Labels) -> &mut S {
        self.group(labels).sums.get_or_insert_with(S::default)
    }

    /// Counts problems in the group with these labels.
    pub fn add_problems(&mut self, labels: Labels, problems: &[Problem]) {
        if problems.is_empty() {
            return;
        }
        let counts = &mut self.group(labels).problems;
        for problem in problems {
            *counts.entry(problem.code).or_default() += 1;
        }
    }

    /// The worst first: by errors, warnings, and the rate.
    fn sort(&mut self) {
        let order = |(labels, group): &(Labels, Group<S>)| {
            let rate = group.sums.as_ref().and_then(S::rate).unwrap_or(0.0);
            // Rates are not negative, and the bits of such floats have the order of the floats.
            (
                Reverse((group.count(Severity::Error), group.count(Severity::Warning), rate.to_bits())),
                labels.clone(),
            )
        };
        self.groups.sort_by_cached_key(order);
        self.places.clear();
    }

    /// Keeps so many of the worst groups.
    pub fn keep_worst(&mut self, most: usize) {
        self.sort();
        self.groups.truncate(most);
    }

    /// Merges what is beyond the bound into one group, the best groups first. Returns how many were merged.
    pub fn bound(&mut self) -> usize {
        self.sort();
        // The merged group may have a series for each family and code.
        let most = MOST_SERIES - S::FAMILIES.len() - Code::ALL.len();
        let mut series = 0;
        let all: usize = self.groups.iter().map(|(_, group)| group.series()).sum();
        let kept = self.groups.iter().take_while(|(_, group)| {
            series += group.series();
            series <= most
        });
        let kept = if all <= MOST_SERIES { self.groups.len() } else { kept.count() };
        let merged = self.groups.split_off(kept);
        if !merged.is_empty() {
            let mut other = Group { sums: None, problems: BTreeMap::new() };
            merged.iter().for_each(|(_, group)| other.merge(group));
            self.groups.push((vec![("group", "other".to_owned())], other));
        }
        self.groups.sort_by(|(one, _), (other, _)| one.cmp(other));
        merged.len()
    }

    /// Adds the series of all groups, under names that begin with `prefix`.
    pub fn write(&self, text: &mut Exposition, prefix: &str) {
        self.write_from(0, text, prefix);
    }

    /// Adds the series of groups that are one file each. The first family, the number of files, says nothing
    /// about them.
    pub fn write_files(&self, text: &mut Exposition, prefix: &str) {
        self.write_from(1, text, prefix);
    }

    fn write_from(&self, first: usize, text: &mut Exposition, prefix: &str) {
        for (place, (name, unit, about)) in S::FAMILIES.iter().enumerate().skip(first) {
            for (labels, group) in &self.groups {
                let value = group.sums.as_ref().and_then(|sums| sums.values()[place]);
                if let Some(value) = value.filter(|value| value.is_finite()) {
                    text.add(&format!("{prefix}{name}"), unit, about, labels.clone(), value);
                }
            }
        }
        for (labels, group) in &self.groups {
            for (code, count) in &group.problems {
                let mut labels = labels.clone();
                labels.push(("code", code.as_str().to_owned()));
                labels.push(("severity", code.severity().as_str().to_owned()));
                let about = "Problems by code; docs/json.md explains the codes.";
                text.add(&format!("{prefix}problems"), "", about, labels, *count as f64);
            }
        }
    }
}

/// How the tables of sstables are told apart: by keyspace and name, and by id where two tables have one name.
#[derive(Debug)]
pub struct TableNames<'a> {
    /// The ids of each keyspace and name.
    ids: HashMap<KeyspaceAndName<'a>, Vec<&'a Option<String>>>,
}

type KeyspaceAndName<'a> = (&'a Option<String>, &'a Option<String>);

impl<'a> TableNames<'a> {
    /// The names of these sstables' tables.
    pub fn of(sstables: impl Iterator<Item = &'a SstableName>) -> TableNames<'a> {
        let mut ids: HashMap<KeyspaceAndName<'a>, Vec<_>> = HashMap::new();
        for name in sstables {
            let ids = ids.entry((&name.keyspace, &name.table)).or_default();
            if !ids.contains(&&name.table_id) {
                ids.push(&name.table_id);
            }
        }
        TableNames { ids }
    }

    /// The labels of a table.
    pub fn labels(
        &self,
        keyspace: &Option<String>,
        table: &Option<String>,
        table_id: &Option<String>,
    ) -> Labels {
        let shared = self.ids.get(&(keyspace, table)).is_some_and(|ids| ids.len() > 1);
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "?".to_owned());
        let mut labels = vec![("keyspace", known(keyspace)), ("table", known(table))];
        labels.extend(shared.then(|| ("table_id", known(table_id))));
        labels
    }
}

/// The label of the database that a table file is in: its directory.
pub fn database(path: &str) -> (&'static str, String) {
    let parent = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty());
    ("database", parent.unwrap_or(Path::new(".")).display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Count(u64);

    impl Sums for Count {
        const FAMILIES: &'static [Family] = &[("files", "", "Files."), ("keys", "", "Keys.")];

        fn values(&self) -> Vec<Option<f64>> {
            vec![Some(self.0 as f64), Some(1.0)]
        }

        fn merge(&mut self, other: &Count) {
            self.0 += other.0;
        }

        fn rate(&self) -> Option<f64> {
            None
        }
    }

    /// So many groups of a file each, every tenth with an error.
    fn groups(count: usize) -> Groups<Count> {
        let mut groups: Groups<Count> = Groups::new();
        for i in 0..count {
            let labels = vec![("table", format!("t{i:06}"))];
            groups.sums(labels.clone()).0 += 1;
            if i % 10 == 9 {
                groups.add_problems(labels, &[Problem::new("x", Code::KeyMissing, "gone")]);
            }
        }
        groups
    }

    fn written(groups: &Groups<Count>) -> String {
        let mut text = Exposition::new(vec![]);
        groups.write(&mut text, "");
        text.render()
    }

    #[test]
    fn groups_within_the_bound_are_left_alone() {
        let mut all = groups(4000); // 8,400 series
        assert_eq!(all.bound(), 0);
        assert!(!written(&all).contains("other"));
    }

    #[test]
    fn beyond_the_bound_the_groups_without_problems_are_merged_and_no_sum_changes() {
        let mut all = groups(50_000);
        let merged = all.bound();
        let text = written(&all);
        let series: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(series.len() <= MOST_SERIES && series.len() > MOST_SERIES * 9 / 10, "{}", series.len());
        let sum = |name: &str| -> f64 {
            let of = series.iter().filter(|line| line.starts_with(name));
            of.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
        };
        assert_eq!((sum("files{"), sum("problems{")), (50_000.0, 5000.0));
        assert!(text.contains(&format!("files{{group=\"other\"}} {merged}\n")), "{merged}");
        let kept_errors = series.iter().filter(|line| line.starts_with("problems{table=")).count();
        assert!(kept_errors > 3000, "{kept_errors}");
    }

    #[test]
    fn a_mean_is_over_keys_and_unknown_keys_count_as_one() {
        let mut mean = Mean::default();
        assert_eq!(mean.value(), None);
        mean.add(0.5, 3);
        mean.add(1.0, 0);
        assert_eq!(mean.value(), Some(0.625));
    }
}
