//! Why a question has no answer, as data.
//!
//! A [`Refusal`] holds the cause: the variable, the rule and its position, or the limit. Its kind decides
//! whether another plan may help. Callers use its [`code`](Refusal::code) and [`message`](Refusal::message);
//! the message names the question's variables as the caller does. Messages are never parsed.

use crate::source::Span;
use std::borrow::Cow;

/// Why a question is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The question asks for values that a rule tests but does not enumerate ("everything except what is
    /// banned").
    NotEnumerable {
        /// The variable that nothing binds.
        var: VarName,
        /// The rule that only tests it; `None` for the question itself.
        rule: Option<Place>,
        /// The variables of the question whose values are asked for.
        wanted: Vec<usize>,
    },
    /// A rule tests a variable that may have any type.
    Untyped {
        /// The variable.
        var: VarName,
        /// The test.
        test: Place,
    },
    /// The question recurses through a predicate whose values nothing enumerates.
    Unseeded,
    /// The question needs more than one statement can hold.
    TooLarge(Limit),
    /// The SQL of a local check would hold too many values of stored facts.
    TooManyValues {
        /// The predicates of these facts.
        predicates: Vec<String>,
        /// The maximum in one statement.
        most: usize,
    },
}

/// The name of a variable in messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum VarName {
    /// A variable of the question, by index; the caller supplies its name.
    Asked(usize),
    /// A variable of a rule, by its name in the policy.
    Written(String),
    /// A variable introduced by the compiler; only `explain` shows its name.
    Made(Cow<'static, str>),
}

/// A place in the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The bytes.
    pub span: Span,
    /// The line it begins on, from 1.
    pub line: usize,
}

/// A limit on one statement, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Copies of rules, one for each combination of types and literals.
    RuleCopies {
        /// The maximum for one question.
        most: usize,
    },
    /// Alternatives of one condition, alternatives of all conditions together, and tables.
    Alternatives {
        /// The maximum in one condition.
        of_condition: usize,
        /// The maximum in the whole statement.
        in_all: usize,
        /// The maximum number of tables.
        tables: usize,
    },
    /// Places in a statement that read the results of rules.
    Readings {
        /// The maximum in one statement.
        most: usize,
    },
    /// Selects of one union, as the database counts them.
    UnionArms {
        /// How many it takes.
        most: usize,
    },
    /// Bytes of its text.
    StatementBytes {
        /// How many it may have.
        most: usize,
    },
    /// Alternatives of one select.
    SelectAlternatives {
        /// How many the database takes.
        most: usize,
    },
    /// Relations that one select joins.
    JoinedRelations {
        /// How many the database takes.
        most: usize,
    },
}

impl Refusal {
    /// A stable name for this kind of refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotEnumerable { .. } => "not_enumerable",
            Self::Untyped { .. } => "untyped_variable",
            Self::Unseeded => "unseeded_recursion",
            Self::TooLarge(_) => "question_too_large",
            Self::TooManyValues { .. } => "too_many_values",
        }
    }

    /// Whether a smaller plan for the same question may succeed.
    pub(crate) fn another_plan_may_help(&self) -> bool {
        match self {
            Self::TooLarge(_) => true,
            Self::NotEnumerable { .. }
            | Self::Untyped { .. }
            | Self::Unseeded
            | Self::TooManyValues { .. } => false,
        }
    }

    /// Explains the refusal and how to avoid it. `name` returns the caller's name for a variable of the
    /// question; `is_open` is true if any variable still lacks a type or a value.
    pub fn message<'n>(&self, name: &dyn Fn(usize) -> &'n str, is_open: bool) -> String {
        match self {
            Self::NotEnumerable { var, rule, wanted } => not_enumerable(var, *rule, wanted, name),
            Self::Untyped { var, test } => {
                let line = test.line;
                match var {
                    VarName::Asked(_) | VarName::Made(_) => format!(
                        "the rule at line {line} tests a value that may be of any type: give its variable a type in the rule, or ask about one type"
                    ),
                    VarName::Written(var) => format!(
                        "the rule at line {line} tests `{var}`, which may be of any type: give `{var}` a type in the rule, or ask about one type"
                    ),
                }
            }
            Self::Unseeded => {
                "the question recurses through a predicate whose values nothing enumerates: give its variables values".to_owned()
            }
            Self::TooLarge(limit) => {
                let narrower = if is_open { "give its variables types or values, or " } else { "" };
                format!("the question {}: {narrower}split {}", limit.exceeded(), limit.to_split())
            }
            Self::TooManyValues { predicates, most } => {
                let bind = in_backticks(predicates.iter().map(String::as_str));
                format!(
                    "the question needs more than {most} values of stored facts in its SQL: bind {bind} in the data bindings, so that the database looks them up itself, or ask with more values given"
                )
            }
        }
    }

    /// Approximate size in memory, in bytes.
    pub fn n_bytes(&self) -> usize {
        let texts = match self {
            Self::NotEnumerable { var, wanted, .. } => var.n_bytes() + 8 * wanted.len(),
            Self::Untyped { var, .. } => var.n_bytes(),
            Self::Unseeded | Self::TooLarge(_) => 0,
            Self::TooManyValues { predicates, .. } => predicates.iter().map(|name| name.len() + 24).sum(),
        };
        size_of::<Self>() + texts
    }
}

