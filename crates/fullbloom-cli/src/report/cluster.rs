//! The page of `report`: a cluster, node by node.

use super::draw::{self, Bar};
use super::html::{Cell, Page, Remark};
use super::inspect::grouped;
use crate::render;
use crate::text;
use fullbloom_ops::cluster::{ClusterReport, Difference, FilterOfNode, GroupRecord, NodeRecord, Sums};

/// More bars than this are unreadable.
const MOST_BARS: usize = 40;

/// The page of a cluster.
pub fn of_cluster(seen: &ClusterReport) -> Page {
    let sums = &seen.summary.sums;
    let title = format!("{} filters on {}", grouped(sums.filters), text::counted(seen.summary.nodes, "node"));
    let names: Vec<&str> = seen.nodes.iter().take(10).map(|node| node.name.as_str()).collect();
    let more = if seen.nodes.len() > names.len() { ", …" } else { "" };
    let mut page = Page::new(&title, &format!("{}{more}", names.join(", ")));
    page.figures(&[
        (grouped(seen.summary.nodes), "nodes"),
        (grouped(sums.data_files), "data files"),
        (grouped(sums.keys), "keys"),
        (text::bytes(sums.bytes), "of filters on disk"),
        (text::bytes(sums.memory_bytes), "in memory"),
        (grouped(sums.errors), "errors"),
        (grouped(sums.warnings), "warnings"),
    ]);
    let remarks: Vec<Remark> = seen
        .problems
        .iter()
        .filter(|problem| problem.severity > fullbloom_ops::Severity::Note)
        .map(|problem| Remark {
            severity: problem.severity,
            text: render::cluster_problem(problem),
            next: problem.hint.clone().unwrap_or_default(),
        })
        .collect();
    page.remarks(&remarks);
    differences(&mut page, &seen.summary.differences);
    groups(&mut page, &seen.summary.groups);
    nodes(&mut page, &seen.nodes);
    by_node(&mut page, &seen.summary.groups);
    filters(&mut page, &seen.filters, sums.data_files);
    page
}

fn differences(page: &mut Page, differences: &[Difference]) {
    if differences.is_empty() {
        return;
    }
    let cells = |difference: &Difference| {
        vec![difference.group.clone(), difference.what.about().to_owned(), render::cluster_values(difference)]
    };
    let rows: Vec<Vec<String>> = differences.iter().map(cells).collect();
    page.table("What differs between nodes", &["table", "what", "values"], &["what", "values"], &rows);
}

/// The cells that every table of sums has.
fn cells(sums: &Sums, useless_reads: Option<f64>) -> Vec<Cell> {
    let rates: Vec<String> = sums.recorded_fpr.iter().map(|fpr| text::rate(*fpr)).collect();
    let recorded = sums.recorded_fpr.last().copied();
    vec![
        Cell::count(sums.errors),
        Cell::count(sums.warnings),
        Cell::decimal(useless_reads, 4),
        Cell::count(sums.data_files),
        Cell::count(sums.data_files - sums.filters),
        Cell::count(sums.keys),
        Cell::decimal(sums.bits_per_key, 1),
        Cell::rate(sums.expected_fpr),
        Cell::number(recorded, |_| rates.join(", "), |fpr| fpr),
        Cell::bytes(sums.bytes),
        Cell::bytes(sums.memory_bytes),
        sums.versions.iter().cloned().collect::<Vec<_>>().join(", ").into(),
    ]
}

const TITLES: [&str; 12] = [
    "errors",
    "warnings",
    "useless reads",
    "data files",
    "no filter",
    "keys",
    "bits/key",
    "expected rate",
    "recorded",
    "on disk",
    "in memory",
    "versions",
];

fn groups(page: &mut Page, groups: &[GroupRecord]) {
    let mut bars: Vec<Bar> = groups
        .iter()
        .map(|group| Bar {
            name: group.name.clone(),
            value: group.sums.bytes as f64,
            said: text::bytes(group.sums.bytes),
            colour: 0,
        })
        .collect();
    if bars.len() > 1 {
        let all = bars.len();
        bars.sort_by(|a, b| b.value.total_cmp(&a.value));
        bars.truncate(MOST_BARS);
        let said = if all > MOST_BARS { format!("The largest {MOST_BARS} of {all}.") } else { String::new() };
        page.section("Size by table", &said, &draw::bars(&bars));
    }
    let rows: Vec<Vec<Cell>> = groups
        .iter()
        .map(|group| {
            let first = [group.name.clone().into(), Cell::count(group.nodes.len() as u64)];
            first.into_iter().chain(cells(&group.sums, group.useless_reads)).collect()
        })
        .collect();
    page.table("Tables, over all nodes", &[&["table", "nodes"], &TITLES[..]].concat(), &["versions"], &rows);
}

fn nodes(page: &mut Page, nodes: &[NodeRecord]) {
    let rows: Vec<Vec<Cell>> = nodes
        .iter()
        .map(|node| {
            let mut cells = cells(&node.sums, None);
            cells.remove(2); // reads of different tables do not add up
            [node.name.clone().into()].into_iter().chain(cells).chain([node.path.clone().into()]).collect()
        })
        .collect();
    let titles: Vec<&str> = TITLES.iter().copied().filter(|title| *title != "useless reads").collect();
    page.table("Nodes", &[&["node"], &titles[..], &["file"]].concat(), &["versions", "file"], &rows);
}

fn by_node(page: &mut Page, groups: &[GroupRecord]) {
    let rows: Vec<Vec<Cell>> = groups
        .iter()
        .flat_map(|group| {
            group.nodes.iter().map(|node| {
                let first = [group.name.clone().into(), node.node.clone().into()];
                first.into_iter().chain(cells(&node.sums, node.useless_reads)).collect()
            })
        })
        .collect();
    let titles = [&["table", "node"], &TITLES[..]].concat();
    page.table("Tables, by node", &titles, &["node", "versions"], &rows);
}

fn filters(page: &mut Page, filters: &[FilterOfNode], all: u64) {
    let titles = [
        "table",
        "node",
        "problems",
        "keys",
        "bits/key",
        "fill",
        "expected rate",
        "recorded",
        "on disk",
        "in memory",
        "version",
        "path",
    ];
    let rows: Vec<Vec<Cell>> = filters
        .iter()
        .map(|filter| {
            let place = &filter.place;
            vec![
                filter.group_name.clone().into(),
                filter.node.clone().into(),
                filter.codes.join(", ").into(),
                Cell::number(place.known_keys(), grouped, |keys| keys as f64),
                Cell::decimal(place.bits_per_key(), 1),
                Cell::rate(place.fill),
                Cell::rate(place.expected_fpr),
                Cell::rate(place.recorded_fpr),
                Cell::bytes(place.bytes.unwrap_or(0)),
                Cell::bytes(place.memory_bytes.unwrap_or(0)),
                place.file_version().unwrap_or_default().into(),
                place.path.clone().into(),
            ]
        })
        .collect();
    let title = match (filters.len() as u64) < all {
        true => format!("The worst {} of {} filters", grouped(filters.len() as u64), grouped(all)),
        false => "Filters".to_owned(),
    };
    page.table(&title, &titles, &["node", "problems", "version", "path"], &rows);
}
