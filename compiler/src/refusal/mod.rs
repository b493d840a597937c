//! Why a question has no answer, as data.
//!
//! A [`Refusal`] holds the cause: the variable, the rule and its position, or the limit. Its kind decides
//! whether another plan may help. Callers use its [`code`](Refusal::code) and [`message`](Refusal::message);
//! the message names the question's variables as the caller does. Messages are never parsed.

mod message;

use crate::ir::QuestionVarId;
use crate::source::{SourceMap, Span};
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
        /// The predicate whose negation is the test, if it is one.
        denied: Option<String>,
        /// The variables of the question whose values are asked for; in a finished refusal only those that
        /// avoid it if they are given.
        wanted: Vec<QuestionVarId>,
    },
    /// The answer cannot be explained: it depends on a value that nothing binds and a rule only tests.
    NotExplainable {
        /// The variable that nothing binds.
        var: VarName,
        /// The rule that only tests it; `None` for the question itself.
        rule: Option<Place>,
    },
    /// A rule tests a variable that may have any type.
    Untyped {
        /// The variable.
        var: VarName,
        /// The test.
        test: Place,
    },
    /// The question recurses through a predicate whose values nothing enumerates.
    Unseeded {
        /// The predicate.
        predicate: String,
        /// The variable whose values it is called for.
        var: VarName,
        /// The rule that calls the predicate; `None` for the question itself.
        rule: Option<Place>,
        /// The variables of the question whose values are asked for; in a finished refusal only those that
        /// avoid it if they are given.
        wanted: Vec<QuestionVarId>,
    },
    /// The question needs more than one statement can hold.
    TooLarge {
        /// The limit.
        limit: Limit,
        /// The rule to look at; `None` if the question reads no rule that the policy has written.
        rule: Option<RuleAtLimit>,
    },
    /// The SQL of a local check would hold too many values of stored facts.
    TooManyValues {
        /// The keys that would bind these facts.
        keys: Vec<String>,
        /// Those of facts that are bound already and stored, too.
        bound: Vec<String>,
        /// The maximum in one statement.
        most: usize,
    },
    /// A negation asks for facts of any type, or the question for this one, and the data bindings have some
    /// of a type that the policy does not mention.
    Unmentioned {
        /// The key of the bound facts.
        key: String,
        /// The type.
        ty: String,
        /// The call that would see the facts; `None` for one of the question.
        rule: Option<Place>,
    },
}

/// What a message says of a variable of the question.
#[derive(Clone, Copy, Debug)]
pub struct MessageVar<'n> {
    /// Its name, as the caller wrote it.
    pub name: &'n str,
    /// Whether the question says of which type it is.
    pub has_type: bool,
    /// Whether the question says which values it may have.
    pub has_value: bool,
}

/// The name of a variable in messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum VarName {
    /// A variable of the question; the caller supplies its name.
    OfQuestion(QuestionVarId),
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

impl Place {
    /// The place of a span.
    pub(crate) fn of(source: &SourceMap, span: Span) -> Self {
        Self { span, line: source.locate(span).line }
    }

    /// The place of a rule; `None` for one that the policy implies.
    pub(crate) fn of_rule(source: &SourceMap, span: Span) -> Option<Self> {
        (!span.range().is_empty()).then(|| Self::of(source, span))
    }
}

/// How a rule relates to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAtLimit {
    /// The limit was reached in this rule.
    Reached(Place),
    /// The limit shows only in the finished statement, and more of the question's clauses come from this rule
    /// than from any other.
    Largest(Place),
}

impl RuleAtLimit {
    /// The rule's position.
    pub fn place(self) -> Place {
        match self {
            Self::Reached(place) | Self::Largest(place) => place,
        }
    }
}

/// A limit on one statement, and its value if the compiler knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Copies of rules, one for each combination of types and literals.
    RuleCopies {
        /// The maximum for one question.
        most: usize,
    },
    /// Ways in which what the copies of rules deny could hold.
    Denials {
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
    /// The same, where the store refuses a statement that is within [`Limit::Readings`].
    StoreReadings,
    /// Selects of one union, as the database counts them.
    UnionArms {
        /// The limit.
        most: usize,
    },
    /// Symbols that the database's parser holds at once, of nested conditions.
    Nesting {
        /// The maximum.
        most: usize,
    },
    /// Bytes of its text.
    StatementBytes {
        /// The limit.
        most: usize,
    },
    /// Alternatives of one select.
    SelectAlternatives {
        /// The limit.
        most: usize,
    },
    /// Relations that one select joins.
    JoinedRelations {
        /// The limit.
        most: usize,
    },
}

