//! Questions over any predicate of the policy: a conjunction with variables, or one pattern.
//!
//! In: predicate calls over named variables, each with its exact type and optionally its ids; or, for the
//! older form, one fact with wildcards. Out: the assignments under which all calls hold, sorted; `None` means
//! *any value*.

use super::answers::{Row, expected, read};
use super::{Engine, EngineError, facts, questions};
use crate::store::{ArgPattern, ConsistentRead, Fact, FactPattern, Reader, Value, Work};
use portcullis_compiler::builtin::is_abstract;
use portcullis_compiler::id_vec::IdVec;
use portcullis_compiler::question::{
    AnswerColumn, Domain, Question, QuestionAtom, QuestionVar, QuestionVarId,
};
use std::collections::{BTreeMap, BTreeSet};

/// A conjunction of predicate calls over variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvaluateQuery {
    /// The calls: a predicate's name and the names of its variables. All must hold.
    pub atoms: Vec<(String, Vec<String>)>,
    /// What is known of each variable.
    pub vars: BTreeMap<String, EvaluateVar>,
}

/// What is known of one variable of an [`EvaluateQuery`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluateVar {
    /// Its exact, concrete type.
    pub ty: String,
    /// Its possible values; `None` if it is asked for.
    pub ids: Option<Vec<String>>,
}

/// One answer of an [`EvaluateQuery`]: every variable with its id, `None` for any.
pub type Assignment = BTreeMap<String, Option<String>>;

/// A fact that a pattern matched, stored or derived.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnsweredFact {
    /// The predicate's name.
    pub predicate: String,
    /// Its arguments, with a wildcard for any value, or any value of a type.
    pub args: Vec<ArgPattern>,
}

impl Engine {
    /// The assignments that make a conjunction hold.
    pub async fn evaluate(
        &self,
        query: EvaluateQuery,
        context: Vec<Fact>,
    ) -> Result<Vec<Assignment>, EngineError> {
        query.check(self.settings().question_atoms)?;
        self.consistently(|attempt| self.assignments(attempt, &query, &context)).await
    }

    async fn assignments(
        &self,
        attempt: ConsistentRead<'_>,
        query: &EvaluateQuery,
        context: &[Fact],
    ) -> Result<Vec<Assignment>, EngineError> {
        let Some(view) = self.view(&attempt, context)? else { return Ok(Vec::new()) };
        let (_, question) = query.question();
        questions::check_predicates(view.program(), &question)?;
        if query.vars.values().any(|var| var.ids.as_ref().is_some_and(Vec::is_empty)) {
            return Ok(Vec::new());
        }
        let whole = view.prepare(&question).await?;
        let conjunction = view.conjunction(whole, &question, query.unused()).await?;
        let expected = conjunction.expected();
        read(&attempt, expected, move |reader| conjunction.answers(reader)).await
    }

    /// The facts, stored or derived, that match a pattern.
    pub async fn query(
        &self,
        pattern: FactPattern,
        context: Vec<Fact>,
    ) -> Result<Vec<AnsweredFact>, EngineError> {
        facts::check_pattern(&pattern)?;
        let Some(predicate) = &pattern.predicate else {
            return Err(EngineError::BadRequest("a query must name its predicate".into()));
        };
        self.consistently(|attempt| self.matches(attempt, predicate, &pattern, &context)).await
    }

    async fn matches(
        &self,
        attempt: ConsistentRead<'_>,
        predicate: &str,
        pattern: &FactPattern,
        context: &[Fact],
    ) -> Result<Vec<AnsweredFact>, EngineError> {
        let Some(view) = self.view(&attempt, context)? else { return Ok(Vec::new()) };
        questions::check_predicate(view.program(), predicate, pattern.args.len())?;
        let Some(question) = questions::matching(predicate, pattern) else { return Ok(Vec::new()) };
        let prepared = view.prepare(&question).await?;
        let expected = expected([&prepared]);
        let (predicate, pattern) = (predicate.to_owned(), pattern.args.clone());
        let answers = move |reader: &Reader| {
            let rows = prepared.answers(reader)?;
            reader.count(Work::Answers(rows.len()))?;
            let answered = |row| AnsweredFact {
                predicate: predicate.clone(),
                args: answered_args(&pattern, prepared.columns(), row),
            };
            let mut answers: Vec<AnsweredFact> = rows.into_iter().map(answered).collect();
            answers.sort_unstable();
            answers.dedup();
            Ok(answers)
        };
        read(&attempt, expected, answers).await
    }
}

