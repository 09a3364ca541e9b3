//! A page: sections of text, tables and drawings, in self-contained HTML. Its one script sorts tables; the page
//! names its checksum, and a browser runs no other.

use fullbloom_ops::Severity;
use std::fmt::Write;

/// A problem.
#[derive(Debug)]
pub struct Remark {
    /// Its severity.
    pub severity: Severity,
    /// What is wrong.
    pub text: String,
    /// What to do next; empty if nothing.
    pub next: String,
}

/// Sorts tables.
const SCRIPT: &str = include_str!("page.js");

/// The SHA-256 of the script, for the browser. A test compares it with the script.
const SCRIPT_SHA256: &str = "RgEwWTuSKzB7ckmc/I1A3v541tgR7cT0Yfaz05OV7g8=";

/// Longer tables get a field to search in.
const SEARCHED_ROWS: usize = 30;

/// A cell of a table.
#[derive(Debug, Clone)]
pub struct Cell {
    shown: String,
    /// What the column is sorted by, if it is a column of numbers.
    number: Option<f64>,
}

impl Cell {
    /// A number, as it is shown and as it is; a dash for `None`.
    pub fn number<T: Copy>(
        value: Option<T>,
        shown: impl FnOnce(T) -> String,
        number: impl FnOnce(T) -> f64,
    ) -> Cell {
        Cell { shown: value.map_or_else(|| "-".to_owned(), shown), number: value.map(number) }
    }

    /// A count.
    pub fn count(count: u64) -> Cell {
        Cell::number(Some(count), super::inspect::grouped, |count| count as f64)
    }

    /// A number of bytes.
    pub fn bytes(bytes: u64) -> Cell {
        Cell::number(Some(bytes), crate::text::bytes, |bytes| bytes as f64)
    }

    /// A rate.
    pub fn rate(rate: Option<f64>) -> Cell {
        Cell::number(rate, crate::text::rate, |rate| rate)
    }

    /// A number with so many decimals.
    pub fn decimal(value: Option<f64>, decimals: usize) -> Cell {
        Cell::number(value, |value| crate::text::decimal(value, decimals), |value| value)
    }
}

impl From<String> for Cell {
    /// Text, or a number in a table that nobody sorts.
    fn from(shown: String) -> Cell {
        Cell { shown, number: None }
    }
}

/// What every page begins with.
pub const BEGINNING: &str = "<!DOCTYPE html>";

/// A page under construction.
#[derive(Debug)]
pub struct Page {
    title: String,
    /// What it is about, in a line.
    subtitle: String,
    body: String,
}

impl Page {
    /// An empty page.
    pub fn new(title: &str, subtitle: &str) -> Page {
        Page { title: title.to_owned(), subtitle: subtitle.to_owned(), body: String::new() }
    }

    /// The most important numbers, in large type, each with a label.
    pub fn figures(&mut self, figures: &[(String, &str)]) {
        self.body += "<dl class=\"figures\">";
        for (value, what) in figures {
            let _ = write!(self.body, "<div><dd>{}</dd><dt>{}</dt></div>", escape(value), escape(what));
        }
        self.body += "</dl>\n";
    }

    /// A section with a drawing or other ready HTML, and a line that says what it shows.
    pub fn section(&mut self, title: &str, said: &str, html: &str) {
        let _ = write!(self.body, "<section><h2>{}</h2>", escape(title));
        if !said.is_empty() {
            let _ = write!(self.body, "<p>{}</p>", escape(said));
        }
        let _ = writeln!(self.body, "{html}</section>");
    }

