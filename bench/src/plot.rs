//! The frontier: what a false-positive rate costs in time and in bits, for filters that were measured with several
//! bits per key.

use crate::harness::{self, Mode, Row};
use crate::ours::{FAST, LIMIT};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 46.0;
const PLOT: f64 = 360.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 44.0;

/// The colours of the peers, in turn.
const COLOURS: [&str; 7] = ["#3f76bd", "#b35c1e", "#8250df", "#9a6700", "#cf222e", "#57606a", "#0a7ea4"];

/// Light, or dark where the reader's system is. The page has a colour of its own, so that it can be read on any.
const STYLE: &str = "\
<style>
.page{fill:#fff}text{fill:#1f2328}.soft{fill:#656d76}path{stroke:#1f2328}
@media (prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#e6edf3}.soft{fill:#9198a1}path{stroke:#e6edf3}}
</style>";

/// Writes the panels of all sizes that were measured with several bits per key as one SVG.
pub fn save(rows: &[Row], machine: &str, path: &Path) -> Result<(), Box<dyn Error>> {
    let failed = |e: std::io::Error| format!("{}: cannot write: {e}", path.display());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, draw(rows, machine)).map_err(failed)?;
    Ok(())
}

fn draw(rows: &[Row], machine: &str) -> String {
    let mut sizes: BTreeMap<(&str, u64), Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.fpr.is_some_and(|fpr| fpr > 0.0) && row.filter != LIMIT) {
        sizes.entry((&row.keys, row.size.bytes)).or_default().push(row);
    }
    sizes.retain(|_, rows| rows.iter().any(|row| row.size.bits_per_key != rows[0].size.bits_per_key));
    let top = 34.0 + machine.lines().count() as f64 * 14.0;
    let (width, height) = (2.0 * WIDTH, top + 2.0 * HEIGHT * sizes.len() as f64);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="12">
{STYLE}
<rect width="{width}" height="{height}" class="page"/>
<text x="10" y="20" font-size="15" font-weight="bold">What a false-positive rate costs: lower is better, further left is a lower rate</text>
"#
    );
    for (i, line) in machine.lines().enumerate() {
        let (y, line) = (38 + i * 14, escape(line));
        let _ = writeln!(svg, r#"<text x="10" y="{y}" font-size="10" class="soft">{line}</text>"#);
    }
    for (i, ((keys, bytes), rows)) in sizes.iter().enumerate() {
        let y = top + 2.0 * HEIGHT * i as f64;
        for (at, mode) in [Mode::Single, Mode::Batch, Mode::Build].into_iter().enumerate() {
            let title = format!("{}, {}, {keys} keys: ns per key", mode.name(), harness::bytes(*bytes));
            let rows: Vec<&Row> = rows.iter().filter(|row| row.mode == mode).copied().collect();
            let (x, y) = (10.0 + WIDTH * (at % 2) as f64, y + HEIGHT * (at / 2) as f64);
            panel(&mut svg, x, y, &title, &rows, |row| Some(1e3 / row.median));
        }
        let title = format!("{}: bits per key", harness::bytes(*bytes));
        panel(&mut svg, 10.0 + WIDTH, y + HEIGHT, &title, rows, |row| row.bits);
    }
    svg + "</svg>\n"
}

/// The rate from left to right, on a logarithmic scale; `cost` from the bottom up.
fn panel(svg: &mut String, x: f64, y: f64, title: &str, rows: &[&Row], cost: impl Fn(&Row) -> Option<f64>) {
    let mut filters: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for row in rows {
        if let (Some(fpr), Some(cost)) = (row.fpr, cost(row)) {
            let name = row.filter.split('<').next().unwrap_or(&row.filter);
            filters.entry(name).or_default().push((fpr.log10(), cost));
        }
    }
    let points = || filters.values().flatten();
    let low = points().map(|point| point.0).fold(0.0, f64::min).floor();
    let most = points().map(|point| point.1).fold(1e-9, f64::max);
    let at = |(rate, cost): (f64, f64)| {
        let right = x + LEFT + PLOT * (rate - low) / -low.min(-1.0);
        (right, y + HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * cost / most)
    };
    let (bottom, right) = (y + HEIGHT - BOTTOM, x + LEFT + PLOT);
    let _ = writeln!(svg, r#"<text x="{x}" y="{}" font-weight="bold">{title}</text>"#, y + 18.0);
    let _ = writeln!(svg, r#"<path d="M{} {}V{bottom}H{right}" fill="none"/>"#, x + LEFT, y + TOP);
    for power in low as i32..=0 {
        let (at, _) = at((power.into(), 0.0));
        let (percent, y) = (100.0 * 10f64.powi(power), bottom + 16.0);
        let _ = writeln!(
            svg,
            r#"<text x="{at:.0}" y="{y}" text-anchor="middle" class="soft">{percent} %</text>"#
        );
    }
    for part in 1..=4 {
        let cost = most * f64::from(part) / 4.0;
        let (x, (_, at)) = (x + LEFT - 5.0, at((0.0, cost)));
        let _ = writeln!(svg, r#"<text x="{x}" y="{at:.0}" text-anchor="end" class="soft">{cost:.1}</text>"#);
    }
    let mut colours = COLOURS.iter().cycle();
    for (i, (name, points)) in filters.iter_mut().enumerate() {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let is_ours = *name == FAST;
        let colour = if is_ours { "#1a8560" } else { colours.next().expect("a cycle has no end") };
        let places: Vec<(f64, f64)> = points.iter().map(|point| at(*point)).collect();
        let line: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let (line, width) = (line.join(" "), if is_ours { 3 } else { 1 });
        let _ = writeln!(
            svg,
            r#"<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{width}"/>"#
        );
        for (x, y) in places {
            let _ = writeln!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{colour}"/>"#);
        }
        let (x, y, name) = (right + 10.0, y + TOP + 14.0 * i as f64, escape(name));
        let _ = writeln!(svg, r#"<text x="{x}" y="{y}" style="fill:{colour}">{name}</text>"#);
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
