//! A partition key as the equality conditions of CQL: `id = 17 AND day = '2026-11-18'`.
//!
//! No sstable records the names of its partition key's columns, only their types and the names of the columns
//! that are in no key. So the caller names the key's columns in their order, except where a single condition
//! can be about nothing else: the key has one column and the table has no clustering column.

use crate::problem::{Code, Need, Problem};
use crate::text;
use fullbloom_sstable::sstable::FILTER;
use fullbloom_sstable::{RecordedKeyType, Sstable, column_names, recorded_key_type};

/// Equality conditions that determine a partition key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conditions {
    /// The columns of the partition key with their values, in the order of the key.
    columns: Vec<(String, String)>,
    /// Whether the caller named the partition key's columns.
    is_named: bool,
}

impl Conditions {
    /// Reads conditions; `partition_key` names the columns of the key in their order, separated by commas.
    pub fn parse(text: &str, partition_key: Option<&str>) -> Result<Conditions, String> {
        let given = conditions(text)?;
        let Some(names) = partition_key else {
            return match given.len() {
                1 => Ok(Conditions { columns: given, is_named: false }),
                _ => Err("sstables do not record the names of the partition key's columns".to_owned()),
            };
        };
        let names = names_of(names)?;
        let value = |name: &String| given.iter().find(|(column, _)| column == name).cloned();
        let missing: Vec<&str> =
            names.iter().filter(|name| value(name).is_none()).map(String::as_str).collect();
        if !missing.is_empty() {
            return Err(format!(
                "no value for {}: a filter is asked about a whole partition key, ({})",
                missing.join(", "),
                names.join(", ")
            ));
        }
        Ok(Conditions { columns: names.iter().filter_map(value).collect(), is_named: true })
    }

    /// The partition key as text: as it is for one column, with colons between several.
    pub fn key(&self) -> Vec<u8> {
        match self.columns.as_slice() {
            [(_, only)] => only.clone().into_bytes(),
            several => {
                let escaped = |value: &String| value.replace('\\', "\\\\").replace(':', "\\:");
                let parts: Vec<String> = several.iter().map(|(_, value)| escaped(value)).collect();
                parts.join(":").into_bytes()
            }
        }
    }

    /// Compares the columns with what an sstable records. A "no" about a column that is not the key would be
    /// wrong.
    pub(crate) fn check_sstable(&self, sstable: &Sstable) -> Result<(), Problem> {
        let table = sstable.table_name();
        let refused = |why: String| {
            Err(Problem::at(&sstable.path(FILTER), Code::OptionRefused, why)
                .hint("name the columns of the partition key in their order")
                .needs(Need::PartitionKey))
        };
        if let RecordedKeyType::Known(schema) = recorded_key_type(sstable)
            && schema.columns() != self.columns.len()
        {
            let has = text::counted(schema.columns() as u64, "column");
            let given = self.columns.len();
            return refused(format!("the partition key of {table} has {has} ({schema}), not {given}"));
        }
        let others = column_names(sstable);
        let is_other = |(name, _): &&(String, String)| {
            others.as_ref().is_some_and(|others| others.named.iter().any(|other| other == name))
        };
        if let Some((name, _)) = self.columns.iter().find(is_other) {
            return refused(format!("{name} is not a column of the partition key of {table}"));
        }
        if self.is_named || others.is_some_and(|others| others.clustering == 0) {
            return Ok(());
        }
        let name = &self.columns[0].0;
        refused(format!(
            "nothing in the sstable says whether {name} is the partition key of {table} or a clustering column"
        ))
    }
}

/// What is left of a text that is read from its beginning.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn skip_space(&mut self) {
        self.0 = self.0.trim_start();
    }

    /// Takes this character, if it is next.
    fn take(&mut self, next: char) -> bool {
        self.skip_space();
        let rest = self.0.strip_prefix(next);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Takes the longest run of such characters.
    fn run(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let (run, rest) = self.0.split_at(self.0.find(|c| !is_part(c)).unwrap_or(self.0.len()));
        self.0 = rest;
        run
    }

    /// What is in quotes, in which two of them stand for one; after the first quote.
    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        loop {
            let Some((inside, rest)) = self.0.split_once(quote) else {
                return Err(format!("a {quote} is not closed"));
            };
            text += inside;
            self.0 = rest;
            match rest.strip_prefix(quote) {
                Some(more) => (text.push(quote), self.0 = more),
                None => return Ok(text),
            };
        }
    }

    /// A name: in any case, or in quotes exactly as it is.
    fn name(&mut self) -> Result<String, String> {
        if self.take('"') {
            return self.quoted('"');
        }
        let name = self.run(|c| c.is_ascii_alphanumeric() || c == '_');
        if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Ok(name.to_ascii_lowercase());
        }
        Err(format!("expected the name of a column{}", self.before(name)))
    }

    /// A literal, as the text of its value.
    fn value(&mut self) -> Result<String, String> {
        if self.take('\'') {
            return self.quoted('\'');
        }
        let word = self.run(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.'));
        let lower = word.to_ascii_lowercase();
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_uuid =
            || lower.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && is_hex(&lower.replace('-', ""));
        let is_number = || {
            let digits = lower.strip_prefix('-').unwrap_or(&lower);
            matches!(digits, "nan" | "infinity")
                || digits.starts_with(|c: char| c.is_ascii_digit()) && lower.parse::<f64>().is_ok()
        };
        match lower.as_str() {
            "true" | "false" => Ok(lower),
            blob if blob.strip_prefix("0x").is_some_and(is_hex) => Ok(lower),
            _ if is_uuid() || is_number() => Ok(word.to_owned()),
            _ => {
                let why = "expected a value: text is written in single quotes";
                Err(format!("{why}{}", self.before(word)))
            }
        }
    }

    /// ` before 'what comes next'`
    fn before(&self, taken: &str) -> String {
        match (taken, self.0.chars().next()) {
            ("", None) => " at the end".to_owned(),
            ("", Some(next)) => format!(" before '{next}'"),
            (taken, _) => format!(", not '{taken}'"),
        }
    }
}