impl Refusal {
    /// A stable name for this kind of refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotEnumerable { .. } => "not_enumerable",
            Self::NotExplainable { .. } => "not_explainable",
            Self::Untyped { .. } => "untyped_variable",
            Self::Unseeded { .. } => "unseeded_recursion",
            Self::TooLarge { .. } => "question_too_large",
            Self::TooManyValues { .. } => "too_many_values",
            Self::Unmentioned { .. } => "unmentioned_type",
        }
    }

    /// The place in the policy that it is about, if it is about one.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::NotEnumerable { rule, .. }
            | Self::NotExplainable { rule, .. }
            | Self::Unseeded { rule, .. }
            | Self::Unmentioned { rule, .. } => *rule,
            Self::TooLarge { rule, .. } => rule.map(RuleAtLimit::place),
            // The keys say which facts are too many.
            Self::TooManyValues { .. } => None,
            Self::Untyped { test, .. } => Some(*test),
        }
    }

    /// Whether two questions are refused for the same reason: the same variable, or recursive predicate, in
    /// the same rule.
    pub(crate) fn has_cause_of(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::NotEnumerable { var, rule, .. },
                Self::NotEnumerable { var: other_var, rule: other_rule, .. },
            ) => var == other_var && rule == other_rule,
            (
                Self::Unseeded { predicate, rule, .. },
                Self::Unseeded { predicate: other, rule: other_rule, .. },
            ) => predicate == other && rule == other_rule,
            (
                Self::NotEnumerable { .. }
                | Self::NotExplainable { .. }
                | Self::Untyped { .. }
                | Self::Unseeded { .. }
                | Self::TooLarge { .. }
                | Self::TooManyValues { .. }
                | Self::Unmentioned { .. },
                _,
            ) => false,
        }
    }

    /// Keeps only those variables that a caller is advised to give values for.
    pub(crate) fn advise<E>(
        mut self,
        helps: impl Fn(&Self, QuestionVarId) -> Result<bool, E>,
    ) -> Result<Self, E> {
        let all = match &self {
            Self::NotEnumerable { wanted, .. } | Self::Unseeded { wanted, .. } => wanted.clone(),
            Self::NotExplainable { .. }
            | Self::Untyped { .. }
            | Self::TooLarge { .. }
            | Self::TooManyValues { .. }
            | Self::Unmentioned { .. } => return Ok(self),
        };
        let mut helpful = Vec::new();
        for var in all {
            if helps(&self, var)? {
                helpful.push(var);
            }
        }
        if let Self::NotEnumerable { wanted, .. } | Self::Unseeded { wanted, .. } = &mut self {
            *wanted = helpful;
        }
        Ok(self)
    }

    /// Whether a smaller plan for the same question may succeed.
    pub(crate) fn another_plan_may_help(&self) -> bool {
        match self {
            // These are counted before anything is planned.
            Self::TooLarge { limit: Limit::RuleCopies { .. } | Limit::Denials { .. }, .. } => false,
            Self::TooLarge { .. } => true,
            Self::NotEnumerable { .. }
            | Self::NotExplainable { .. }
            | Self::Untyped { .. }
            | Self::Unseeded { .. }
            | Self::TooManyValues { .. }
            | Self::Unmentioned { .. } => false,
        }
    }

    /// Whether the question may be accepted for a single value of a variable that now has several.
    pub fn values_may_help(&self) -> bool {
        match self {
            Self::NotEnumerable { .. }
            | Self::Unseeded { .. }
            | Self::TooLarge { .. }
            | Self::TooManyValues { .. } => true,
            Self::NotExplainable { .. } | Self::Untyped { .. } | Self::Unmentioned { .. } => false,
        }
    }

    /// Whether the text would be too deep for the database's parser.
    pub(crate) fn overflows_parser(&self) -> bool {
        matches!(self, Self::TooLarge { limit: Limit::Nesting { .. }, .. })
    }

    /// Approximate size in memory, in bytes.
    pub fn n_bytes(&self) -> usize {
        let texts = match self {
            Self::NotEnumerable { var, wanted, denied, .. } => {
                var.n_bytes() + 8 * wanted.len() + denied.as_ref().map_or(0, String::len)
            }
            Self::NotExplainable { var, .. } | Self::Untyped { var, .. } => var.n_bytes(),
            Self::Unseeded { predicate, var, wanted, .. } => {
                predicate.len() + var.n_bytes() + 8 * wanted.len()
            }
            Self::TooLarge { .. } => 0,
            Self::TooManyValues { keys, bound, .. } => {
                keys.iter().chain(bound).map(|key| key.len() + 24).sum()
            }
            Self::Unmentioned { key, ty, .. } => key.len() + ty.len(),
        };
        size_of::<Self>() + texts
    }
}

impl VarName {
    /// The name of a variable introduced by the compiler.
    pub(crate) const UNNAMED: Self = Self::Made(Cow::Borrowed("_"));

    fn n_bytes(&self) -> usize {
        match self {
            Self::OfQuestion(_) => 0,
            Self::Written(name) => name.len(),
            Self::Made(name) => name.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_smaller_plan_helps() {
        let large = Refusal::TooLarge { limit: Limit::UnionArms { most: 500 }, rule: None };
        assert!(large.another_plan_may_help());
        let (predicate, var) = ("within".to_owned(), VarName::UNNAMED);
        let unseeded = Refusal::Unseeded { predicate, var, rule: None, wanted: Vec::new() };
        assert!(!unseeded.another_plan_may_help());
    }
}
