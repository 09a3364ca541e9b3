//! Which rates to set for the tables of a node, as CQL.

use super::plan::CassandraTablePlan;
use super::rates::row;
use crate::database::{Curves, Share};
use crate::next::{Even, Next, Spread, Step, WORTHWHILE};
use crate::plan::PlaceWish;
use crate::report::Found;

/// Round rates to choose from, from the lowest; Cassandra takes none below 6.71e-5.
pub(super) const ROUND: [f64; 17] = [
    0.0001, 0.00015, 0.0002, 0.0003, 0.0005, 0.0007, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.007, 0.01, 0.02,
    0.03, 0.05, 0.1,
];

/// Chooses a rate for each table that has a name to type and whose keys are all known, and puts it into the
/// plan. The others keep their filters, and the memory of these.
pub(super) fn choose(tables: &mut [Found<CassandraTablePlan>], wish: &PlaceWish) -> Next {
    let names: Vec<Option<String>> =
        tables.iter().map(|table| cql_name(&table.record).filter(|_| table.record.is_counted())).collect();
    let (own, others): (Vec<usize>, Vec<usize>) = (0..tables.len()).partition(|i| names[*i].is_some());
    if own.is_empty() {
        return Next::default();
    }
    let now = |i: &usize| &tables[*i].record.now;
    let others_bytes: u64 = others.iter().map(|i| now(i).memory_bytes).sum();
    let own_bytes: u64 = own.iter().map(|i| now(i).memory_bytes).sum();
    let budget = wish.memory.map_or(own_bytes, |memory| memory.saturating_sub(others_bytes));
    let curve = |i: &usize| -> Vec<Share> {
        ROUND.iter().rev().filter_map(|fpr| share(&tables[*i].record, *fpr)).collect()
    };
    let curves = Curves::of(own.iter().map(curve).collect());
    let spread = |shares: &[Share]| Spread {
        bytes: shares.iter().map(|share| share.bytes).sum::<u64>() + others_bytes,
        useless_reads: shares.iter().map(|share| share.useless_reads).sum::<f64>() / own.len() as f64,
    };
    let even = curves.equal_step(budget).map(|step| Even {
        value: ROUND[ROUND.len() - 1 - step],
        spread: spread(&curves.at(&vec![step; own.len()])),
    });
    let chosen: Vec<f64> = match wish.fpr {
        Some(fpr) => vec![fpr; own.len()],
        None => match curves.optimal_steps(budget) {
            Some(steps) => steps.iter().map(|step| ROUND[ROUND.len() - 1 - step]).collect(),
            None => return Next { even, ..Next::default() },
        },
    };
    let shares: Vec<Share> =
        own.iter().zip(&chosen).filter_map(|(i, fpr)| share(&tables[*i].record, *fpr)).collect();
    if shares.len() < own.len() {
        return Next::default(); // Cassandra's rule refuses the rate, which is reported elsewhere
    }
    let planned = spread(&shares);
    let reads_now: f64 =
        own.iter().map(|i| now(i).useless_reads.unwrap_or(0.0)).sum::<f64>() / own.len() as f64;
    let is_asked = wish.fpr.is_some() || wish.memory.is_some();
    if !is_asked && planned.useless_reads > reads_now * (1.0 - WORTHWHILE) {
        return Next::default();
    }
    let mut next = Next {
        planned: Some(planned),
        even: even.filter(|_| wish.fpr.is_none() && own.len() > 1),
        ..Next::default()
    };
    for ((i, fpr), share) in own.iter().zip(&chosen).zip(&shares) {
        let table = &mut tables[*i].record;
        table.planned_fpr = Some(*fpr);
        if table.now.recorded_fpr == Some(*fpr) {
            continue;
        }
        let name = names[*i].clone().unwrap_or_default();
        next.steps.push(Step {
            command: format!("ALTER TABLE {name} WITH bloom_filter_fp_chance = {fpr};"),
            name,
            bytes_now: table.now.memory_bytes,
            bytes_then: share.bytes,
            useless_reads_now: table.now.useless_reads.unwrap_or(0.0),
            useless_reads_then: share.useless_reads,
        });
    }
    next.sort();
    let mut keyspaces: Vec<(&str, Vec<&str>)> = Vec::new();
    for i in own {
        let table = &tables[i].record;
        let (Some(keyspace), Some(name)) = (&table.keyspace, &table.table) else { continue };
        if table.planned_fpr == table.now.recorded_fpr {
            continue;
        }
        match keyspaces.iter_mut().find(|(known, _)| known == keyspace) {
            Some((_, names)) => names.push(name),
            None => keyspaces.push((keyspace, vec![name])),
        }
    }
    let upgrade = |(keyspace, names): &(&str, Vec<&str>)| {
        format!("nodetool upgradesstables -a {keyspace} {}", names.join(" "))
    };
    next.after = keyspaces.iter().map(upgrade).collect();
    next
}

