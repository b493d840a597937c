//! What a renaming changes, and why one is refused.

use super::at;
use crate::lsp::document::OpenDocument;
use crate::lsp::position;
use crate::lsp::rename::{prepare, rename};

/// The text after a renaming at `^`, or why there is none.
fn renamed(text: &str, new: &str) -> Result<String, String> {
    let (document, at) = at(text);
    let edits = rename(&document, at, new)?;
    let mut text = document.source.text().to_owned();
    for edit in edits.iter().rev() {
        let [start, end] = [edit.range.start, edit.range.end].map(|at| position::byte(&document.source, at));
        text.replace_range(start..end, &edit.new_text);
    }
    Ok(text)
}

#[track_caller]
fn check(text: &str, new: &str, expected: &str) {
    assert_eq!(renamed(text, new).as_deref(), Ok(expected));
}

#[track_caller]
fn check_refused(text: &str, new: &str, expected: &str) {
    assert_eq!(renamed(text, new), Err(expected.to_owned()));
}

#[test]
fn a_role_is_renamed_in_shorthand_longhand_and_tests() {
    check(
        "actor U {} resource R { roles = [\"^a\"]; permissions = [\"p\"]; \"p\" if \"a\"; }
        allow(u: U, \"p\", r: R) if has_role(u, \"a\", r) or q(\"a\");
        test \"t\" { setup { has_role(U{\"a\"}, \"a\", R{\"a\"}); } assert allow(U{\"a\"}, \"p\", R{\"a\"}); }",
        "b \"c\"",
        "actor U {} resource R { roles = [\"b \\\"c\\\"\"]; permissions = [\"p\"]; \"p\" if \"b \\\"c\\\"\"; }
        allow(u: U, \"p\", r: R) if has_role(u, \"b \\\"c\\\"\", r) or q(\"a\");
        test \"t\" { setup { has_role(U{\"a\"}, \"b \\\"c\\\"\", R{\"a\"}); } assert allow(U{\"a\"}, \"p\", R{\"a\"}); }",
    );
}

#[test]
fn a_relation_keeps_its_quotes_where_it_has_them() {
    check(
        "resource R { roles = [\"a\"]; relations = { up: R }; \"a\" if \"a\" on \"u^p\"; }",
        "parent",
        "resource R { roles = [\"a\"]; relations = { parent: R }; \"a\" if \"a\" on \"parent\"; }",
    );
}

#[test]
fn types_predicates_variables_and_fixtures() {
    check("actor U {} p(x: ^U) if q(x, U{\"U\"});", "A::B", "actor A::B {} p(x: A::B) if q(x, A::B{\"U\"});");
    check("p(x) if q^(x); q(x) if r(x); q(x, 1);", "s", "p(x) if s(x); s(x) if r(x); q(x, 1);");
    check("p(^x) if q(x); q(x) if p(x);", "longer", "p(longer) if q(longer); q(x) if p(x);");
    check(
        "test fixture ^f { p(1); } test \"f\" { setup { fixture f; } assert p(1); }",
        "g",
        "test fixture g { p(1); } test \"f\" { setup { fixture g; } assert p(1); }",
    );
    // An error elsewhere is not an obstacle.
    check("p(^x) if q(x); r(", "y", "p(y) if q(y); r(");
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let block = "resource R { roles = [\"^a\", \"b\"]; } resource S extends R { permissions = [\"c\"]; }";
    check_refused(block, "b", "`b` is already a role of `R`");
    check_refused(block, "c", "`c` is already a permission of `S`");
    check_refused(
        "actor U {} p(x: ^U) if q(x, V{\"v\"});",
        "V",
        "`V` is already the name of something else, see line 1",
    );
    check_refused("actor ^U {}", "Actor", "`Actor` is a built-in type");
    check_refused("p(^x, y) if q(x, y);", "y", "`y` is already the name of something else, see line 1");
    check_refused("p^(x, 1, 2) if q(x);", "allow", "`allow` is a built-in predicate");
    check_refused(
        "resource R { roles = [\"a\"]; \"a\" if p(resource, ^x); }",
        "actor",
        "`actor` is implied in shorthand",
    );
}

#[test]
fn an_invalid_name_is_refused() {
    check_refused("p(^x) if q(x);", "1x", "\"1x\" is not a name");
    check_refused("p(^x) if q(x);", "a) if q(b", "\"a) if q(b\" is not a name");
    check_refused("p(^x) if q(x);", "_", "`_` cannot be renamed: each one is a different variable");
    check_refused("p(^x) if q(x);", "", "\"\" is not a name");
    check_refused("resource R { relations = { ^up: R }; }", "a b", "\"a b\" is not a name");
    check_refused("p(^x) if q(x);", "if", "`if` is a reserved word");
    check_refused("p(^x) if q(x);", "true", "`true` is a reserved word");
    check_refused("p(^x) if q(x);", "false", "`false` is a reserved word");
    check_refused("p^(x) if q(x);", "forall", "`forall` is a reserved word");
}

#[test]
fn what_cannot_be_renamed_has_a_reason() {
    let refused = |text: &str| {
        let (document, at) = at(text);
        prepare(&document, at).unwrap_err()
    };
    assert_eq!(refused("p(x) if ^has_role(x, \"a\");"), "`has_role` is a built-in predicate");
    assert_eq!(refused("p(x: ^String) if q(x);"), "`String` is a built-in type");
    assert_eq!(
        refused("resource R { roles = [\"a\"]; \"a\" if p(^resource); }"),
        "`resource` is implied in shorthand"
    );
    assert_eq!(refused("p(x) if q(x);^ "), "there is no name here that can be renamed");
    let two = "resource R { roles = [\"a\"]; }\nresource S { roles = [\"^a\"]; }\np(u, x) if has_role(u, \"a\", x);";
    let uncertain = "\"a\" in line 3 may be of several blocks: give the variable there a type";
    assert_eq!(refused(two), uncertain);
    // A side of an "or" and a negation give no type.
    for body in [
        "(x matches R and has_role(u, \"a\", x)) or (x matches S and has_role(u, \"a\", x))",
        "not x matches R and has_role(u, \"a\", x)",
    ] {
        let blocks = "resource R { roles = [\"^a\"]; }\nresource S { roles = [\"a\"]; }";
        assert_eq!(refused(&format!("{blocks}\np(u, x) if {body};")), uncertain, "{body}");
    }
}

#[test]
fn an_editor_is_given_the_name_without_its_quotes() {
    let (document, at) = at("resource R { roles = [\"a\\\"^\"]; }");
    let (range, text) = prepare(&document, at).unwrap();
    assert_eq!((range.start.character, range.end.character, text.as_str()), (23, 26, "a\""));
}

/// Every name of the example is renamed and renamed back.
#[test]
fn a_renaming_can_be_undone() {
    let policy = include_str!("../../../fixtures/example/policy.polar");
    let document = OpenDocument::of("p", policy.to_owned());
    let names = crate::lsp::names::Names::of(&document.policy);
    let mut n_renamed = 0;
    for name in names.found.iter().step_by(7) {
        let at = position::range(&document.source, name.span).start;
        let Ok((_, old)) = prepare(&document, at) else { continue };
        let edits = rename(&document, at, "renamed").unwrap();
        assert!(!edits.is_empty());
        let mut text = policy.to_owned();
        for edit in edits.iter().rev() {
            let [start, end] =
                [edit.range.start, edit.range.end].map(|at| position::byte(&document.source, at));
            text.replace_range(start..end, &edit.new_text);
        }
        let other = OpenDocument::of("p", text);
        assert_eq!(other.findings.len(), document.findings.len(), "{old}: {:#?}", other.findings);
        let first = edits.first().unwrap().range.start;
        let back = rename(&other, first, &old).unwrap();
        assert_eq!(back.len(), edits.len());
        n_renamed += 1;
    }
    assert!(n_renamed > 5, "{n_renamed}");
}