impl EvaluateQuery {
    pub(super) fn check(&self, max_atoms: usize) -> Result<(), EngineError> {
        let bad = |text: String| Err(EngineError::BadRequest(text));
        if self.atoms.len() > max_atoms {
            let n = self.atoms.len();
            return Err(EngineError::TooLarge(format!(
                "the query has {n} calls, at most {max_atoms} are allowed: make them one rule, and ask for that"
            )));
        }
        for (predicate, args) in &self.atoms {
            facts::check_predicate_name(predicate)?;
            if let Some(var) = args.iter().find(|var| !self.vars.contains_key(*var)) {
                return bad(format!(
                    "variable `{var}` of `{predicate}` is not in the constraints: add `{var}` to `constraints`"
                ));
            }
        }
        for (name, var) in &self.vars {
            facts::check_type(&format!("variable `{name}`"), &var.ty)?;
            if is_abstract(&var.ty) {
                let ty = &var.ty;
                return bad(format!("variable `{name}` has type `{ty}`: use a concrete type"));
            }
            for id in var.ids.iter().flatten() {
                facts::check_value(&Value { ty: var.ty.clone(), id: id.clone() })?;
            }
        }
        Ok(())
    }

    /// The variables that the calls use, in order of first use, and the question over them.
    pub(super) fn question(&self) -> (IdVec<QuestionVarId, String>, Question) {
        let mut names: IdVec<QuestionVarId, String> = IdVec::new();
        let mut named =
            |var: &String| names.position(|name| name == var).unwrap_or_else(|| names.push(var.clone()));
        let atom = |(predicate, args): &(String, Vec<String>)| QuestionAtom {
            predicate: predicate.clone(),
            args: args.iter().map(&mut named).collect(),
        };
        let atoms = self.atoms.iter().map(atom).collect();
        let used = names.iter().filter_map(|name| Some((name, self.vars.get(name)?)));
        let vars = used.map(|(name, var)| var.named(name));
        let question = Question { atoms, vars: vars.collect(), paged: false };
        (names, question)
    }

    /// The variables that no call uses, with their possible values: their ids, or any.
    fn unused(&self) -> Vec<(String, Vec<Option<String>>)> {
        let used: BTreeSet<&String> = self.atoms.iter().flat_map(|(_, args)| args).collect();
        let unused = self.vars.iter().filter(|(name, _)| !used.contains(name));
        let values = |var: &EvaluateVar| match &var.ids {
            None => vec![None],
            Some(ids) => ids.iter().collect::<BTreeSet<_>>().into_iter().cloned().map(Some).collect(),
        };
        unused.map(|(name, var)| (name.clone(), values(var))).collect()
    }
}

impl EvaluateVar {
    /// The question's variable with this name.
    pub(super) fn named(&self, name: &str) -> QuestionVar {
        QuestionVar { name: name.to_owned(), ty: Some(self.ty.clone()), domain: self.domain() }
    }

    fn domain(&self) -> Domain {
        match self.ids.as_deref() {
            None => Domain::Wanted,
            Some([id]) => Domain::Given(id.clone()),
            Some(ids) => {
                Domain::GivenOneOf(ids.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect())
            }
        }
    }
}

/// A pattern's arguments, with the values of one answer in place of its wildcards.
fn answered_args(pattern: &[ArgPattern], columns: &[AnswerColumn], row: Row) -> Vec<ArgPattern> {
    let mut types: IdVec<QuestionVarId, Option<String>> = pattern
        .iter()
        .map(|arg| match arg {
            ArgPattern::Any => None,
            ArgPattern::Typed(ty) | ArgPattern::Exact(Value { ty, .. }) => Some(ty.clone()),
        })
        .collect();
    let mut ids: IdVec<QuestionVarId, Option<String>> = pattern
        .iter()
        .map(|arg| match arg {
            ArgPattern::Any | ArgPattern::Typed(_) => None,
            ArgPattern::Exact(value) => Some(value.id.clone()),
        })
        .collect();
    for (column, text) in columns.iter().zip(row) {
        match column {
            AnswerColumn::Id(var) => ids[*var] = text,
            AnswerColumn::Type(var) => types[*var] = text,
        }
    }
    let answered = |(ty, id)| match (ty, id) {
        (None, _) => ArgPattern::Any,
        (Some(ty), None) => ArgPattern::Typed(ty),
        (Some(ty), Some(id)) => ArgPattern::Exact(Value { ty, id }),
    };
    types.into_iter().zip(ids).map(answered).collect()
}