/// What a rate costs a table; `None` if Cassandra's rule does not take it.
fn share(table: &CassandraTablePlan, fpr: f64) -> Option<Share> {
    let row = row(&table.parts, fpr).ok()?;
    Some(Share {
        bits_per_key: row.bits_per_key.into(),
        bytes: row.memory_bytes,
        expected_fpr: row.expected_fpr,
        useless_reads: row.useless_reads.unwrap_or(0.0),
    })
}

/// The name as CQL has it; `None` for a table that cannot be altered: one of the system, an index, or one whose
/// name is not known.
fn cql_name(table: &CassandraTablePlan) -> Option<String> {
    let (keyspace, name) = (table.keyspace.as_deref()?, table.table.as_deref()?);
    let is_own = !keyspace.starts_with("system") && !name.contains('.');
    is_own.then(|| format!("{}.{}", quoted(keyspace), quoted(name)))
}

/// Words that Cassandra 3.11 to 5.0 take for a name only in quotes, as their parsers say (interop/cassandra).
const RESERVED: [&str; 62] = [
    "add",
    "allow",
    "alter",
    "and",
    "apply",
    "asc",
    "authorize",
    "batch",
    "begin",
    "by",
    "columnfamily",
    "create",
    "default",
    "delete",
    "desc",
    "describe",
    "drop",
    "entries",
    "execute",
    "from",
    "full",
    "grant",
    "if",
    "in",
    "index",
    "infinity",
    "insert",
    "into",
    "is",
    "keyspace",
    "limit",
    "materialized",
    "mbean",
    "mbeans",
    "modify",
    "nan",
    "norecursive",
    "not",
    "null",
    "of",
    "on",
    "or",
    "order",
    "primary",
    "rename",
    "replace",
    "revoke",
    "schema",
    "select",
    "set",
    "table",
    "to",
    "token",
    "truncate",
    "unlogged",
    "unset",
    "update",
    "use",
    "using",
    "view",
    "where",
    "with",
];

/// An identifier of CQL. Reserved words and names with other characters than these need quotes, and have them
/// in CQL only.
fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'))
        && !RESERVED.contains(&name);
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_cql_takes_them_and_what_cannot_be_altered_has_none() {
        let name = |keyspace: &str, table: &str| {
            cql_name(&CassandraTablePlan {
                keyspace: Some(keyspace.to_owned()),
                table: Some(table.to_owned()),
                ..CassandraTablePlan::default()
            })
        };
        assert_eq!(name("shop", "orders_2").as_deref(), Some("shop.orders_2"));
        assert_eq!(name("Shop", "2orders").as_deref(), Some("\"Shop\".\"2orders\""));
        assert_eq!(name("key", "order").as_deref(), Some("key.\"order\""));
        assert_eq!(name("a", "b\"c").as_deref(), Some("a.\"b\"\"c\""));
        assert_eq!(name("system_schema", "tables"), None);
        assert_eq!(name("shop", "orders.by_day"), None);
        assert_eq!(cql_name(&CassandraTablePlan::default()), None);
    }
}
