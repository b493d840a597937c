//! Text that the grammar accepts, and the trees it produces.

use super::*;

#[test]
fn the_samples_have_no_mistakes() {
    for sample in SAMPLES {
        assert_eq!(findings(sample), "", "{sample}");
    }
}

#[test]
fn precedence_is_not_then_and_then_or() {
    let text = "p() if not a() and b() or c() and not (d() or e());";
    let (policy, _) = parse(&source(text));
    let [ast::Item::Rule(rule)] = policy.items.as_slice() else { panic!("one rule") };
    let Some(ast::Condition::Or(sides, _)) = &rule.body else { panic!("an or") };
    let [ast::Condition::And(left, _), ast::Condition::And(right, _)] = sides.as_slice() else {
        panic!("two ands")
    };
    assert!(matches!(left.as_slice(), [ast::Condition::Not(..), ast::Condition::Call(_)]));
    let [ast::Condition::Call(_), ast::Condition::Not(inner, _)] = right.as_slice() else {
        panic!("and not")
    };
    assert!(matches!(**inner, ast::Condition::Paren(..)));
}

#[test]
fn not_takes_the_whole_comparison() {
    let (policy, _) = parse(&source("p(x) if not x = 1;"));
    let [ast::Item::Rule(rule)] = policy.items.as_slice() else { panic!("one rule") };
    let Some(ast::Condition::Not(inner, span)) = &rule.body else { panic!("a not") };
    assert!(matches!(**inner, ast::Condition::Compare { .. }));
    assert_eq!((span.start, span.end), (8, 17));
}

#[test]
fn spans_cover_a_statement_with_its_semicolon() {
    let text = "# ü\n p(x: T) if q(x); resource R { roles = [\"a\"]; \"a\" if \"b\" on \"c\"; }";
    let source = source(text);
    let (policy, _) = parse(&source);
    let [ast::Item::Rule(rule), ast::Item::Block(block)] = policy.items.as_slice() else {
        panic!("two items")
    };
    assert_eq!(source.snippet(rule.span), "p(x: T) if q(x);");
    assert!(
        source.snippet(block.span).starts_with("resource R {") && source.snippet(block.span).ends_with('}')
    );
    let [ast::Member::Roles(roles), ast::Member::Shorthand(rule)] = block.members.as_slice() else {
        panic!("two members")
    };
    assert_eq!(source.snippet(roles.span), "roles = [\"a\"];");
    assert_eq!(source.snippet(rule.span), "\"a\" if \"b\" on \"c\";");
    let ast::ShortCondition::Short { on: Some(on), span, .. } = &rule.body else { panic!("on") };
    assert_eq!(source.snippet(*span), "\"b\" on \"c\"");
    assert_eq!(source.snippet(on.span), "\"c\"");
}

#[test]
fn literals_stand_for_their_values() {
    let text = r#"p("a\n\t\"\\\q", -5, +7, Integer{007}, Boolean{false}, String{"x"}, a::b::C?, _, _x);"#;
    insta::assert_snapshot!(reprint(text), @r#"p("a\n\t\"\\q", -5, 7, Integer{7}, Boolean{false}, String{"x"}, a::b::C?, _, _x);"#);
}

#[test]
fn white_space_comments_and_a_byte_order_mark_mean_nothing() {
    let plain = "p(x)if q(x)and r(x);";
    let spread = "\u{feff}# c\r\n p ( x )\u{a0}if\tq(x)#c\n\u{2003}and r( x ) ; # end";
    assert_eq!(findings(plain), "");
    assert_eq!(findings(spread), "");
    assert_eq!(reprint(spread), reprint(plain));
}

#[test]
fn a_stray_semicolon_after_a_block_is_harmless() {
    assert_eq!(findings("actor User {}; test \"t\" { setup {}; assert p(); };"), "");
}

#[test]
fn the_order_within_a_policy_is_free() {
    let text = "test \"t\" { assert p(); } p() if q(); resource R { \"a\" if \"b\"; roles = [\"a\", \"b\"]; } actor User {}";
    assert_eq!(findings(text), "");
}
