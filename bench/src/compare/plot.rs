//! The plot: a panel of bars for each race, and the frontier.

use super::contender::{LIMIT, OURS};
use super::frontier;
use crate::harness::{self, Row};
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

const PANEL_WIDTH: usize = 400;
const BAR: usize = 18;
const NAMES: usize = 150;
const HEAD: usize = 34;
const PER_ROW: usize = 3;

/// Light, or dark where the reader's system is; the page has a colour of its own, so that it can be read on
/// any.
const STYLE: &str = "\
<style>
.page{fill:#fff}text{fill:#1f2328}.soft{fill:#656d76}.ours{fill:#1a8560}.peer{fill:#3f76bd}.limit{fill:#bbb}path{stroke:#1f2328}
@media (prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#e6edf3}.soft{fill:#9198a1}.ours{fill:#3fb88a}.peer{fill:#6ca4e8}.limit{fill:#555}path{stroke:#e6edf3}}
</style>";

/// Writes all races as one SVG.
pub fn save(rows: &[Row], machine: &str, path: &Path) -> Result<(), Box<dyn Error>> {
    let failed = |e: std::io::Error| format!("{}: cannot write: {e}", path.display());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, draw(rows, machine)).map_err(failed)?;
    Ok(())
}

fn draw(rows: &[Row], machine: &str) -> String {
    let races: Vec<&[Row]> = rows.chunk_by(|a, b| a.setting == b.setting).collect();
    let most = races.iter().map(|race| race.len()).max().unwrap_or(0);
    let panel_height = HEAD + most * BAR + 16;
    let lines = machine.lines().count();
    let top = 34 + lines * 14;
    let width = PER_ROW * PANEL_WIDTH + 20;
    let bars = top + races.len().div_ceil(PER_ROW) * panel_height + 10;
    let mut frontier = String::new();
    let height = bars + frontier::draw(&mut frontier, rows, bars);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="12">
{STYLE}
<rect width="{width}" height="{height}" class="page"/>
<text x="10" y="20" font-size="15" font-weight="bold">Million keys a second: median, and quartiles as a line; false-positive rate beside it</text>
"#
    );
    for (i, line) in machine.lines().enumerate() {
        let _ = writeln!(
            svg,
            r#"<text x="10" y="{}" font-size="10" class="soft">{}</text>"#,
            38 + i * 14,
            escape(line)
        );
    }
    for (i, race) in races.iter().enumerate() {
        let (x, y) = (10 + i % PER_ROW * PANEL_WIDTH, top + i / PER_ROW * panel_height);
        panel(&mut svg, x, y, race);
    }
    svg + &frontier + "</svg>\n"
}

fn panel(svg: &mut String, x: usize, y: usize, race: &[Row]) {
    let setting = &race[0].setting;
    let title = format!(
        "{}, {}, {} keys, {} bits/key",
        setting.mode,
        harness::size(setting.bytes),
        setting.keys,
        setting.bits_per_key
    );
    let _ = writeln!(svg, r#"<text x="{x}" y="{}" font-weight="bold">{title}</text>"#, y + 20);
    let fastest = race.iter().map(|row| row.quartiles[1]).fold(1e-9, f64::max);
    let scale = |speed: f64| speed / fastest * (PANEL_WIDTH - NAMES - 110) as f64;
    for (i, row) in race.iter().enumerate() {
        let (bar, from) = (y + HEAD + i * BAR, x + NAMES);
        let class = match row.filter.as_str() {
            LIMIT => "limit",
            name if name.starts_with(OURS) => "ours",
            _ => "peer",
        };
        let rate = row.fpr.map_or(String::new(), |fpr| {
            format!(r#"<tspan class="soft" dx="8">{:.3} %</tspan>"#, 100.0 * fpr)
        });
        let [low, high] = row.quartiles.map(|speed| from as f64 + scale(speed));
        let (length, middle) = (scale(row.median), bar + 7);
        let _ = writeln!(
            svg,
            r#"<text x="{}" y="{}" text-anchor="end">{}</text><rect x="{from}" y="{bar}" width="{length:.1}" height="14" class="{class}"/><path d="M{low:.1} {middle}H{high:.1}"/><text x="{:.1}" y="{}">{:.0}{rate}</text>"#,
            from - 6,
            bar + 11,
            escape(&row.filter),
            high.max(from as f64 + length) + 5.0,
            bar + 11,
            row.median
        );
    }
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
