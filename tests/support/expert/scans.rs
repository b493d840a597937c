//! What a plan reads from end to end.

use serde_json::Value as Json;
use std::collections::BTreeSet;

/// The tables that a plan, as `EXPLAIN (FORMAT JSON)` has it, reads from end to end: by themselves, or by an
/// index without a condition on it.
pub fn of(plan: &Json) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(plan, &mut found);
    found
}

fn collect(node: &Json, found: &mut BTreeSet<String>) {
    match node {
        Json::Array(nodes) => nodes.iter().for_each(|node| collect(node, found)),
        Json::Object(fields) => {
            let text = |name| fields.get(name).and_then(Json::as_str);
            let is_whole = match text("Node Type") {
                Some("Seq Scan") => true,
                Some("Index Scan" | "Index Only Scan" | "Bitmap Index Scan") => text("Index Cond").is_none(),
                Some(_) | None => false,
            };
            if is_whole {
                // A bitmap names its index only.
                found.extend(text("Relation Name").or(text("Index Name")).map(str::to_owned));
            }
            fields.values().for_each(|node| collect(node, found));
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}