/// `name = value AND …`
fn conditions(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut rest = Rest(text);
    let mut found: Vec<(String, String)> = Vec::new();
    loop {
        rest.skip_space();
        let name = rest.name()?;
        if !rest.take('=') {
            return Err(format!("only {name} = VALUE can be looked up in a filter"));
        }
        rest.skip_space();
        let value = rest.value()?;
        if found.iter().any(|(known, _)| *known == name) {
            return Err(format!("{name} has two values"));
        }
        found.push((name, value));
        rest.skip_space();
        if rest.0.is_empty() {
            return Ok(found);
        }
        let word = rest.run(|c| c.is_ascii_alphanumeric() || c == '_');
        if !word.eq_ignore_ascii_case("and") {
            return Err(format!("expected AND{}", rest.before(word)));
        }
    }
}

/// `name, name …`
fn names_of(text: &str) -> Result<Vec<String>, String> {
    let mut rest = Rest(text);
    let mut names = Vec::new();
    loop {
        rest.skip_space();
        let name = rest.name()?;
        if names.contains(&name) {
            return Err(format!("{name} is there twice"));
        }
        names.push(name);
        if !rest.take(',') {
            return if rest.0.is_empty() {
                Ok(names)
            } else {
                Err(format!("expected a comma{}", rest.before("")))
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str, names: Option<&str>) -> Result<String, String> {
        Conditions::parse(text, names).map(|found| String::from_utf8(found.key()).unwrap())
    }

    #[test]
    fn values_are_read_as_cql_writes_them() {
        for (value, read) in [
            ("17", "17"),
            ("-17", "-17"),
            ("'eu:it''s'", "eu:it's"),
            ("''", ""),
            ("TRUE", "true"),
            ("0xCAFE", "0xcafe"),
            ("1.5E-3", "1.5E-3"),
            ("NaN", "NaN"),
            ("5A1C395E-0b1f-11ef-9a3f-0242ac120002", "5A1C395E-0b1f-11ef-9a3f-0242ac120002"),
            ("'2026-11-18'", "2026-11-18"),
        ] {
            assert_eq!(key(&format!(" Id={value} "), None).as_deref(), Ok(read), "{value}");
        }
    }

    #[test]
    fn the_key_has_the_order_of_the_named_columns() {
        let text = "day = '2026-11-18' and \"Region\" = 'a:b\\' AND ID = 17 AND extra = 1";
        assert_eq!(key(text, Some("id, \"Region\",DAY")).as_deref(), Ok("17:a\\:b\\\\:2026-11-18"));
        assert_eq!(key(text, Some("day")).as_deref(), Ok("2026-11-18"), "other columns do not matter");
        let missing = key(text, Some("id,region,day,hour")).unwrap_err();
        assert!(missing.contains("no value for region, hour"), "a quoted name is another: {missing}");
        assert!(key(text, None).unwrap_err().contains("do not record the names"));
    }

    #[test]
    fn what_is_no_equality_is_refused() {
        for (text, why) in [
            ("", "at the end"),
            ("id", "only id = VALUE"),
            ("id > 5", "only id = VALUE"),
            ("id IN (1)", "only id = VALUE"),
            ("id = ", "at the end"),
            ("id = x", "single quotes, not 'x'"),
            ("id = null", "not 'null'"),
            ("id = ?", "before '?'"),
            ("id = 'x", "a ' is not closed"),
            ("\"id = 5", "a \" is not closed"),
            ("id = 0xfg", "not '0xfg'"),
            ("id = 1-2", "not '1-2'"),
            ("id = 1 OR b = 2", "expected AND, not 'OR'"),
            ("id = 1;", "expected AND before ';'"),
            ("id = 1 AND", "at the end"),
            ("id = 1 AND ID = 2", "id has two values"),
            ("1 = 1", "name of a column, not '1'"),
        ] {
            let refused = key(text, None).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
        for names in ["", "a,", "a b", "a,a"] {
            assert!(key("a = 1", Some(names)).is_err(), "{names}");
        }
    }
}
