//! Each refusal in words.

use super::*;
use crate::source::Span;

const OPEN: MessageVar<'static> = MessageVar { name: "v1", has_type: true, has_value: false };
const UNTYPED: MessageVar<'static> = MessageVar { name: "?2", has_type: false, has_value: false };
const GIVEN: MessageVar<'static> = MessageVar { name: "who", has_type: true, has_value: true };

fn said(refusal: &Refusal) -> String {
    message(refusal, &[OPEN, UNTYPED, GIVEN])
}

fn message(refusal: &Refusal, vars: &[MessageVar<'_>]) -> String {
    refusal.message(&vars.iter().copied().collect())
}

fn of_question(var: u32) -> VarName {
    VarName::OfQuestion(QuestionVarId(var))
}

fn at(line: usize) -> Place {
    Place { span: Span::default(), line }
}

#[test]
fn a_message_has_the_callers_names_of_the_questions_variables() {
    let refused = |var| {
        let wanted = vec![QuestionVarId(0), QuestionVarId(1)];
        said(&Refusal::NotEnumerable { var, rule: Some(at(7)), denied: None, wanted })
    };
    assert_eq!(
        refused(of_question(1)),
        "`?` cannot be enumerated: the rule at line 7 only tests it; check one value at a time, or bind it in the rule with a fact"
    );
    assert_eq!(
        refused(VarName::Written("v1".into())),
        "the rule at line 7 tests `v1`, which nothing enumerates: give `v1` or `?` a value, or bind it by a condition on a fact, in that rule or in the one that calls it"
    );
    let unnamed = "the rule at line 7 tests a value that nothing enumerates: give ";
    assert!(refused(VarName::UNNAMED).starts_with(unnamed));
}

#[test]
fn a_test_of_any_type_names_what_the_caller_left_without_a_type() {
    let refused = |var, vars: &[MessageVar<'_>]| message(&Refusal::Untyped { var, test: at(3) }, vars);
    let written = || VarName::Written("x".into());
    assert_eq!(
        refused(written(), &[OPEN, UNTYPED, GIVEN]),
        "the rule at line 3 tests `x`, which may be of any type: give `?` a type, or give `x` a type in the rule"
    );
    assert_eq!(
        refused(written(), &[OPEN, GIVEN]),
        "the rule at line 3 tests `x`, which may be of any type: give `x` a type in the rule"
    );
    assert_eq!(
        refused(of_question(0), &[MessageVar { name: "?1", ..UNTYPED }]),
        "the rule at line 3 tests `?`, which may be of any type: give `?` a type, or give it a type in the rule"
    );
    assert_eq!(
        refused(VarName::UNNAMED, &[OPEN]),
        "the rule at line 3 tests a value that may be of any type: give its variable a type in the rule"
    );
}

#[test]
fn unnamed_variables_differ_by_their_places() {
    let (first, third) = (MessageVar { name: "?1", ..UNTYPED }, MessageVar { name: "?3", ..UNTYPED });
    let refused = |var| {
        let (var, wanted) = (of_question(var), Vec::new());
        let refusal = Refusal::NotEnumerable { var, rule: None, denied: None, wanted };
        message(&refusal, &[first, OPEN, third])
    };
    assert!(refused(0).starts_with("the 1st `?` cannot be enumerated"), "{}", refused(0));
    assert!(refused(1).starts_with("`v1` cannot be enumerated"), "{}", refused(1));
    assert!(refused(2).starts_with("the 2nd `?` cannot be enumerated"), "{}", refused(2));
    let ordinals = [1, 2, 3, 4, 10, 11, 12, 13, 21, 22, 111].map(ordinal).join(" ");
    assert_eq!(ordinals, "1st 2nd 3rd 4th 10th 11th 12th 13th 21st 22nd 111th");
}

#[test]
fn an_unseeded_recursion_names_the_predicate_its_argument_and_the_rule_that_calls_it() {
    let unseeded =
        |var, rule, wanted| said(&Refusal::Unseeded { predicate: "within".into(), var, rule, wanted });
    assert_eq!(
        unseeded(VarName::Written("folder".into()), Some(at(7)), vec![QuestionVarId(0)]),
        "the rule at line 7 calls `within`, which is recursive, with `folder`, which has no values at that point: give `v1` a value, or bind it with a fact before the call"
    );
    assert_eq!(
        unseeded(of_question(1), None, Vec::new()),
        "the question calls `within`, which is recursive, with `?`, which has no values at that point: bind it with a fact before the call"
    );
}

#[test]
fn a_message_for_size_speaks_of_variables_only_where_one_is_open() {
    let refusal = Refusal::TooLarge { limit: Limit::Readings { most: 9 }, rule: None };
    let what = "the question reads the results of rules in too many places: one statement takes at most 9";
    assert_eq!(said(&refusal), format!("{what}: give `?` a type, or split the rules"));
    let narrower = "give `v1` a value, or split the rules";
    assert_eq!(message(&refusal, &[OPEN, GIVEN]), format!("{what}: {narrower}"));
    assert_eq!(message(&refusal, &[GIVEN]), format!("{what}: split the rules"));
}

#[test]
fn a_message_for_size_names_the_rule_at_which_the_limit_was_reached() {
    let limit = Limit::RuleCopies { most: 9 };
    let said = |rule| message(&Refusal::TooLarge { limit, rule: Some(rule) }, &[GIVEN]);
    assert_eq!(
        said(RuleAtLimit::Reached(at(7))),
        "the question needs more than 9 copies of rules (reached in the rule at line 7): give the rules' variables narrower types"
    );
    assert_eq!(
        said(RuleAtLimit::Largest(at(7))),
        "the question needs more than 9 copies of rules (most of it comes from the rule at line 7): give the rules' variables narrower types"
    );
}

#[test]
fn a_refusal_of_the_store_names_a_rule_and_both_remedies() {
    let rule = Some(RuleAtLimit::Largest(at(7)));
    let refusal = Refusal::TooLarge { limit: Limit::StoreReadings, rule };
    assert_eq!(
        message(&refusal, &[]),
        "the question reads the results of rules in more places than the store takes in one statement (most of it comes from the rule at line 7): give its variables types or values, or split the rules"
    );
}

#[test]
fn conditions_that_are_too_deep_are_refused_with_a_remedy() {
    let rule = Some(RuleAtLimit::Largest(at(7)));
    let refusal = Refusal::TooLarge { limit: Limit::Nesting { most: 98 }, rule };
    assert_eq!(
        message(&refusal, &[GIVEN]),
        "the question has conditions nested too deeply for the database's parser, which holds 98 symbols at once (most of it comes from the rule at line 7): nest fewer negations in the rules that it reads"
    );
}

#[test]
fn what_cannot_be_explained_names_the_variable_that_nothing_binds() {
    let refused = |var, rule| said(&Refusal::NotExplainable { var, rule });
    assert_eq!(
        refused(VarName::Written("doc".into()), Some(at(7))),
        "the answer cannot be explained: the rule at line 7 only tests `doc`, which nothing binds; give `v1` or `?` a value, or bind it by a condition on a fact, in that rule"
    );
    assert_eq!(
        refused(VarName::UNNAMED, None),
        "the answer cannot be explained: the question only tests a value that nothing binds; give `v1` or `?` a value, or bind the value by a condition on a fact, in a rule that it calls"
    );
}
