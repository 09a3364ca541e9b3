//! A cluster, node by node.

use super::or_dash;
use crate::table::Table;
use crate::text;
use fullbloom_ops::Severity;
use fullbloom_ops::cluster::{ClusterProblem, ClusterReport, Difference, Sums};

/// More nodes than this are counted instead of named.
const MOST_NAMES: usize = 5;

/// What was found: tables over all nodes, nodes, differences, and problems, the worst first.
pub fn cluster(report: &ClusterReport, width: Option<usize>) -> String {
    let mut shown = tables(report, width);
    shown += "\n";
    shown += &nodes(report, width);
    if !report.summary.differences.is_empty() {
        shown += "\nwhat differs between nodes\n";
        for difference in &report.summary.differences {
            let line =
                format!("{}: {}: {}", difference.group, difference.what.about(), cluster_values(difference));
            shown += &format!("  {}\n", text::printable(&line));
        }
    }
    let problems = || report.problems.iter().filter(|problem| problem.severity > Severity::Note);
    if problems().next().is_some() {
        shown += "\n";
    }
    for problem in problems() {
        let line = format!("{}: {}", problem.severity, cluster_problem(problem));
        shown += &format!("{}\n", text::printable(&line));
        if let Some(hint) = &problem.hint {
            shown += &format!("hint: {}\n", text::printable(hint));
        }
    }
    shown
}

/// Equal problems: the group, how many there are and where, and the first of them.
pub fn cluster_problem(problem: &ClusterProblem) -> String {
    let group = problem.group.as_ref().map_or(String::new(), |group| format!("{group}: "));
    let nodes: Vec<String> =
        problem.nodes.iter().map(|node| format!("{} on {}", node.count, node.node)).collect();
    let first = format!("{}: {}", problem.place, problem.message);
    match (problem.count, nodes.as_slice()) {
        (1, _) => format!("{group}{} on {}: {first}", problem.code, problem.nodes[0].node),
        (count, [_]) => {
            format!("{group}{} {count} times on {}, the first: {first}", problem.code, problem.nodes[0].node)
        }
        (count, nodes) => format!(
            "{group}{} {count} times ({}), the first on {}: {first}",
            problem.code,
            listed(nodes),
            problem.nodes[0].node
        ),
    }
}

/// The values of a difference, each with its nodes.
pub fn cluster_values(difference: &Difference) -> String {
    let value =
        |value: &fullbloom_ops::cluster::Value| format!("{} on {}", value.value, listed(&value.nodes));
    difference.values.iter().map(value).collect::<Vec<_>>().join("; ")
}

/// The names, or how many there are.
fn listed(names: &[String]) -> String {
    match names {
        few if few.len() <= MOST_NAMES => few.join(", "),
        many => format!("{}, and {} more", many[..MOST_NAMES].join(", "), many.len() - MOST_NAMES),
    }
}

fn tables(report: &ClusterReport, width: Option<usize>) -> String {
    let titles = [
        "table",
        "nodes",
        "data files",
        "no filter",
        "keys",
        "bits/key",
        "on disk",
        "in memory",
        "expected rate",
        "recorded",
        "useless reads",
        "worst node",
        "errors",
        "warnings",
    ];
    let mut table = Table::new(&titles)
        .optional(&["on disk", "bits/key", "keys", "recorded", "no filter", "data files", "worst node"])
        .text(&["worst node"]);
    for group in &report.summary.groups {
        let worst = group.nodes.first().filter(|_| group.nodes.len() > 1);
        let worst = worst.map(|node| match node.useless_reads {
            Some(reads) => format!("{} ({})", node.node, text::decimal(reads, 3)),
            None => node.node.clone(),
        });
        let mut cells = vec![text::printable(&group.name).into_owned(), group.nodes.len().to_string()];
        cells.extend(sums(&group.sums));
        cells.push(or_dash(group.useless_reads, |reads| text::decimal(reads, 3)));
        cells.push(or_dash(worst, |worst| text::printable(&worst).into_owned()));
        cells.extend([group.sums.errors.to_string(), group.sums.warnings.to_string()]);
        table.row(cells);
    }
    let all = &report.summary.sums;
    let mut cells = vec!["all".to_owned(), report.summary.nodes.to_string()];
    cells.extend(sums(all));
    cells.extend([String::new(), String::new(), all.errors.to_string(), all.warnings.to_string()]);
    table.row(cells);
    table.render_within(width)
}

/// The cells from `data files` to `recorded`.
fn sums(sums: &Sums) -> [String; 8] {
    let recorded = match sums.recorded_fpr.as_slice() {
        [] => None,
        [one] => Some(text::rate(*one)),
        [least, .., most] => Some(format!("{} to {}", text::rate(*least), text::rate(*most))),
    };
    [
        sums.data_files.to_string(),
        (sums.data_files - sums.filters).to_string(),
        sums.keys.to_string(),
        or_dash(sums.bits_per_key, |bits| text::decimal(bits, 1)),
        text::bytes(sums.bytes),
        text::bytes(sums.memory_bytes),
        or_dash(sums.expected_fpr, text::rate),
        or_dash(recorded, |recorded| recorded),
    ]
}

fn nodes(report: &ClusterReport, width: Option<usize>) -> String {
    let titles =
        ["node", "data files", "no filter", "keys", "on disk", "in memory", "errors", "warnings", "versions"];
    let mut table =
        Table::new(&titles).optional(&["versions", "on disk", "keys", "data files"]).text(&["versions"]);
    for node in &report.nodes {
        let sums = &node.sums;
        let versions = sums.versions.iter().cloned().collect::<Vec<_>>().join(", ");
        table.row(vec![
            text::printable(&node.name).into_owned(),
            sums.data_files.to_string(),
            (sums.data_files - sums.filters).to_string(),
            sums.keys.to_string(),
            text::bytes(sums.bytes),
            text::bytes(sums.memory_bytes),
            sums.errors.to_string(),
            sums.warnings.to_string(),
            text::printable(&versions).into_owned(),
        ]);
    }
    table.render_within(width)
}
