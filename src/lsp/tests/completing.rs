//! What is offered at a position.

use super::at;
use crate::lsp::completion;

/// The first blocks of a policy, with an error.
const BLOCKS: &str = r#"
actor User {}
global { roles = ["root"]; permissions = ["audit"]; }
resource Org { roles = ["owner", "guest"]; permissions = ["invite"]; }
resource Base { roles = ["reader"]; relations = { org: Org, author: User }; "reader" if "nobody"; }
"#;

/// The first names offered at `^`.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let text = format!("{BLOCKS}{text}");
    let (document, position) = at(&text);
    let found = completion::items(&document, position);
    let found: Vec<&str> = found.iter().map(|item| item.label.as_str()).take(expected.len().max(1)).collect();
    assert_eq!(found, expected, "{text}");
}

/// All names offered at `^`.
#[track_caller]
fn check_all(text: &str, expected: &[&str]) {
    let text = format!("{BLOCKS}{text}");
    let (document, position) = at(&text);
    let found = completion::items(&document, position);
    let found: Vec<&str> = found.iter().map(|item| item.label.as_str()).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn a_block_offers_what_it_inherits_after_its_own() {
    check_all(
        "resource Repo extends Base { roles = [\"writer\"]; relations = { parent: Repo }; \"writer\" if \"^",
        &["writer", "parent", "reader", "org", "author", "owner", "guest", "invite"],
    );
    check_all("resource Repo extends Base { \"reader\" if \"owner\" on \"^\"; }", &["org", "author"]);
    check_all("resource Repo extends Base { \"x\" if global \"^", &["root", "audit"]);
}

#[test]
fn before_on_there_are_the_names_of_the_related_block() {
    let org = ["owner", "guest", "invite"];
    check_all("resource Repo extends Base { \"reader\" if \"^\" on \"org\"; }", &org);
    check_all("resource Repo extends Base { \"reader\" if \"^ on \"org\"; }", &org);
    check_all("resource Repo extends Base {\n  \"reader\" if\n    \"ow^\"\n    on \"org\";\n}", &org);
    // A relation without a block leads to no names.
    check_all("resource Repo { relations = { x: Nothing }; \"reader\" if \"^\" on \"x\"; }", &[]);
}

#[test]
fn after_on_the_relations_that_lead_to_the_name_come_first() {
    check_all(
        "resource Repo { relations = { author: User, org: Org };\n \"x\" if \"owner\" on # here\n \"^",
        &["org", "author"],
    );
}

#[test]
fn a_string_in_a_call_is_a_name_of_its_resources_block() {
    check_all("allow(u: User, \"^\", o: Org) if", &["invite"]);
    check_all("p(u: User, o: Org) if has_role(u, \"^\", o);", &["owner", "guest"]);
    check_all("p(u: User, o) if o matches Org and has_role(u, \"^", &["root", "owner", "guest", "reader"]);
    check_all("p(b: Base) if has_relation(b, \"^", &["org", "author"]);
    check_all("p(u) if has_role(u, \"^\");", &["root"]);
    check_all("test \"t\" { setup { has_role(User{\"a\"}, \"^\", Base{\"b\"}); } }", &["reader"]);
    check_all("resource Repo extends Base { \"x\" if has_role(actor, \"^\", resource); }", &["reader"]);
}

#[test]
fn nothing_is_offered_for_ids_new_names_and_comments() {
    for text in [
        "test \"^",
        "p(User{\"^",
        "has_role(User{\"^\"}, \"owner\", Org{\"o\"});",
        "resource R { roles = [\"^",
        "# \"^",
    ] {
        check_all(text, &[]);
    }
}

#[test]
fn variables_of_the_statement_come_before_other_words() {
    check("p(user: User, repo: Base) if q(^", &["user", "repo", "actor"]);
    check("p(user: User) if q(^) and r(x, User{\"u\"}) and y = 1;", &["user", "x", "y", "actor"]);
    check("r(a, b);\np(user: User) if\n  user matches User and\n  q(^", &["user", "actor"]);
    check("resource R { \"x\" if q(^", &["resource", "actor", "roles"]);
    check("test \"t\" { assert p(u: User) iff q(^", &["u", "setup"]);
    check("test fixture f { q(^", &["fixture", "allow"]);
}

#[test]
fn types_and_extended_blocks() {
    check_all("resource Repo extends ^", &["Org", "Base"]);
    check_all("resource Repo extends Base, ^ {}", &["Org", "Base"]);
    check("p(u: ^", &["User", "Org", "Base", "String"]);
    check("p(u) if u matches ^", &["User", "Org"]);
    check("declare p(User, ^", &["User", "Org"]);
    check("test fixture f {} test \"t\" { setup { fixture ^", &["f"]);
}
