//! The drawings, as SVG that takes its colours from the page.

use super::html::escape;
use crate::text;
use std::fmt::Write;

/// Width and height of a chart, in its own units.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 320.0;
/// Room for the labels of the axes.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;

/// Colours that differ on light and dark pages, and for most colour-blind readers.
const COLOURS: [&str; 4] = ["var(--one)", "var(--two)", "var(--three)", "var(--four)"];

/// A curve of rates over bits per key.
#[derive(Debug)]
pub struct Curve {
    /// What it is.
    pub name: String,
    /// Bits per key and rate.
    pub points: Vec<(f64, f64)>,
    /// A model and not a system's own.
    pub dashed: bool,
}

/// One filter among the curves.
#[derive(Debug)]
pub struct Point {
    /// What it is.
    pub name: String,
    /// Bits per key.
    pub bits_per_key: f64,
    /// The rate to expect.
    pub fpr: f64,
    /// The curve it belongs to.
    pub curve: usize,
}

/// Rates over bits per key, with filters as points.
pub fn rates(curves: &[Curve], points: &[Point]) -> String {
    let floor = 1e-7;
    let most = points.iter().map(|p| p.bits_per_key).fold(12.0, f64::max).min(40.0);
    let x_max = ((most + 2.0) / 4.0).ceil() * 4.0;
    let least = points.iter().map(|p| p.fpr.max(floor)).fold(0.01, f64::min);
    let decades = (-(least.log10()) + 0.3).ceil().clamp(2.0, 7.0);
    let x = |bits: f64| LEFT + (WIDTH - LEFT - RIGHT) * (bits.clamp(0.0, x_max) / x_max);
    let y = |fpr: f64| {
        let depth = (-(fpr.max(floor).log10()) / decades).clamp(0.0, 1.0);
        TOP + (HEIGHT - TOP - BOTTOM) * depth
    };
    let mut svg = begin("Rate against bits per key");
    for decade in 0..=decades as i32 {
        // Percent as long as they are short.
        let label = match decade {
            0..=4 => text::rate(10f64.powi(-decade)),
            5 => "10⁻⁵".to_owned(),
            6 => "10⁻⁶".to_owned(),
            _ => "10⁻⁷".to_owned(),
        };
        let at = y(10f64.powi(-decade));
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"var(--grid)\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0,
            escape(&label)
        );
    }
    for step in 0..=4 {
        let bits = x_max * f64::from(step) / 4.0;
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x(bits),
            HEIGHT - BOTTOM + 18.0,
            text::decimal(bits, 1)
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">bits per key</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 6.0
    );
    let deepest = 10f64.powf(-decades);
    for (i, curve) in curves.iter().enumerate() {
        let inside = curve.points.iter().filter(|(bits, fpr)| *bits <= x_max && *fpr >= deepest);
        let path: Vec<String> = inside.map(|(b, p)| format!("{:.1},{:.1}", x(*b), y(*p))).collect();
        let dash = if curve.dashed { " stroke-dasharray=\"5 5\"" } else { "" };
        let _ = write!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linejoin=\"round\"{dash}/>",
            path.join(" "),
            colour(i)
        );
    }
    for point in points {
        let _ = write!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\" fill=\"{}\" stroke=\"var(--card)\" stroke-width=\"1.5\">\
             <title>{}: {} bits per key, {}</title></circle>",
            x(point.bits_per_key),
            y(point.fpr),
            colour(point.curve),
            escape(&point.name),
            text::decimal(point.bits_per_key.min(1e6), 1),
            escape(&text::rate(point.fpr)),
        );
    }
    // With a name where there is one to read.
    if let [point] = points {
        let (at_x, at_y) = (x(point.bits_per_key), y(point.fpr));
        // Curves fall: above to the right there is room, and below to the left.
        let (anchor, dx, dy) =
            if at_x > WIDTH - RIGHT - 165.0 { ("end", -10.0, 18.0) } else { ("start", 9.0, -9.0) };
        let _ = write!(
            svg,
            "<text class=\"label\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">this filter: {}</text>",
            at_x + dx,
            at_y + dy,
            escape(&text::rate(point.fpr))
        );
    }
    svg += "</svg>";
    svg + &key(curves)
}

fn colour(i: usize) -> &'static str {
    COLOURS[i % COLOURS.len()]
}

fn key(curves: &[Curve]) -> String {
    let mut html = String::from("<ul class=\"key\">");
    for (i, curve) in curves.iter().enumerate() {
        let style = match curve.dashed {
            true => format!(
                "background:repeating-linear-gradient(90deg,{0} 0 5px,transparent 5px 9px)",
                colour(i)
            ),
            false => format!("background:{}", colour(i)),
        };
        let _ = write!(html, "<li><i style=\"{style}\"></i>{}</li>", escape(&curve.name));
    }
    html + "</ul>"
}

