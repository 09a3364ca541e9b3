//! The public interface of every published library is the one listed in `docs/api/`, so that every change of
//! it shows in a review. The lists are made from the pages that `cargo doc --workspace --no-deps` writes:
//!
//!     cargo doc --workspace --no-deps
//!     cargo test -p fullbloom-testkit --test it public_interface:: -- --ignored
//!
//! With `UPDATE_API=1` in the environment the test writes the lists instead of comparing them.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

const CRATES: [&str; 5] =
    ["fullbloom", "fullbloom-ops", "fullbloom-parquet", "fullbloom-sstable", "fullbloom-table"];

#[test]
#[ignore = "reads the pages of cargo doc: cargo doc --workspace --no-deps && cargo test -p fullbloom-testkit --test it public_interface:: -- --ignored"]
fn the_public_interface_is_the_listed_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let mut changes = String::new();
    for name in CRATES {
        let listed = root.join("docs/api").join(format!("{name}.txt"));
        let found = interface(&target.join("doc").join(name.replace('-', "_")));
        if env::var_os("UPDATE_API").is_some() {
            fs::write(&listed, found).unwrap();
            continue;
        }
        let before = fs::read_to_string(&listed).unwrap_or_default();
        let lines = |text: &str, other: &str, sign: char| -> String {
            text.lines()
                .filter(|line| !other.lines().any(|it| it == *line))
                .map(|line| format!("{sign} {line}\n"))
                .collect()
        };
        if before != found {
            changes += &format!("{name}\n{}{}", lines(&before, &found, '-'), lines(&found, &before, '+'));
        }
    }
    assert!(changes.is_empty(), "the interface differs from docs/api (UPDATE_API=1 rewrites it):\n{changes}");
}

/// One line for each public item, field, variant and method of a crate, from the folder of its pages.
fn interface(folder: &Path) -> String {
    let page = |path: PathBuf| {
        fs::read_to_string(&path).unwrap_or_else(|error| {
            panic!("{}: {error}; run: cargo doc --workspace --no-deps", path.display())
        })
    };
    let mut items = BTreeMap::new();
    let all = page(folder.join("all.html"));
    for link in between(after(&all, "id=\"main-content\""), "<li><a href=\"", "\"") {
        let (modules, file) =
            link.rsplit_once('/').map_or((None, link), |(modules, file)| (Some(modules), file));
        let mut parts = file.split('.');
        let (kind, name) = (parts.next().unwrap(), parts.next().unwrap());
        let path = modules.map_or(String::new(), |it| it.replace('/', "::") + "::") + name;
        items.insert((path, kind.to_owned()), item(kind, &page(folder.join(link))));
    }
    assert!(!items.is_empty(), "no items in {}", folder.display());
    let mut modules = vec![String::new()];
    while let Some(module) = modules.pop() {
        let index = page(folder.join(&module).join("index.html"));
        let prefix = module.replace('/', "::");
        let uses: Vec<String> = between(&index, "id=\"reexport.", "</code>")
            .map(|part| text(part.split_once("<code>").unwrap().1))
            .collect();
        modules.extend(
            between(&index, "<a class=\"mod\" href=\"", "/index.html\"")
                .map(|name| format!("{module}{name}/")),
        );
        let declared = if module.is_empty() { uses } else { [vec!["pub mod".to_owned()], uses].concat() };
        items.insert((prefix.trim_end_matches("::").to_owned(), String::new()), declared);
    }
    let mut list = String::new();
    for ((path, _), lines) in items {
        let path = if path.is_empty() { "(crate)" } else { &path };
        for line in lines {
            list += &format!("{path}: {line}\n");
        }
    }
    list
}

/// The declaration of an item, then its parts in alphabetical order.
fn item(kind: &str, page: &str) -> Vec<String> {
    let declaration =
        text(between(page, "<pre class=\"rust item-decl\"><code>", "</code></pre>").next().unwrap());
    if !matches!(kind, "struct" | "enum" | "trait" | "union") {
        return vec![declaration];
    }
    // Fields, variants and methods have lines of their own.
    let declaration = declaration.split(" {").next().unwrap().trim_end_matches(';').to_owned();
    let inherent = after(page, "id=\"implementations-list\"");
    let own = match kind {
        "trait" => before(before(page, "id=\"foreign-impls\""), "id=\"implementors\""),
        _ => before(
            before(before(inherent, "id=\"trait-implementations\""), "id=\"deref-methods"),
            "id=\"synthetic-impl",
        ),
    };
    let mut parts: Vec<String> = between(own, "<h4 class=\"code-header\">", "</h4>").map(text).collect();
    if kind != "trait" {
        let data = before(page, "id=\"implementations\"");
        let data = before(data, "id=\"trait-implementations\"");
        let code = |part: &str| text(part.split_once("<code>").unwrap().1);
        parts.extend(between(data, "<span id=\"structfield.", "</code>").map(code));
        for part in between(data, "<section id=\"variant.", "</section>") {
            parts.push(text(part.split_once("<h3 class=\"code-header\">").unwrap().1));
        }
        for part in between(data, "<span id=\"variant.", "</code>") {
            let variant = part.split('.').next().unwrap();
            parts.push(format!("{variant}::{}", code(part)));
        }
    }
    parts.sort();
    parts.dedup();
    parts.insert(0, declaration);
    parts
}

/// What is between each `start` and the next `end`.
fn between<'a>(page: &'a str, start: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    page.split(start).skip(1).map(move |rest| before(rest, end))
}

fn before<'a>(page: &'a str, end: &str) -> &'a str {
    page.split_once(end).map_or(page, |(before, _)| before)
}

/// What follows `start`; nothing if it is not there.
fn after<'a>(page: &'a str, start: &str) -> &'a str {
    page.split_once(start).map_or("", |(_, after)| after)
}

/// The words of a piece of a page, without tags and with single spaces.
fn text(html: &str) -> String {
    let mut plain = String::new();
    for (number, part) in html.split('<').enumerate() {
        let Some((tag, words)) = part.split_once('>').filter(|_| number > 0) else {
            plain += part;
            continue;
        };
        // The parts that rustdoc puts on lines of their own.
        if tag.starts_with("div") || tag == "/div" || tag.starts_with("br") {
            plain.push(' ');
        }
        plain += words;
    }
    for (code, sign) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("ⓘ", ""),
        ("&amp;", "&"),
    ] {
        plain = plain.replace(code, sign);
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(").replace(", )", ")")
}
