//! Comments are at most as wide as code. Tables, drawings and examples may be wider.

use crate::sources;

/// The width of `rustfmt.toml`.
const WIDTH: usize = 110;

#[test]
fn comments_are_no_wider_than_code() {
    let (mut wide, mut checked) = (Vec::new(), 0);
    for (path, text) in sources() {
        let mut in_fence = false;
        for (line, number) in text.lines().zip(1..) {
            let Some(comment) = line.trim_start().strip_prefix("//") else {
                in_fence = false;
                continue;
            };
            let comment = comment.trim_start_matches(['/', '!']).trim_start();
            in_fence ^= comment.starts_with("```");
            checked += 1;
            if line.chars().count() > WIDTH && !in_fence && !comment.starts_with('|') {
                wide.push(format!("{path}:{number}"));
            }
        }
    }
    assert!(checked > 5000, "{checked}");
    assert!(wide.is_empty(), "wider than {WIDTH} columns:\n{}", wide.join("\n"));
}
