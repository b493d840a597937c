//! What `/explain_query` says of a text: the sets that it makes, what it looks up for each row, and what is
//! slow. Each is kept under `snapshots/local`, next to the text that it is about.

use super::catalogue::{DOCUMENT, POLICY, patterns};
use super::service::{Service, shape};
use portcullis::engine::{LocalExplanation, LocalProbe, LocalSet, LocalSlow};
use portcullis_testkit::local::ways::Way;

/// The explanation of a list, as text.
fn explained(service: &Service, column: &str) -> String {
    let question = "allow(User:1, \"read\", Document:?)";
    text(&service.explain_over(question, Way::List, column))
}

fn text(explanation: &LocalExplanation) -> String {
    let LocalExplanation { sets, probes, slow, sql, .. } = explanation;
    let named = |name: &Option<String>| name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    let set = |LocalSet { name, holds: _, kind, why, reads }: &LocalSet| {
        format!("set: {kind}{} of {}\n  {why}\n", named(name), reads.join(", "))
    };
    let probe = |LocalProbe { reads, by }: &LocalProbe| {
        format!("for each row: {} by {}\n", reads.join(", "), by.join(", "))
    };
    let slow_part = |LocalSlow { what, help, is_of_rule: _ }: &LocalSlow| {
        format!("slow: {what}\n  help: {}\n", help.as_deref().unwrap_or("-"))
    };
    let parts = sets.iter().map(set).chain(probes.iter().map(probe)).chain(slow.iter().map(slow_part));
    format!("{}\n{sql}", parts.collect::<String>())
}

fn service(pattern: &str, document: &str) -> Service {
    let pattern = patterns().find(|known| known.shape == pattern).unwrap();
    Service::new(&pattern.policy(), "", document)
}

#[test]
fn an_array_and_a_row_of_its_own_are_fast() {
    let explained = explained(&service("pattern-own-or-viewed", DOCUMENT), "documents.id");
    assert!(!explained.contains("slow: "), "{explained}");
    shape("explained-array", &explained);
}

#[test]
fn a_look_up_for_each_row_is_named_with_its_column() {
    let explained = explained(&service("pattern-denied-alternatives", DOCUMENT), "documents.id");
    assert!(explained.contains("for each row: archived(Folder:_) by folders.id"), "{explained}");
    shape("explained-probe", &explained);
}

#[test]
fn a_missing_promise_is_named() {
    let document = DOCUMENT.split("tables:").next().unwrap();
    let explained = explained(&service("pattern-own-or-viewed", document), "documents.id");
    assert!(explained.contains("add `Document: documents.id` under `tables`"), "{explained}");
    shape("explained-no-promise", &explained);
}

#[test]
fn a_column_that_is_not_the_promised_one_is_named() {
    let explained = explained(&service("pattern-own-or-viewed", DOCUMENT), "id");
    assert!(explained.contains("help: ask for the column `documents.id`"), "{explained}");
}

#[test]
fn a_missing_type_is_named_for_each_column() {
    let document = DOCUMENT.split("sql_types:").next().unwrap();
    let explained = explained(&service("pattern-own-or-viewed", document), "documents.id");
    assert!(explained.contains("the filter's column is compared through a cast to text"), "{explained}");
    assert!(explained.contains("add the SQL type of the ids of Folder under `sql_types`"), "{explained}");
    shape("explained-no-types", &explained);
}

#[test]
fn no_pattern_reads_a_recursion_for_each_row() {
    for pattern in patterns() {
        let explained = explained(&service(pattern.shape, DOCUMENT), "documents.id");
        assert!(!explained.contains("reads the recursion"), "{explained}");
    }
}

