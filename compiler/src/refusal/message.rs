//! Refusals in words: what is wrong, which rule with its line, and what to do.

use super::{Limit, MessageVar, Place, Refusal, RuleAtLimit, VarName};
use crate::id_vec::IdVec;
use crate::ir::QuestionVarId;

#[cfg(test)]
mod tests;

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
            Self::Unmentioned { key, ty, rule } => {
                let mention = format!("add `resource {ty} {{}}` or `actor {ty} {{}}` to the policy");
                match rule {
                    Some(Place { line, .. }) => format!(
                        "the rule at line {line} may deny something because of `{key}`, which the data bindings have, but the policy does not mention the type `{ty}`, so the rule would not see these facts: {mention}, or give the rule's variable a type"
                    ),
                    None => format!(
                        "the question would not see `{key}`, which the data bindings have, because the policy does not mention the type `{ty}`: {mention}"
                    ),
                }
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