/// The fill along one filter, front to back.
pub fn fill(parts: &[f64]) -> String {
    let most = parts.iter().copied().fold(0.5, f64::max);
    let top = (most * 10.0 + 0.5).ceil() / 10.0;
    let y = |fill: f64| HEIGHT * 0.75 - 30.0 - (HEIGHT * 0.75 - 42.0) * (fill / top.min(1.0)).clamp(0.0, 1.0);
    let step = (WIDTH - LEFT - RIGHT) / parts.len().max(1) as f64;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"Fill along the filter\">",
        HEIGHT * 0.75
    );
    for tick in [0.0, 0.25, 0.5, 0.75, 1.0].into_iter().filter(|tick| *tick <= top.min(1.0)) {
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"var(--grid)\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            y(tick) + 4.0,
            escape(&text::rate(tick)),
            at = y(tick),
        );
    }
    let mut path = format!("M{LEFT:.1},{:.1}", y(0.0));
    for (i, part) in parts.iter().enumerate() {
        let (from, to) = (LEFT + step * i as f64, LEFT + step * (i + 1) as f64);
        let _ = write!(path, "L{from:.1},{:.1}L{to:.1},{:.1}", y(*part), y(*part));
    }
    let _ = write!(
        svg,
        "<path d=\"{path}L{:.1},{:.1}Z\" fill=\"var(--fill)\" stroke=\"var(--one)\" stroke-width=\"1.2\"/>",
        WIDTH - RIGHT,
        y(0.0)
    );
    let base = HEIGHT * 0.75 - 10.0;
    let _ = write!(
        svg,
        "<text x=\"{LEFT}\" y=\"{base}\">first bit</text><text x=\"{:.1}\" y=\"{base}\" text-anchor=\"end\">last bit</text></svg>",
        WIDTH - RIGHT
    );
    svg
}

/// Fills of several filters, one line each.
pub fn strips(strips: &[(String, Vec<f64>, f64)]) -> String {
    let mut html = String::from("<div class=\"strips\">");
    for (name, parts, mean) in strips {
        let most = parts.iter().copied().fold(0.6, f64::max).min(1.0);
        let step = 100.0 / parts.len().max(1) as f64;
        let mut path = String::from("M0,20");
        for (i, part) in parts.iter().enumerate() {
            let height = 20.0 - 20.0 * (part / most).clamp(0.0, 1.0);
            let _ =
                write!(path, "L{:.2},{height:.2}L{:.2},{height:.2}", step * i as f64, step * (i + 1) as f64);
        }
        let _ = write!(
            html,
            "<span>{}</span><svg viewBox=\"0 0 100 20\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"fill\">\
             <path d=\"{path}L100,20Z\" fill=\"var(--one)\" opacity=\".75\"/></svg><span class=\"v\">{}</span>",
            escape(name),
            escape(&text::rate(*mean))
        );
    }
    html + "</div>"
}

/// A bar, what it is, and its number in words.
#[derive(Debug)]
pub struct Bar {
    /// What it is.
    pub name: String,
    /// How long.
    pub value: f64,
    /// The number.
    pub said: String,
    /// Which colour.
    pub colour: usize,
}

/// Lengths beside each other.
pub fn bars(bars: &[Bar]) -> String {
    let most = bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let mut html = String::from("<div class=\"bars\">");
    for bar in bars {
        let _ = write!(
            html,
            "<span>{}</span><svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{said}\">\
             <rect width=\"100\" height=\"10\" fill=\"var(--grid)\"/>\
             <rect width=\"{:.2}\" height=\"10\" fill=\"{}\"/></svg><span class=\"v\">{said}</span>",
            escape(&bar.name),
            (100.0 * bar.value / most).clamp(0.0, 100.0),
            colour(bar.colour),
            said = escape(&bar.said),
        );
    }
    html + "</div>"
}

fn begin(label: &str) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">", escape(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_stay_inside_the_drawing() {
        let curve = Curve { name: "c".into(), points: vec![(1.0, 0.5), (30.0, 1e-9)], dashed: false };
        for (bits, fpr) in [(0.0, 1.0), (1e9, 0.0), (f64::INFINITY, 1e-300), (10.0, 0.01)] {
            let point = Point { name: "<p>".into(), bits_per_key: bits, fpr, curve: 0 };
            let svg = rates(std::slice::from_ref(&curve), &[point]);
            assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("<p>"), "{svg}");
        }
        assert!(!fill(&[]).contains("NaN") && !fill(&[0.0, 1.0, 0.3]).contains("NaN"));
        assert!(
            !bars(&[Bar { name: "b".into(), value: 0.0, said: "0 B".into(), colour: 9 }]).contains("NaN")
        );
        assert!(!strips(&[("s".into(), vec![], 0.0)]).contains("NaN"));
    }
}