/// Two columns of the recursion are compared with values of the row.
#[test]
fn a_recursion_that_is_read_for_each_row_is_slow() {
    let rule = r#"
has_permission(u: User, "read", d: Document) if has_relation(d, "owner", u) and not misplaced(d);
misplaced(d: Document) if has_relation(d, "folder", f) and size(d, s) and near(f, s);
near(f: Folder, s: Integer) if quota(_, f, "edit", s);
near(f: Folder, s: Integer) if has_relation(f, "parent", p) and near(p, s);"#;
    let policy = POLICY.replace("SHORTHAND", "").replace("RULE", rule);
    let explained = explained(&Service::new(&policy, "", DOCUMENT), "documents.id");
    assert!(explained.contains("slow: a test of each row that reads the recursion"), "{explained}");
    shape("explained-tested-recursion", &explained);
}

/// A policy of the catalogue's words with one rule of its own.
fn with_rule(shorthand: &str, rule: &str, document: &str) -> String {
    let policy = POLICY.replace("SHORTHAND", shorthand).replace("RULE", rule);
    explained(&Service::new(&policy, "", document), "documents.id")
}

#[test]
fn an_alternative_for_every_row_is_slow_beside_others() {
    let staff = r#"has_permission(u: User, "read", _: Document) if staff(u);"#;
    let beside = with_rule(r#""read" if "owner";"#, staff, DOCUMENT);
    let slow = "slow: an alternative that lets every row pass or none, which `staff(User:_)` decides";
    assert!(beside.contains(slow), "{beside}");
    let editor = r#"has_permission(u: User, "read", _: Document) if has_role(u, "editor", Folder{"1"});"#;
    for for_all in [staff.to_owned(), format!("{staff}\n{editor}")] {
        let alone = with_rule("", &for_all, DOCUMENT);
        assert!(!alone.contains("slow: "), "{alone}");
    }
}

/// A guard that is inherited starts from the documents that the actor may read. A block has their ids alone,
/// so that their rows are looked up.
#[test]
fn ids_that_are_listed_before_a_row_is_tested_are_named() {
    let rule = r#"
shut(f: Folder) if archived(f);
shut(f: Folder) if has_relation(f, "parent", p) and shut(p);
has_permission(u: User, "read", d: Document) if blocked(d, u);
allow(u: User, a: String, d: Document) if has_permission(u, a, d) and has_relation(d, "folder", f) and not shut(f);"#;
    let explained = with_rule(r#""read" if "read" on "folder";"#, rule, DOCUMENT);
    let tables = explained.lines().filter_map(|line| line.strip_prefix("set: table "));
    let names: Vec<&str> = tables.filter_map(|rest| rest.split(' ').next()).collect();
    let [name] = names.as_slice() else { panic!("{explained}") };
    assert!(explained.contains(&format!("slow: the ids in `{name}` are all listed first")), "{explained}");
}

/// The folders of one's own documents are read from the table of documents, and are no documents.
#[test]
fn a_set_of_other_ids_is_no_list_of_the_filters() {
    let rule = r#"
mine(u: User, f: Folder) if has_relation(d, "owner", u) and d matches Document and has_relation(d, "folder", f);
has_permission(u: User, "read", d: Document) if
  has_relation(d, "folder", f) and (mine(u, f) and archived(f) or has_relation(f, "parent", p) and mine(u, p));"#;
    let explained = with_rule("", rule, DOCUMENT);
    assert!(explained.contains("has_relation(Document:_, owner, User:_)"), "{explained}");
    assert!(!explained.contains("are all listed first"), "{explained}");
}

#[test]
fn a_bound_query_that_hides_the_rows_columns_is_named() {
    let join = "SELECT d.id, f.id FROM documents d JOIN folders f ON f.id = d.folder_id";
    let document = DOCUMENT.replacen("SELECT id, folder_id FROM documents\n", &format!("{join}\n"), 1);
    let explained = with_rule(r#""read" if "read" on "folder";"#, "", &document);
    let key =
        "`has_relation(Document:_, folder, Folder:_)` has a query that is more than columns of `documents`";
    assert!(explained.contains(&format!("slow: {key}")), "{explained}");
    // It has no id of a document.
    let parents = "SELECT folder_id, parent_id FROM parents\n";
    let other = "SELECT p.folder_id, p.parent_id FROM parents p JOIN documents d ON d.id = p.folder_id\n";
    assert!(DOCUMENT.contains(parents), "{DOCUMENT}");
    let explained = with_rule(r#""read" if "read" on "folder";"#, "", &DOCUMENT.replacen(parents, other, 1));
    assert!(!explained.contains("more than columns of"), "{explained}");
}

/// Each is said once, however many bound queries have the column.
#[test]
fn no_slow_part_is_repeated() {
    let document = DOCUMENT.split("sql_types:").next().unwrap();
    let mut n_said_in_all = 0;
    for pattern in patterns() {
        let service = service(pattern.shape, document);
        let question = "allow(User:1, \"read\", Document:?)";
        let slow = service.explain_over(question, Way::List, "documents.id").slow;
        let mut said: Vec<&str> = slow.iter().map(|part| part.what.as_str()).collect();
        said.sort_unstable();
        let n_said = said.len();
        said.dedup();
        assert_eq!(said.len(), n_said, "{}: {slow:?}", pattern.shape);
        n_said_in_all += n_said;
    }
    assert!(n_said_in_all > patterns().count(), "{n_said_in_all} slow parts");
}

const TREE: &str = r#"
actor User {}
resource Folder { relations = { parent: Folder }; }
resource Document { permissions = ["read"]; relations = { folder: Folder }; }
has_permission(u: User, "read", d: Document) if has_relation(d, "folder", f) and within(f, r) and sees(u, r);
within(f: Folder, r: Folder) if has_relation(f, "parent", r);
within(f: Folder, r: Folder) if within(f, m) and within(m, r);
declare sees(User, Folder);
"#;

const TREE_DOCUMENT: &str = "
facts:
  has_relation(Document:_, folder, Folder:_):
    query: SELECT id, folder_id FROM documents
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT id, parent_id FROM folders
sql_types: { User: integer, Document: integer, Folder: integer }
tables: { Document: documents.id }
";

/// The actor's folders are stored: they are read from the actor, or from the rows' folders.
#[test]
fn stored_facts_are_followed_from_one_end() {
    let service = Service::new(TREE, "sees(User:1, Folder:1)\nsees(User:2, Folder:2)", TREE_DOCUMENT);
    let explanation = service.explain_over("allow(User:1, \"read\", Document:?)", Way::List, "documents.id");
    let kinds: Vec<&str> = explanation.sets.iter().map(|set| set.kind).collect();
    assert!(kinds.contains(&"recursion"), "{explanation:?}");
    shape("explained-recursion", &text(&explanation));
}

/// Keys lead to one row: a document's folder is no set, unless the key is not promised.
#[test]
fn a_row_that_keys_lead_to_is_no_array() {
    let policy = "actor User {}\nresource Folder {}\nresource Document {}\n\
        opens(u: User, d: Document) if has_relation(d, \"folder\", f) and holds(u, f);\n\
        declare holds(User, Folder);\n\
        declare has_relation(Document, String, Folder);";
    let promised = TREE_DOCUMENT.replace(
        "  has_relation(Folder:_, parent, Folder:_):\n    query: SELECT id, parent_id FROM folders\n",
        "  holds(User:_, Folder:_):\n    query: SELECT user_id, folder_id FROM holders\n",
    );
    let unpromised = promised.split("tables:").next().unwrap();
    for (document, kind) in [(promised.as_str(), "row"), (unpromised, "array")] {
        let service = Service::new(policy, "", document);
        let explanation = service.explain_over("opens(User:1, Document:1)", Way::Select, "");
        let kinds: Vec<&str> = explanation.sets.iter().map(|set| set.kind).collect();
        assert_eq!(kinds, [kind], "{explanation:?}");
    }
}
