//! `portcullis explain`: the stages between a policy and the SQL, for the store and for a caller's database.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its program has failed")]

use portcullis_testkit::program::portcullis;
use std::fs;

/// Roles on folders in folders; a document is of a folder.
const POLICY: &str = r#"actor User {}
resource Folder {
  roles = ["reader", "editor"];
  relations = { parent: Folder };
  "reader" if "editor";
  role if role on "parent";
}
resource Document {
  permissions = ["read"];
  relations = { folder: Folder };
  "read" if "reader" on "folder" and not is_blocked(actor, resource);
}
"#;

const BINDINGS: &str = "dialect: postgresql
facts:
  has_relation(Document:_, folder, Folder:_):
    query: SELECT id, folder_id FROM documents
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT id, parent_id FROM folders
sql_types: {Document: bigint, Folder: bigint}
tables:
  Document: documents.id
";

const FACTS: &str = "has_role(User:ada, \"editor\", Folder:1)\nis_blocked(User:ada, Document:13)\n";

const QUESTION: &str = r#"allow(User:ada, "read", Document:?)"#;

/// The sections that the command prints: each title with its text.
fn explained(policy: &str, bindings: &str, args: &[&str]) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("policy.polar", policy), ("bindings.yaml", bindings), ("facts.txt", FACTS)] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let args = [&["explain", "policy.polar", QUESTION], args].concat();
    let output = portcullis(folder.path()).args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let sections = printed.split("\n== ").map(|section| section.trim_start_matches("== "));
    let titled = |section: &str| {
        let (title, text) = section.split_once(" ==\n\n").unwrap();
        (title.to_owned(), text.to_owned())
    };
    sections.map(titled).collect()
}

fn titles(sections: &[(String, String)]) -> Vec<&str> {
    sections.iter().map(|(title, _)| title.as_str()).collect()
}

#[test]
fn a_local_question_goes_through_the_same_stages_as_a_hosted_one() {
    let bindings = ["--bindings", "bindings.yaml", "--facts", "facts.txt", "--filter", "documents.id"];
    let sections = |args: &[&str]| explained(POLICY, BINDINGS, args);
    let (hosted, local) = (sections(&["--dialect", "postgresql"]), sections(&bindings));
    let rules = ["the policy as typed rules", "the rules of this question"];
    let passes = ["after unfold", "after merge-literals", "in the order of evaluation", "the plan"];
    let of_hosted = [&rules[..], &passes, &["the SQL"]].concat();
    assert_eq!(titles(&hosted), of_hosted);
    let read =
        ["the rules that took part", "the bindings that are read", "the rows of stored facts in the SQL"];
    let of_local = ["what the store is asked, and what is left", "the plan with values and stored rows"];
    let optimised = ["after ask-row", "after show-row", "after row-sets"];
    let made = [
        "the sets that the SQL makes",
        "what it looks up for each row",
        "what is slow on a large database",
        "notes",
        "the SQL for postgresql",
    ];
    assert_eq!(titles(&local), [&read[..], &rules, &passes, &of_local, &optimised, &made].concat());
    let (_, row_sets) = local.iter().find(|(title, _)| title == "after row-sets").unwrap();
    assert!(
        row_sets.starts_with("-- turns a filter's conditions that start from the actor into sets"),
        "{row_sets}"
    );
    assert!(row_sets.contains("where t5.1 in (t4.0) from pc1_has_role t4"), "{row_sets}");
}

/// A document that is granted and is in no folder 7: the condition on the granted document needs no row of
/// the table, and the one on its folder sees one. So over a column that is not the promised one, the
/// passes that make conditions on a row are given up.
#[test]
fn passes_that_were_given_up_are_not_shown() {
    let guarded = "granted(actor, resource) and not has_relation(resource, \"folder\", Folder{\"7\"})";
    let policy = POLICY.split("  \"read\" if").next().unwrap();
    let policy = format!("{policy}  \"read\" if {guarded};\n}}\n");
    let granted =
        "  granted(User:_, Document:_):\n    query: SELECT user_id, document_id FROM grants\nsql_types:";
    let bindings = BINDINGS.replace("sql_types:", granted);
    let over =
        |column: &str| explained(&policy, &bindings, &["--bindings", "bindings.yaml", "--filter", column]);
    let passes = |sections: &[(String, String)]| {
        let passes = titles(sections).into_iter().filter(|title| title.starts_with("after "));
        passes.map(str::to_owned).collect::<Vec<_>>()
    };
    let setting = |sections: &[(String, String)]| {
        let choice = sections.iter().find(|(title, _)| title == "what the filter is optimised for");
        choice.map(|(_, text)| text.trim_end().to_owned())
    };
    let (own, other) = (over("documents.id"), over("blocks.document_id"));
    assert_eq!(passes(&own), ["after unfold", "after ask-row", "after show-row", "after row-sets"]);
    assert_eq!(setting(&own), None);
    assert_eq!(passes(&other), ["after unfold", "after sort-alternatives"]);
    let values = "the column's values: a condition needs both the column and a row of the promised table";
    assert_eq!(setting(&other).as_deref(), Some(values));
}
