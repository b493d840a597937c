//! What is shown at a position.

use super::at;
use crate::lsp::hover;
use gen_lsp_types::Contents;

/// What is shown at `^`; empty if nothing is.
fn shown(text: &str) -> String {
    let (document, position) = at(text);
    let Some(hover) = hover::hover(&document, position) else { return String::new() };
    match hover.contents {
        Contents::MarkupContent(content) => content.value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn statements_without_errors_are_shown_next_to_wrong_ones() {
    let rule = "actor User {} resource Repo { roles = [\"a\", \"b\"]; \"a\" if ^\"b\"; \"b\" if \"c\"; }
        p(u: User) if q(u, ; r(u: User) if p(u) and x < \"y\";";
    let text = shown(rule);
    assert!(text.contains("has_role(actor: User, \"a\", resource: Repo) :- "), "{text}");
    // Not the wrong rule itself.
    assert_eq!(shown("actor User {} resource Repo { roles = [\"b\"]; \"b\" if ^\"c\"; }"), "");
    assert_eq!(shown("actor User { actor User {} ^"), "");
}

#[test]
fn a_variable_has_the_types_that_its_rule_gives_it() {
    let text = shown(
        "actor User {} actor Team {} resource Repo {}
        p(r: Repo) if q(r, a) and a matches Actor and has_role(^a, \"x\", r);",
    );
    assert!(text.starts_with("```polar\na: {User, Team}\n```\n```polar\np(r: Repo) :- q(r, a"), "{text}");
}
