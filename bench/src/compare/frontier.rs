//! The frontier: what a false-positive rate costs in time and in bits, for filters measured at several densities.

use super::contender::{LIMIT, OURS};
use super::plot::escape;
use crate::harness::{self, Row};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 46.0;
const PLOT: f64 = 360.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 44.0;

/// The colours of the peers, in turn.
const COLOURS: [&str; 7] = ["#3f76bd", "#b35c1e", "#8250df", "#9a6700", "#cf222e", "#57606a", "#0a7ea4"];

/// The panels of all races that were run at several densities, below `top`, and the height that they take.
pub fn draw(svg: &mut String, rows: &[Row], top: usize) -> usize {
    let mut races: BTreeMap<(&str, u64, &str), Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.fpr.is_some_and(|fpr| fpr > 0.0) && row.filter != LIMIT) {
        let setting = &row.setting;
        races.entry((setting.keys, setting.bytes, setting.mode)).or_default().push(row);
    }
    races.retain(|_, rows| rows.iter().any(|row| row.setting.bits_per_key != rows[0].setting.bits_per_key));
    for (i, ((keys, bytes, mode), rows)) in races.iter().enumerate() {
        let (x, y) = (10.0, top as f64 + i as f64 * HEIGHT);
        let title = format!("{mode}, {}, {keys} keys", harness::size(*bytes));
        panel(svg, x, y, &format!("{title}: ns a key"), rows, &|row| Some(1e3 / row.median));
        panel(svg, x + WIDTH, y, &format!("{title}: bits a key"), rows, &|row| {
            row.bits.map(|[taken, _]| taken)
        });
    }
    races.len() * HEIGHT as usize
}

/// The rate from left to right, on a logarithmic scale; `cost` from the bottom up.
fn panel(svg: &mut String, x: f64, y: f64, title: &str, rows: &[&Row], cost: &dyn Fn(&Row) -> Option<f64>) {
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
        let percent = 100.0 * 10f64.powi(power);
        let _ = writeln!(
            svg,
            r#"<text x="{at:.0}" y="{}" text-anchor="middle" class="soft">{percent} %</text>"#,
            bottom + 16.0
        );
    }
    for part in 1..=4 {
        let cost = most * f64::from(part) / 4.0;
        let (_, at) = at((0.0, cost));
        let _ = writeln!(
            svg,
            r#"<text x="{}" y="{at:.0}" text-anchor="end" class="soft">{cost:.1}</text>"#,
            x + LEFT - 5.0
        );
    }
    let mut colours = COLOURS.iter().cycle();
    for (i, (name, points)) in filters.iter_mut().enumerate() {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let colour = if *name == OURS { "#1a8560" } else { colours.next().expect("a cycle") };
        let places: Vec<(f64, f64)> = points.iter().map(|point| at(*point)).collect();
        let line: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="{}"/>"#,
            line.join(" "),
            if *name == OURS { 3 } else { 1 }
        );
        for (x, y) in places {
            let _ = writeln!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{colour}"/>"#);
        }
        let (legend, key) = (y + TOP + 14.0 * i as f64, escape(name));
        let _ =
            writeln!(svg, r#"<text x="{}" y="{legend}" style="fill:{colour}">{key}</text>"#, right + 10.0);
    }
}