    /// A section with a table; the first column and those named are text.
    pub fn table<C: Clone + Into<Cell>>(
        &mut self,
        title: &str,
        titles: &[&str],
        text: &[&str],
        rows: &[Vec<C>],
    ) {
        let mut html = String::new();
        if rows.len() > SEARCHED_ROWS {
            html += "<input type=\"search\" class=\"search\" placeholder=\"search\" aria-label=\"rows with this text\">";
        }
        html += "<div class=\"wide\"><table><thead><tr>";
        let class = |i: usize| match titles[i] {
            "problems" | "note" => " class=\"t\"",
            title if i == 0 || text.contains(&title) => "",
            _ => " class=\"n\"",
        };
        for (i, title) in titles.iter().enumerate() {
            let _ = write!(html, "<th{}><button type=\"button\">{}</button></th>", class(i), escape(title));
        }
        html += "</tr></thead><tbody>";
        for row in rows {
            html += "<tr>";
            for (i, cell) in row.iter().enumerate() {
                let Cell { shown, number } = cell.clone().into();
                let value = number.filter(|number| number.is_finite());
                let value = value.map_or(String::new(), |number| format!(" data-v=\"{number}\""));
                let _ = write!(html, "<td{}{value}>{}</td>", class(i), escape(&shown));
            }
            html += "</tr>";
        }
        html += "</tbody></table></div>";
        self.section(title, "", &html);
    }

    /// A line of text; nothing if it is empty.
    pub fn paragraph(&mut self, text: &str) {
        if !text.is_empty() {
            let _ = write!(self.body, "<p>{}</p>", escape(text.trim_end()));
        }
    }

    /// A section with problems, each with its severity, and what to do next.
    pub fn remarks(&mut self, remarks: &[Remark]) {
        if remarks.is_empty() {
            return;
        }
        let mut html = String::from("<ul class=\"remarks\">");
        for Remark { severity, text, next } in remarks {
            let (severity, text) = (severity.as_str(), escape(text));
            let _ = write!(html, "<li><b class=\"{severity}\">{severity}</b> {text}");
            if !next.is_empty() {
                let _ = write!(html, "<br><span>Next: {}</span>", escape(next));
            }
            html += "</li>";
        }
        html += "</ul>";
        self.section("Problems", "", &html);
    }

    /// The whole document.
    pub fn render(&self) -> String {
        let (title, subtitle) = (escape(&self.title), escape(&self.subtitle));
        let made = escape(&made());
        format!(
            "{BEGINNING}\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{SCRIPT_SHA256}'; img-src data:\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title} — {subtitle}</title>\n<style>{STYLE}</style>\n</head>\n\
             <body>\n<header><h1>{title}</h1><p>{subtitle}</p><p>{made}</p></header>\n<main>\n{}</main>\n\
             <footer>fullbloom {}</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
            self.body,
            env!("CARGO_PKG_VERSION"),
        )
    }
}

/// Where and when the page was made.
fn made() -> String {
    format!("{}, {}", host(), crate::text::time(std::time::SystemTime::now()))
}

#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "unknown host".to_owned())
}

/// Text as HTML shows it, wherever it stands; control characters are written out.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in crate::text::printable(text).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

