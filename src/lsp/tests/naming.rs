//! What each name means.

use crate::lsp::document::OpenDocument;
use crate::lsp::names::{Named, Names, OccurrenceKind};

/// The lines and texts of all names that mean what the first one in a text means; definitions have `!`.
fn same(policy: &str, text: &str) -> String {
    let document = OpenDocument::of("p", policy.to_owned());
    let names = Names::of(&document.policy);
    let byte = policy.find(text).unwrap();
    let meant: Vec<Named<'_>> = names.at(byte + 1).map(|name| name.named).collect();
    let same = names.found.iter().filter(|name| meant.contains(&name.named));
    let shown = same.map(|name| {
        let line = document.source.locate(name.span).line;
        format!(
            "{line}{} {}",
            match name.kind {
                OccurrenceKind::Definition => "!",
                OccurrenceKind::Reference => "",
            },
            document.source.snippet(name.span)
        )
    });
    shown.collect::<Vec<_>>().join(", ")
}

const POLICY: &str = r#"actor User {}
resource Org { roles = ["admin"]; }
resource Base { roles = ["reader", "admin"]; relations = { org: Org }; "reader" if "admin" on "org"; }
resource Repo extends Base { "admin" if "reader"; }
resource Fork extends Base { roles = ["reader"]; "reader" if "admin" on "org"; }
p(u: User, r: Repo) if has_role(u, "reader", r) and has_relation(r, "org", o) and has_role(u, "admin", o);
q(u: User, r) if has_role(u, "admin", r);
s(u: User, n, o: Org) if has_role(u, n, o) and n in ["admin", "x"];
"#;

#[test]
fn a_declaration_is_one_thing_in_all_blocks_that_inherit_it() {
    let reader = "3! \"reader\", 3 \"reader\", 4 \"reader\", 5! \"reader\", 5 \"reader\", 6 \"reader\"";
    assert_eq!(same(POLICY, "\"reader\", \"admin\"]"), reader);
    assert_eq!(same(POLICY, "org: Org"), "3! org, 3 \"org\", 5 \"org\", 6 \"org\"");
}

#[test]
fn a_string_of_a_built_in_predicate_is_a_name_of_its_resources_block() {
    let org = "2! \"admin\", 3 \"admin\", 5 \"admin\", 6 \"admin\", 7 \"admin\", 8 \"admin\"";
    assert_eq!(same(POLICY, "\"admin\"];"), org);
    // Without a type it may be of either block.
    assert_eq!(same(POLICY, "\"admin\" if \"reader\""), "3! \"admin\", 4 \"admin\", 7 \"admin\"");
}

#[test]
fn a_variable_belongs_to_its_statement() {
    assert_eq!(same(POLICY, "r: Repo"), "6 r, 6 r, 6 r");
    assert_eq!(
        same("test fixture f {} test \"t\" { setup { fixture f; } assert p(x: A) iff q(x); }", "x: A"),
        "1 x, 1 x"
    );
}
