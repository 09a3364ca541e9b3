//! JSON against `docs/json.schema.json`: the keywords that the schema uses, and stricter than it in one
//! point: every field must be listed, so that none is added without being documented.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.schema.json");
    serde_json::from_slice(&fs::read(path).expect("the schema")).expect("the schema is JSON")
});

/// The schema itself.
pub fn schema() -> &'static Value {
    &SCHEMA
}

/// Panics unless the output of a command fits the schema.
#[track_caller]
pub fn check(output: &Value) {
    if let Err(why) = fits(&SCHEMA, output, "") {
        panic!("{why}\nin {output:#}");
    }
}

/// Whether a value fits, or where it does not.
fn fits(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let schema = schema.as_object().expect("a schema is an object");
    for (keyword, rule) in schema {
        let wrong = |why: String| Err(format!("{at}: {why}: {value}"));
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => {}
            "$ref" => {
                let name =
                    rule.as_str().and_then(|name| name.strip_prefix("#/$defs/")).expect("a local name");
                let of = if at.is_empty() { format!("({name})") } else { at.to_owned() };
                fits(&SCHEMA["$defs"][name], value, &of)?;
            }
            "anyOf" => {
                let tried: Vec<_> = list(rule).iter().map(|one| fits(one, value, at)).collect();
                if tried.iter().all(Result::is_err) {
                    let why: Vec<String> = tried.into_iter().filter_map(Result::err).collect();
                    return Err(format!("{at}: fits none of {}:\n{}", why.len(), why.join("\n")));
                }
            }
            "const" if value != rule => return wrong(format!("is not {rule}")),
            "enum" if !list(rule).contains(value) => return wrong("is not in the list".to_owned()),
            "type" => {
                let is = |name: &Value| match name.as_str().expect("the name of a type") {
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    "string" => value.is_string(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    other => panic!("the schema has a type {other}"),
                };
                let names = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                if !names.iter().any(is) {
                    return wrong(format!("is not of type {rule}"));
                }
            }
            "minimum" if value.as_f64() < rule.as_f64() && value.is_number() => {
                return wrong(format!("is less than {rule}"));
            }
            "required" => {
                let missing = |name: &&Value| value.get(name.as_str().expect("a name")).is_none();
                if let Some(name) = list(rule).iter().find(missing) {
                    return wrong(format!("has no {name}"));
                }
            }
            "properties" => {
                for (name, field) in value.as_object().into_iter().flatten() {
                    let Some(rule) = rule.get(name) else {
                        return wrong(format!("{name} is not in the schema"));
                    };
                    fits(rule, field, &format!("{at}.{name}"))?;
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    fits(rule, item, &format!("{at}[{i}]"))?;
                }
            }
            "const" | "enum" | "minimum" => {}
            other => panic!("the schema uses {other}, which is not checked here"),
        }
    }
    Ok(())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}