/// Light or dark as the reader's system prefers; works from a width of 320 pixels. A shadow at the edge of a
/// table shows that there is more to scroll to.
const STYLE: &str = "
:root{--page:#fbfbfa;--card:#fff;--ink:#1c1e21;--soft:#5d636b;--line:#dfe2e5;--grid:#eceef0;
--one:#1f6fb2;--two:#b4540a;--three:#2f7d4f;--four:#7a4fa3;--fill:#1f6fb233;--bad:#b3261e;--warn:#8a5a00}
@media (prefers-color-scheme:dark){:root{--page:#15171a;--card:#1d2024;--ink:#e8eaed;--soft:#a2a9b1;--line:#33383e;
--grid:#2a2e33;--one:#6fb3ea;--two:#f0a35e;--three:#74c795;--four:#c3a1e8;--fill:#6fb3ea33;--bad:#ff8a80;--warn:#e9b949}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}
header,main,footer{max-width:62rem;margin:0 auto;padding:0 1rem}
header{padding-top:1.5rem}
h1{font-size:1.5rem;line-height:1.25;margin:0;overflow-wrap:anywhere}
h2{font-size:1.05rem;margin:0 0 .25rem}
header p,section p{color:var(--soft);margin:.25rem 0 .75rem}
section{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:1rem;margin:1rem 0}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.75rem;margin:1rem 0}
.figures div{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.6rem .8rem;
display:flex;flex-direction:column}
.figures dd{margin:0;font-size:1.3rem;font-weight:600;font-variant-numeric:tabular-nums}
.figures dt{color:var(--soft);font-size:.85rem}
.wide{overflow-x:auto;background:linear-gradient(90deg,var(--card),transparent 2rem) local,
linear-gradient(-90deg,var(--card),transparent 2rem) local,linear-gradient(90deg,var(--line),transparent .6rem),
linear-gradient(-90deg,var(--line),transparent .6rem)}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums;min-width:100%}
th,td{padding:.3rem .6rem;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--soft);font-weight:600}
th button{all:unset;cursor:pointer}
th button:focus-visible{outline:2px solid var(--one)}
th[aria-sort=ascending] button::after{content:' ▲'}
th[aria-sort=descending] button::after{content:' ▼'}
.search{font:inherit;width:100%;max-width:20rem;margin:0 0 .5rem;padding:.3rem .5rem;color:inherit;
background:var(--page);border:1px solid var(--line);border-radius:.3rem}
.n{text-align:right}
.t{white-space:normal;min-width:9rem}
td.t{color:var(--bad)}
svg{display:block;width:100%;height:auto;max-width:44rem}
svg text{fill:var(--soft);font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}
svg .label{fill:var(--ink)}
.key{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;list-style:none;margin:.5rem 0 0;padding:0;font-size:.85rem}
.key i{display:inline-block;width:1rem;height:.2rem;margin-right:.4rem;vertical-align:middle;border-radius:1px}
.key i.dot{width:.6rem;height:.6rem;border-radius:50%}
.bars{display:grid;grid-template-columns:minmax(5rem,max-content) 1fr max-content;gap:.35rem .75rem;align-items:center;
font-size:.9rem;font-variant-numeric:tabular-nums}
.bars span{overflow-wrap:anywhere}
.bars svg,.strips svg{max-width:none;width:100%;height:.9rem}
.bars .v{color:var(--soft);text-align:right}
.strips{display:grid;grid-template-columns:minmax(4rem,max-content) 1fr max-content;gap:.3rem .75rem;align-items:center;
font-size:.9rem;font-variant-numeric:tabular-nums}
.strips svg{height:1.6rem}
.strips span{overflow-wrap:anywhere}
.strips .v{color:var(--soft);text-align:right}
.remarks{list-style:none;margin:0;padding:0}
.remarks li{padding:.3rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
.remarks li:last-child{border:0}
.remarks b{font-size:.8rem;margin-right:.4rem;color:var(--soft)}
.remarks span{color:var(--soft);font-size:.9rem}
.remarks b.error{color:var(--bad)}.remarks b.warning{color:var(--warn)}
footer{padding-bottom:2rem;font-size:.85rem;color:var(--soft)}
@media (max-width:32rem){.bars,.strips{grid-template-columns:minmax(3rem,38%) 1fr max-content;gap:.3rem .5rem}
section{padding:.75rem}svg text{font-size:18px}table{font-size:.8rem}th,td{padding:.3rem .35rem}.t{min-width:7rem}}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_file_is_called_becomes_markup() {
        let evil = "<script>alert('1')</script>\"&\u{1b}";
        let mut page = Page::new(evil, evil);
        page.figures(&[(evil.to_owned(), evil)]);
        page.table(evil, &[evil], &[], &[vec![evil.to_owned()]]);
        let (severity, text, next) = (Severity::Error, evil.to_owned(), evil.to_owned());
        page.remarks(&[Remark { severity, text, next }]);
        let html = page.render();
        assert_eq!(html.matches("<script").count(), 1, "{html}");
        assert!(html.contains(SCRIPT) && !html.contains('\u{1b}'), "{html}");
        assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("src="));
        assert_eq!(html.matches("&lt;script&gt;").count(), 11);
    }
}
