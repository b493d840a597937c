//! Refusals in words: what is wrong, which rule with its line, and what to do.

use super::{Limit, MessageVar, Place, Refusal, RuleAtLimit, VarName};
use crate::id_vec::IdVec;
use crate::ir::QuestionVarId;

/// The variables of a question.
type QuestionVars<'n> = IdVec<QuestionVarId, MessageVar<'n>>;

impl Refusal {
    /// Explains the refusal and how to avoid it; `question_vars` are the variables of the question.
    pub fn message(&self, question_vars: &QuestionVars<'_>) -> String {
        match self {
            Self::NotEnumerable { var, rule, denied, wanted } => {
                not_enumerable(var, (*rule, denied.as_deref()), wanted, question_vars)
            }
            Self::NotExplainable { var, rule } => not_explainable(var, *rule, question_vars),
            Self::Untyped { var, test } => untyped(var, *test, question_vars),
            Self::Unseeded { predicate, var, rule, wanted } => {
                let place = of_rule(*rule);
                let given = ask_with_values(wanted, question_vars);
                let what = match var {
                    VarName::OfQuestion(var) => written(question_vars, *var),
                    VarName::Written(var) => format!("`{var}`"),
                    VarName::Made(_) => "a value".to_owned(),
                };
                format!(
                    "{place} calls `{predicate}`, which is recursive, with {what}, which has no values at that point: {given}bind it with a fact before the call"
                )
            }
            Self::TooLarge { limit, rule } => {
                let rule = at_limit(*rule);
                let narrower = narrow(*limit, question_vars);
                format!("the question {}{rule}: {narrower}{}", limit.exceeded(), limit.remedy())
            }
            Self::TooManyValues { keys, bound, most } => {
                let remedy = fewer_values(keys, bound);
                let open = every(question_vars, |var| !var.has_value);
                let narrower = if open.is_empty() { open } else { format!(", or give {open} a value") };
                format!(
                    "the SQL of the question would contain more than {most} values of stored facts: {remedy}{narrower}"
                )
            }
            Self::Unmentioned { facts, ty, rule } => {
                let place = of_rule(*rule);
                format!(
                    "{place} may deny something because of `{facts}`, which the data bindings have, but the policy does not mention the type `{ty}`, so the rule would not see these facts: add `resource {ty} {{}}` or `actor {ty} {{}}` to the policy, or give the rule's variable a type"
                )
            }
        }
    }
}

/// How stored facts become fewer: those of `keys` can be bound, those of `bound` are.
fn fewer_values(keys: &[String], bound: &[String]) -> String {
    let all = |keys: &[String]| either(keys.iter().map(|key| format!("`{key}`")));
    let bind = format!("bind {} in the data bindings, so that the database looks them up itself", all(keys));
    let delete = format!("delete the stored facts of {}, which the data bindings bind already", all(bound));
    match (keys.is_empty(), bound.is_empty()) {
        (false, false) => format!("{bind}, or {delete}"),
        (_, true) => bind,
        (true, false) => delete,
    }
}

/// The advice to give types or values to variables without them.
fn narrow(limit: Limit, question_vars: &QuestionVars<'_>) -> String {
    let untyped = every(question_vars, |var| !var.has_type);
    let open = every(question_vars, |var| !var.has_value);
    if !untyped.is_empty() {
        format!("give {untyped} a type, or ")
    } else if !open.is_empty() {
        format!("give {open} a value, or ")
    } else if limit == Limit::StoreReadings {
        // The store does not know the question.
        "give its variables types or values, or ".to_owned()
    } else {
        String::new()
    }
}

fn not_enumerable(
    var: &VarName,
    (rule, denied): (Option<Place>, Option<&str>),
    wanted: &[QuestionVarId],
    question_vars: &QuestionVars<'_>,
) -> String {
    let place = of_rule(rule);
    let by = denied.map(|predicate| format!(", by `not {predicate}(…)`")).unwrap_or_default();
    // The caller may not know the policy's own names: they are next to their rule.
    let what = match var {
        VarName::OfQuestion(var) => {
            let var = written(question_vars, *var);
            return format!(
                "{var} cannot be enumerated: {place} only tests it{by}; check one value at a time, or bind it in the rule with a fact"
            );
        }
        VarName::Written(var) => format!("`{var}`, which"),
        VarName::Made(_) => "a value that".to_owned(),
    };
    let given = ask_with_values(wanted, question_vars);
    let rules = if rule.is_some() { "that rule or in the one that calls it" } else { "a rule that it calls" };
    format!(
        "{place} tests {what} nothing enumerates{by}: {given}bind it by a condition on a fact, in {rules}"
    )
}

fn not_explainable(var: &VarName, rule: Option<Place>, question_vars: &QuestionVars<'_>) -> String {
    let place = of_rule(rule);
    let (what, it) = match var {
        VarName::OfQuestion(var) => (format!("{}, which", written(question_vars, *var)), "it"),
        VarName::Written(var) => (format!("`{var}`, which"), "it"),
        VarName::Made(_) => ("a value that".to_owned(), "the value"),
    };
    let open = every(question_vars, |var| !var.has_value);
    let given = if open.is_empty() { open } else { format!("give {open} a value, or ") };
    let rules = if rule.is_some() { "that rule" } else { "a rule that it calls" };
    format!(
        "the answer cannot be explained: {place} only tests {what} nothing binds; {given}bind {it} by a condition on a fact, in {rules}"
    )
}

