//! What a caller writes into the SQL of local checks itself, columns of filters and data-bindings documents:
//! one expression, one query, one name each.

use super::injection_local::{PARENTS, World, is_harmless, listed};
use portcullis_testkit::hostile_texts::TEXTS;
use serde_json::json;

/// What an attacker may pass as the column of a filter, in the hope of more rows or of another statement.
const COLUMNS: &[&str] = &[
    "docs.id; DROP TABLE canary",
    "docs.id; DROP TABLE canary; --",
    "docs.id) OR (1 = 1",
    "docs.id)) OR ((1 = 1",
    "docs.id IN ('x')) OR (TRUE",
    "1 = 1 OR docs.id",
    "TRUE OR docs.id",
    "docs.id = docs.id OR docs.id",
    "NOT docs.id",
    "docs.id IS NOT NULL OR docs.id",
    "docs.id -- ",
    "docs.id --\n",
    "docs.id /*",
    "docs.id */ OR 1 = 1 /*",
    "docs.id /* x */",
    "docs.id #",
    "docs.id UNION SELECT id FROM canary",
    "docs.id FROM docs; DELETE FROM canary; SELECT docs.id",
    "(DELETE FROM canary RETURNING id)",
    "(SELECT 'plans'); DROP TABLE canary; SELECT (1",
    "docs.id BETWEEN 'a' AND 'z' OR docs.id",
    "docs.id AND docs.id",
    "docs.id, docs.id",
    "docs.id AS x",
    "docs.id LIMIT 1",
    "docs.id\u{0}",
    "docs.id $1",
    "docs.id ?1",
    "docs.id :x",
    "$$plans$$ OR 1 = 1 OR $$x$$",
    "docs.id'",
    "docs.id\"",
    "docs.id`",
    "docs.id]",
    "docs.id\\",
];

#[test]
fn a_column_of_a_filter_is_one_expression() {
    let world = World::new();
    for caller in &world.callers {
        for column in ["docs.id", "id", "\"docs\".\"id\"", "lower(docs.id)"] {
            let filter = world.filter(caller, "ada", column, PARENTS).unwrap();
            let mut found = listed(caller, &filter).unwrap();
            found.sort();
            assert_eq!(found, ["draft", "plans"], "{filter}");
        }
        let mut n_refused = 0;
        for column in COLUMNS.iter().chain(TEXTS) {
            let Ok(filter) = world.filter(caller, "ada", column, PARENTS) else {
                n_refused += 1;
                continue;
            };
            is_harmless(caller, &format!("SELECT id FROM docs WHERE {filter}"));
            is_harmless(caller, &format!("DELETE FROM docs WHERE 1 = 0 AND {filter}"));
            // The database may refuse it. What it takes grants nothing that the column itself does not hold.
            if let Ok(found) = listed(caller, &filter) {
                assert!(
                    found.iter().all(|id| id == "plans" || id == "draft"),
                    "{column:?}: {found:?}\n{filter}"
                );
            }
        }
        assert!(n_refused > COLUMNS.len(), "{n_refused} columns were refused");
    }
    world.service.stop();
}

/// Queries of a document that are more than one query, or none.
const QUERIES: &[&str] = &[
    "SELECT id, parent FROM docs; DROP TABLE canary",
    "SELECT id, parent FROM docs; DROP TABLE canary; --",
    "DROP TABLE canary",
    "DELETE FROM canary RETURNING id, id",
    "WITH gone AS (DELETE FROM canary RETURNING id) SELECT id, id FROM gone",
    "UPDATE canary SET id = 'gone' RETURNING id, id",
    "INSERT INTO canary VALUES ('new') RETURNING id, id",
    "SELECT id, parent INTO stolen FROM docs",
    "SELECT id, parent FROM docs) UNION SELECT id, id FROM canary; --",
    "SELECT id, parent FROM docs FOR UPDATE",
    "COPY canary TO PROGRAM 'true'",
    "COPY (SELECT id, parent FROM docs) TO STDOUT",
    "\\copy canary from program 'true'",
    "DO $$ BEGIN DELETE FROM canary; END $$",
    "CALL x()",
    "EXPLAIN ANALYZE DELETE FROM canary",
    "PRAGMA writable_schema = 1",
    "ATTACH DATABASE 'x' AS y",
    "TRUNCATE canary",
    "BEGIN",
    "COMMIT",
    "SELECT id, parent FROM docs WHERE id = $1",
    "SELECT id, parent FROM docs WHERE id = ?",
    "SELECT id, parent FROM docs WHERE id = :x",
    "SELECT id, parent FROM docs /*",
    "SELECT id, parent FROM docs WHERE id = 'x",
    "",
];

#[test]
fn a_document_holds_queries_and_names() {
    let world = World::new();
    let printable = TEXTS.iter().filter(|text| text.chars().all(|c| !c.is_control()));
    let printable: Vec<&str> = printable.copied().collect();
    for (turn, caller) in world.callers.iter().enumerate() {
        let of_query = |query: &str| {
            format!("facts:\n  \"has_relation(Doc:_, parent, Doc:_)\":\n    query: {}\n", json!(query))
        };
        for query in QUERIES {
            let asked = world.filter(caller, "ada", "docs.id", &of_query(query));
            assert!(asked.is_err(), "{query}: {asked:?}");
        }
        let mut n_taken = 0;
        for (n, text) in printable.iter().enumerate() {
            // A literal of the caller's own, written as both databases write it.
            let literal = format!("'{}'", text.replace('\'', "''"));
            let query = format!("SELECT id, 'plans' FROM docs WHERE note = {literal}");
            if let Ok(filter) = world.filter(caller, "ada", "docs.id", &of_query(&query)) {
                is_harmless(caller, &format!("SELECT id FROM docs WHERE {filter}"));
                let mut found = listed(caller, &filter).unwrap();
                let mut expected = ["plans", text];
                found.sort();
                expected.sort_unstable();
                assert_eq!(found, expected, "{filter}");
                n_taken += 1;
            }
            let documents = [
                format!(
                    "facts:\n  {}:\n    query: SELECT id, 'plans' FROM docs\n",
                    json!(format!("has_relation(Doc:_, {text}, Doc:_)"))
                ),
                format!(
                    "facts:\n  {}:\n    query: SELECT id, 'plans' FROM docs\n",
                    json!(format!("{text}(Doc:_, parent, Doc:_)"))
                ),
                format!(
                    "facts:\n  {}:\n    query: SELECT 'plans' FROM docs\n",
                    json!(format!("has_relation(Doc:{text}, parent, Doc:_)"))
                ),
                format!("{PARENTS}sql_types:\n  Doc: {}\n", json!(text)),
                format!("{PARENTS}sql_types:\n  {}: integer\n", json!(text)),
                (*text).to_owned(),
            ];
            // Each second one here, the others on the other database.
            for document in documents.into_iter().skip((n + turn) % 2).step_by(2) {
                let Ok(filter) = world.filter(caller, "ada", "docs.id", &document) else { continue };
                is_harmless(caller, &format!("SELECT id FROM docs WHERE {filter}"));
                if let Ok(found) = listed(caller, &filter) {
                    let is_meant = |id: &String| id == "plans" || id == "draft" || id == text;
                    assert!(found.iter().all(is_meant), "{document}: {found:?}\n{filter}");
                }
            }
        }
        assert!(n_taken > printable.len() / 2, "{n_taken} literals");
    }
    world.service.stop();
}
