//! JSON in the one form that is hashed: keys sorted, no spaces, integers only, escapes as in RFC 8785 section 3.2.2.2.

use serde_json::Value;

/// The canonical text of a value; `None` when it holds a number that is not an integer.
pub(super) fn canonical(value: &Value) -> Option<String> {
    let mut out = String::new();
    write(value, &mut out)?;
    Some(out)
}

fn write(value: &Value, out: &mut String) -> Option<()> {
    match value {
        Value::Number(number) if number.is_f64() => return None,
        Value::Array(items) => list(items.iter(), ['[', ']'], out, write)?,
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            list(keys.into_iter(), ['{', '}'], out, |key, out| {
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write(map.get(key)?, out)
            })?;
        }
        plain => out.push_str(&plain.to_string()),
    }
    Some(())
}

fn list<T>(
    items: impl Iterator<Item = T>,
    [open, close]: [char; 2],
    out: &mut String,
    mut each: impl FnMut(T, &mut String) -> Option<()>,
) -> Option<()> {
    out.push(open);
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(',');
        }
        each(item, out)?;
    }
    out.push(close);
    Some(())
}