/// The type of a rule's variable comes from the question, unless only the rule knows the variable.
fn untyped(var: &VarName, test: Place, question_vars: &QuestionVars<'_>) -> String {
    let (what, whose) = match var {
        VarName::OfQuestion(var) => (format!("{}, which", written(question_vars, *var)), "it".to_owned()),
        VarName::Written(var) => (format!("`{var}`, which"), format!("`{var}`")),
        VarName::Made(_) => ("a value that".to_owned(), "its variable".to_owned()),
    };
    let untyped = every(question_vars, |var| !var.has_type);
    let ask = if untyped.is_empty() { untyped } else { format!("give {untyped} a type, or ") };
    format!(
        "the rule at line {} tests {what} may be of any type: {ask}give {whose} a type in the rule",
        test.line
    )
}

fn of_rule(rule: Option<Place>) -> String {
    rule.map_or("the question".to_owned(), |rule| format!("the rule at line {}", rule.line))
}

/// The advice to give values for the wanted variables, if there are any.
fn ask_with_values(wanted: &[QuestionVarId], question_vars: &QuestionVars<'_>) -> String {
    match wanted {
        [] => String::new(),
        wanted => {
            format!("give {} a value, or ", either(wanted.iter().map(|var| written(question_vars, *var))))
        }
    }
}

/// The variables of a question for which something holds.
fn every(question_vars: &QuestionVars<'_>, holds: impl Fn(&MessageVar<'_>) -> bool) -> String {
    let vars = question_vars.enumerate().filter(|(_, var)| holds(var));
    either(vars.map(|(var, _)| written(question_vars, var)))
}

/// A variable of the question as its caller wrote it: its name or, without one, the number of the argument,
/// or the `?` in its place, and which of them it is if there are several.
fn written(question_vars: &QuestionVars<'_>, var: QuestionVarId) -> String {
    // The names that are given to what has none; over HTTP a caller may choose any name.
    let argument = format!("argument {}", var.index() + 1);
    let is_unnamed =
        |(id, var): &(QuestionVarId, &MessageVar<'_>)| var.name == format!("?{}", id.index() + 1);
    let unnamed: Vec<QuestionVarId> =
        question_vars.enumerate().filter(is_unnamed).map(|(id, _)| id).collect();
    match (question_vars.find(var), unnamed.iter().position(|id| *id == var)) {
        (Some(named), None) if named.name == argument => argument,
        (Some(named), None) => format!("`{}`", named.name),
        (Some(_), Some(place)) if unnamed.len() > 1 => format!("the {} `?`", ordinal(place + 1)),
        (Some(_), Some(_)) => "`?`".to_owned(),
        (None, _) => "a variable".to_owned(),
    }
}

/// `1st`, `2nd`, `3rd`, `4th`.
fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (1, ..=10 | 12..) => "st",
        (2, ..=11 | 13..) => "nd",
        (3, ..=12 | 14..) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// The rule that relates to a limit, in brackets.
fn at_limit(rule: Option<RuleAtLimit>) -> String {
    match rule {
        Some(RuleAtLimit::Reached(rule)) => format!(" (reached in the rule at line {})", rule.line),
        Some(RuleAtLimit::Largest(rule)) => {
            format!(" (most of it comes from the rule at line {})", rule.line)
        }
        None => String::new(),
    }
}

/// Names joined by "or".
fn either(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(" or ")
}

impl Limit {
    /// The end of a sentence that begins with "the question".
    fn exceeded(self) -> String {
        const ALTERNATIVES: &str = "needs too many alternatives: one";
        match self {
            Self::RuleCopies { most } => format!("needs more than {most} copies of rules"),
            Self::Denials { most } => {
                format!("has more than {most} ways in which its negated conditions can hold")
            }
            Self::Alternatives { of_condition, in_all, tables } => {
                format!(
                    "{ALTERNATIVES} statement takes at most {of_condition} per condition, {in_all} in all, and {tables} tables"
                )
            }
            Self::Readings { most } => {
                format!("reads the results of rules in too many places: one statement takes at most {most}")
            }
            Self::StoreReadings => {
                "reads the results of rules in more places than the store takes in one statement".to_owned()
            }
            Self::UnionArms { most } => format!("{ALTERNATIVES} union takes at most {most}"),
            Self::Nesting { most } => {
                format!(
                    "has conditions nested too deeply for the database's parser, which holds {most} symbols at once"
                )
            }
            Self::StatementBytes { most } => format!("needs a statement of more than {most} bytes"),
            Self::SelectAlternatives { most } => {
                format!("needs more than {most} alternatives in one select, which the database refuses")
            }
            Self::JoinedRelations { most } => {
                format!("needs more than {most} joined relations in one select, which the database refuses")
            }
        }
    }

    /// What to do with the rules.
    fn remedy(self) -> &'static str {
        match self {
            Self::RuleCopies { .. } => "give the rules' variables narrower types",
            Self::Denials { .. } => "negate fewer predicates with several rules in one rule",
            Self::Alternatives { .. } | Self::UnionArms { .. } | Self::StatementBytes { .. } => {
                "move some of the rules to a predicate that another question asks about"
            }
            Self::Nesting { .. } => "nest fewer negations in the rules that it reads",
            Self::Readings { .. } | Self::StoreReadings => "split the rules",
            Self::SelectAlternatives { .. } | Self::JoinedRelations { .. } => "split the rule",
        }
    }
}

#[cfg(test)]
mod tests {
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
        let what =
            "the question reads the results of rules in too many places: one statement takes at most 9";
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
}
