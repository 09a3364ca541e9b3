//! Families of gauges, and their text.

use std::collections::HashMap;
use std::fmt::Write;

/// The labels of a series. Names are ours; values are any text.
pub type Labels = Vec<(&'static str, String)>;

/// The family that every file begins with.
pub const BUILD: &str = "fullbloom_build_info";

/// What every file begins with.
pub const BEGINNING: &str = "# TYPE fullbloom_build_info gauge\n";

/// Gauges of one name.
#[derive(Debug)]
struct Family {
    name: String,
    /// The unit that ends the name; empty without one.
    unit: &'static str,
    about: &'static str,
    samples: Vec<(Labels, f64)>,
}

/// A file of metrics under construction.
#[derive(Debug)]
pub struct Exposition {
    /// Labels that every series has.
    common: Labels,
    families: Vec<Family>,
    /// Where each name is in `families`.
    places: HashMap<String, usize>,
}

impl Exposition {
    /// No series yet; all will have these labels.
    pub fn new(common: Labels) -> Exposition {
        Exposition { common, families: Vec::new(), places: HashMap::new() }
    }

    /// Adds a series to its family. Series of one family have different labels.
    pub fn add(&mut self, name: &str, unit: &'static str, about: &'static str, labels: Labels, value: f64) {
        let place = *self.places.entry(name.to_owned()).or_insert_with(|| {
            self.families.push(Family { name: name.to_owned(), unit, about, samples: Vec::new() });
            self.families.len() - 1
        });
        self.families[place].samples.push((labels, value));
    }

    /// The text: the series of each family together, as both formats demand.
    pub fn render(&self) -> String {
        let mut text = String::new();
        for Family { name, unit, about, samples } in &self.families {
            let _ = writeln!(text, "# TYPE {name} gauge");
            if !unit.is_empty() {
                let _ = writeln!(text, "# UNIT {name} {unit}");
            }
            let _ = writeln!(text, "# HELP {name} {about}");
            for (labels, value) in samples {
                let labels = self.common.iter().chain(labels);
                let labels: Vec<String> =
                    labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
                let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
            }
        }
        text + "# EOF\n"
    }
}

/// Text as it stands in quotes. Help has no character that needs this.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_of_a_family_stand_together_with_their_help_and_labels_escaped() {
        let mut text = Exposition::new(vec![("run", "a\"b".to_owned())]);
        text.add(BUILD, "", "Help.", vec![], 1.0);
        text.add("x_bytes", "bytes", "Bytes.", vec![("path", "C:\\new\nline".to_owned())], 1e20);
        text.add(BUILD, "", "Help.", vec![("more", "ü".to_owned())], 0.000_001);
        let text = text.render();
        assert!(text.starts_with(BEGINNING), "{text}");
        let shown = "# TYPE fullbloom_build_info gauge\n\
                     # HELP fullbloom_build_info Help.\n\
                     fullbloom_build_info{run=\"a\\\"b\"} 1\n\
                     fullbloom_build_info{run=\"a\\\"b\",more=\"ü\"} 0.000001\n\
                     # TYPE x_bytes gauge\n\
                     # UNIT x_bytes bytes\n\
                     # HELP x_bytes Bytes.\n\
                     x_bytes{run=\"a\\\"b\",path=\"C:\\\\new\\nline\"} 100000000000000000000\n\
                     # EOF\n";
        assert_eq!(text, shown);
    }
}