fn not_enumerable<'n>(
    var: &VarName,
    rule: Option<Place>,
    wanted: &[usize],
    name: &dyn Fn(usize) -> &'n str,
) -> String {
    let place = rule.map_or("the question".to_owned(), |place| format!("the rule at line {}", place.line));
    // The caller may not know the policy's own names.
    let what = match var {
        VarName::Asked(var) => {
            let var = name(*var);
            return format!(
                "`{var}` cannot be enumerated: {place} only tests it; give it a value, or bind it in the rule with a fact"
            );
        }
        VarName::Written(var) => format!("`{var}`, a variable of the policy,"),
        VarName::Made(_) => "a value".to_owned(),
    };
    let given = match wanted {
        [] => String::new(),
        wanted => format!("ask with a value for {}, or ", in_backticks(wanted.iter().map(|var| name(*var)))),
    };
    format!(
        "{what} cannot be enumerated: {place} only tests it; {given}bind it there, or in the rule that asks for it, with a fact"
    )
}

/// Names joined by "or".
fn in_backticks<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
}

impl VarName {
    /// The name of a variable introduced by the compiler.
    pub(crate) const UNNAMED: Self = Self::Made(Cow::Borrowed("_"));

    fn n_bytes(&self) -> usize {
        match self {
            Self::Asked(_) => 0,
            Self::Written(name) => name.len(),
            Self::Made(name) => name.len(),
        }
    }
}

impl Limit {
    /// The end of a sentence that begins with "the question".
    fn exceeded(self) -> String {
        const ALTERNATIVES: &str = "needs too many alternatives for one statement, which takes";
        match self {
            Self::RuleCopies { most } => format!("needs more than {most} rule copies"),
            Self::Alternatives { of_condition, in_all, tables } => {
                format!("{ALTERNATIVES} {of_condition} of one condition, {in_all} in all and {tables} tables")
            }
            Self::Readings { most } => {
                format!("reads the results of rules in too many places for one statement, which takes {most}")
            }
            Self::UnionArms { most } => format!("{ALTERNATIVES} {most} of one union"),
            Self::StatementBytes { most } => format!("needs a statement of more than {most} bytes"),
            Self::SelectAlternatives { most } => {
                format!("needs more than {most} alternatives in one select, which the database refuses")
            }
            Self::JoinedRelations { most } => {
                format!("needs more than {most} joined relations in one select, which the database refuses")
            }
        }
    }

    /// The rules to split.
    fn to_split(self) -> &'static str {
        match self {
            Self::RuleCopies { .. }
            | Self::Alternatives { .. }
            | Self::UnionArms { .. }
            | Self::StatementBytes { .. } => "the rules that it reads",
            Self::Readings { .. } => "the rules",
            Self::SelectAlternatives { .. } | Self::JoinedRelations { .. } => "the rule",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(refusal: &Refusal) -> String {
        let names = ["v1", "?0"];
        refusal.message(&|var| names.get(var).copied().unwrap_or("_"), true)
    }

    #[test]
    fn a_message_has_the_callers_names_of_the_questions_variables() {
        let rule = Some(Place { span: Span::default(), line: 7 });
        let refused = |var| told(&Refusal::NotEnumerable { var, rule, wanted: vec![0, 1] });
        assert_eq!(
            refused(VarName::Asked(1)),
            "`?0` cannot be enumerated: the rule at line 7 only tests it; give it a value, or bind it in the rule with a fact"
        );
        assert_eq!(
            refused(VarName::Written("v1".into())),
            "`v1`, a variable of the policy, cannot be enumerated: the rule at line 7 only tests it; ask with a value for `v1` or `?0`, or bind it there, or in the rule that asks for it, with a fact"
        );
        assert!(refused(VarName::UNNAMED).starts_with("a value cannot be enumerated: the rule at line 7 "));
    }

    #[test]
    fn a_message_for_size_speaks_of_variables_only_where_one_is_open() {
        let refusal = Refusal::TooLarge(Limit::Readings { most: 9 });
        let what =
            "the question reads the results of rules in too many places for one statement, which takes 9";
        assert_eq!(told(&refusal), format!("{what}: give its variables types or values, or split the rules"));
        assert_eq!(refusal.message(&|_| "_", false), format!("{what}: split the rules"));
    }

    #[test]
    fn only_a_smaller_plan_helps() {
        assert!(Refusal::TooLarge(Limit::UnionArms { most: 500 }).another_plan_may_help());
        assert!(!Refusal::Unseeded.another_plan_may_help());
    }
}
