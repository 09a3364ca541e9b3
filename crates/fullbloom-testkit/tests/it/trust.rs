//! Every test that `docs/trust.md` names exists, in the file that it names.

use crate::{root, sources};
use std::fs;

/// Whether this function name is the one that the page gives: `…` at an end stands for the rest.
fn is_named(function: &str, name: &str) -> bool {
    match (name.strip_prefix('…'), name.strip_suffix('…')) {
        (Some(rest), _) if rest.ends_with('…') => function.contains(rest.trim_end_matches('…')),
        (Some(end), _) => function.ends_with(end),
        (_, Some(start)) => function.starts_with(start),
        _ => function == name,
    }
}

/// Whether the path is in this file or folder; `*` stands for any text.
fn is_in(path: &str, file: &str) -> bool {
    let (start, end) = file.split_once('*').unwrap_or((file, ""));
    path.find(start).is_some_and(|at| path[at + start.len()..].contains(end))
}

#[test]
fn the_tests_that_the_page_names_exist_where_it_says() {
    let page = fs::read_to_string(root().join("docs/trust.md")).unwrap();
    let sources = sources();
    let functions: Vec<(&str, &str)> = sources
        .iter()
        .flat_map(|(path, text)| text.split("fn ").skip(1).map(|rest| (path.as_str(), rest)))
        .filter_map(|(path, rest)| rest.split_once('(').map(|(name, _)| (path, name)))
        .collect();
    let (mut missing, mut found, mut in_files) = (Vec::new(), 0, 0);
    for line in page.lines() {
        // Text and code in turn: code is between backticks. A file holds for the names up to the next `;`
        // or `|`.
        let mut file = None;
        let parts: Vec<&str> = line.split('`').collect();
        for (i, part) in parts.iter().enumerate() {
            if i % 2 == 0 {
                if part.contains([';', '|']) {
                    file = None;
                }
            } else if parts.get(i + 1).is_some_and(|next| next.starts_with(':')) {
                file = Some(*part);
            } else if (part.matches('_').count() >= 2 || part.ends_with('…'))
                && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_…".contains(c))
            {
                let is_there = |(path, name): &(&str, &str)| {
                    is_named(name, part) && file.is_none_or(|file| is_in(path, file))
                };
                if functions.iter().any(is_there) {
                    found += 1;
                } else {
                    missing.push(format!("{} {part}", file.unwrap_or("any file:")));
                }
                in_files += usize::from(file.is_some());
            }
        }
    }
    assert!(missing.is_empty(), "not there:\n{}", missing.join("\n"));
    assert!(found > 50 && in_files > 15, "{found} tests, {in_files} of them with their file");
}
