//! Stored facts that several parts of a text read are in it once, wherever a `WITH` can hold them.

use super::service::{Service, column};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;

/// What nobody has withdrawn is denied on each way; a label is wanted on each way.
const POLICY: &str = r#"
actor User {}
resource Folder {}
resource Document { permissions = ["read", "find"]; relations = { folder: Folder }; }
resource Page { permissions = ["read", "find"]; relations = { document: Document }; }
has_permission(u: User, "read", d: Document) if watches(u, d) and not withdrawn(d);
has_permission(u: User, "read", d: Document) if
  has_relation(d, "folder", f) and reads(u, f) and not withdrawn(d);
has_permission(u: User, "read", p: Page) if
  has_relation(p, "document", d) and has_permission(u, "read", d);
has_permission(u: User, "find", d: Document) if watches(u, d) and label(d, l) and wants(u, l);
has_permission(u: User, "find", d: Document) if
  has_relation(d, "folder", f) and reads(u, f) and label(d, l) and wants(u, l);
has_permission(u: User, "find", p: Page) if
  has_relation(p, "document", d) and has_permission(u, "find", d);
"#;

const DOCUMENT: &str = "
facts:
  has_relation(Document:_, folder, Folder:_):
    query: SELECT id, folder FROM documents
  has_relation(Page:_, document, Document:_):
    query: SELECT id, document_id FROM pages
  watches(User:_, Document:_):
    query: SELECT who, document_id FROM watchers
  reads(User:_, Folder:_):
    query: SELECT who, folder FROM readers
  wants(User:_, String:_):
    query: SELECT who, label FROM wanted
";

const TYPES: &str = "sql_types:\n  Document: integer\n  Page: integer\n";

/// Documents 1 and 2 are watched, 3 and 4 are in the folder; there is a page 10 times its document.
const SCHEMA: &str = "
CREATE TEMPORARY TABLE documents (id INTEGER UNIQUE, folder TEXT);
INSERT INTO documents VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'b'), (5, 'a');
CREATE TEMPORARY TABLE pages (id INTEGER UNIQUE, document_id INTEGER);
INSERT INTO pages VALUES (10, 1), (20, 2), (30, 3), (40, 4), (50, 5), (60, NULL);
CREATE TEMPORARY TABLE watchers (who TEXT, document_id INTEGER);
INSERT INTO watchers VALUES ('ada', 1), ('ada', 2);
CREATE TEMPORARY TABLE readers (who TEXT, folder TEXT);
INSERT INTO readers VALUES ('ada', 'b');
CREATE TEMPORARY TABLE wanted (who TEXT, label TEXT);
INSERT INTO wanted VALUES ('ada', 'red');
";

/// Withdrawn are 2, 3 and many that do not exist; labels are on 2, 3 and many others.
fn service(types: &str) -> Service {
    let fact = |n| format!("withdrawn(Document:{n})\nlabel(Document:{n}, \"l{n}\")\n");
    let many: Vec<String> = (1001..1040).map(fact).collect();
    let some = "withdrawn(Document:2)\nwithdrawn(Document:3)\n\
                label(Document:2, \"red\")\nlabel(Document:3, \"red\")\nlabel(Document:4, \"blue\")\n";
    Service::new(POLICY, &(many.concat() + some), &format!("{DOCUMENT}{types}"))
}

fn caller(dialect: Dialect) -> Caller {
    let caller = Caller::new(dialect).unwrap();
    caller.script(SCHEMA).unwrap();
    caller
}

/// How often a text has the id that only stored facts have.
fn n_copies(sql: &str) -> usize {
    sql.matches("1017").count() - sql.matches("l1017").count()
}

/// Checks and lists of actions are statements, and have one `WITH`.
#[test]
fn a_statement_has_stored_facts_once() {
    for types in ["", TYPES] {
        let service = service(types);
        for dialect in DIALECTS {
            let caller = caller(dialect);
            for (action, page, allowed) in [
                ("read", 10, true),
                ("read", 20, false),
                ("read", 30, false),
                ("read", 40, true),
                ("read", 50, false),
                ("find", 20, true),
                ("find", 30, true),
                ("find", 40, false),
            ] {
                let question = format!("allow(User:ada, \"{action}\", Page:{page})");
                let sql = service.sql_for(dialect, &question, Way::Authorize, "");
                let yes = if dialect == Dialect::Sqlite { "1" } else { "true" };
                assert_eq!(column(&caller, &sql) == yes, allowed, "{question} {types}\n{sql}");
                assert!(n_copies(&sql) == 1, "{question} {types}\n{sql}");
            }
        }
    }
}

/// The set of a filter has a `WITH` of its own.
#[test]
fn a_set_has_stored_facts_once() {
    for types in ["", TYPES, &format!("{TYPES}tables:\n  Page: pages.id\n")] {
        let service = service(types);
        for dialect in DIALECTS {
            let caller = caller(dialect);
            for (action, pages) in [("read", "10 40"), ("find", "20 30")] {
                let question = format!("allow(User:ada, \"{action}\", Page:?)");
                let filter = service.sql_for(dialect, &question, Way::List, "pages.id");
                let sql = format!("SELECT id FROM pages WHERE {filter} ORDER BY id");
                assert_eq!(column(&caller, &sql), pages, "{types}\n{sql}");
                assert!(n_copies(&sql) == 1, "{types}\n{sql}");
            }
        }
    }
}

/// Few values are compared where they are.
#[test]
fn a_short_list_stays_in_its_place() {
    let few: Vec<String> = (1001..1015).map(|n| format!("withdrawn(Document:{n})\n")).collect();
    let service =
        Service::new(POLICY, &(few.concat() + "withdrawn(Document:1017)\n"), &format!("{DOCUMENT}{TYPES}"));
    let sql = service.sql("allow(User:ada, \"read\", Page:10)", Way::Authorize, "");
    assert!(n_copies(&sql) == 2 && !sql.contains("pe1"), "{sql}");
}
