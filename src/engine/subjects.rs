//! Lists the actors that may act on a resource, completely or in pages.
//!
//! In: an action, a resource, optionally the types of actors, optionally a [`SubjectsPage`]. Out: actors in a
//! fixed order, by type and then by id, and where the next page starts. Without types the question is about
//! actors of every type, so no type that the policy grants to can be missing. A grant to everyone is an
//! answer of its own: every actor of a type ([`ArgPattern::Typed`]), or of any type ([`ArgPattern::Any`]);
//! it precedes the single actors that it covers.
//!
//! A page is read from the statement of the whole list, and rows up to its start are skipped. Like a page of
//! [`super::pages`], it starts *after an actor*, not at a row number.

use super::answers::{Prepared, Unanswered, charge, expected, read};
use super::{Engine, EngineError, facts, questions};
use crate::share::Meter;
use crate::store::{ArgPattern, ConsistentRead, Fact, Reader, Value};
use portcullis_compiler::builtin::is_abstract;
use portcullis_compiler::compact::{Compact, compact};
use portcullis_compiler::question::AnswerColumn;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The maximum number of types in one question.
const MAX_TYPES: usize = 100;

/// Who may do this to the resource?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectsQuestion {
    /// The action.
    pub action: String,
    /// The resource.
    pub resource: Value,
    /// The types of actors; `None` for all types.
    pub types: Option<BTreeSet<String>>,
}

/// The requested part of a list of actors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectsPage {
    /// The maximum number of actors; at least 1.
    pub size: usize,
    /// The [`SubjectList::next_after`] of the previous page; `None` for the first page.
    pub after: Option<ArgPattern>,
}

/// A list of actors, or one page of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectList {
    /// The distinct actors, sorted; a pattern without an id means every actor.
    pub subjects: Vec<ArgPattern>,
    /// Where the next page starts; `None` if there is none.
    pub next_after: Option<ArgPattern>,
}

/// A question about one type, or about all types, ready to run.
struct TypeQuestion {
    ty: Option<String>,
    prepared: Prepared,
}

impl Engine {
    /// The actors that may do this to the resource.
    pub async fn list_subjects(
        &self,
        question: SubjectsQuestion,
        page: Option<SubjectsPage>,
        context: Vec<Fact>,
    ) -> Result<SubjectList, EngineError> {
        question.check()?;
        let (size, after) = match page {
            Some(SubjectsPage { size, after }) => (size, after),
            None => (usize::MAX, None),
        };
        // One more actor than the page holds shows whether there is a next one.
        let most = size.saturating_add(1);
        let mut subjects = self
            .consistently(|attempt| self.subjects(attempt, &question, after.as_ref(), most, &context))
            .await?;
        let more = subjects.len() > size;
        subjects.truncate(size);
        let next_after = subjects.last().filter(|_| more).cloned();
        Ok(SubjectList { subjects, next_after })
    }

    async fn subjects(
        &self,
        attempt: ConsistentRead<'_>,
        SubjectsQuestion { action, resource, types }: &SubjectsQuestion,
        after: Option<&ArgPattern>,
        most: usize,
        context: &[Fact],
    ) -> Result<Vec<ArgPattern>, EngineError> {
        let Some(view) = self.view(&attempt, context)? else { return Ok(Vec::new()) };
        let types: Vec<Option<String>> = match types {
            None => vec![None],
            Some(types) => types.iter().cloned().map(Some).collect(),
        };
        let mut asked = Vec::with_capacity(types.len());
        for ty in types {
            if let Some(question) = questions::subjects(ty.as_deref(), action, resource) {
                let prepared = view.prepare(&question).await?;
                asked.push(TypeQuestion { ty, prepared });
            }
        }
        let expected = expected(asked.iter().map(|asked| &asked.prepared));
        let after = after.cloned();
        let list = move |reader: &Reader| {
            reader.snapshot(|reader| {
                let mut found = Vec::new();
                let Some(mut meter) = asked.first().map(|first| first.prepared.meter()) else {
                    return Ok(found);
                };
                for asked in &asked {
                    asked.read(reader, after.as_ref(), most, &mut meter, &mut found)?;
                }
                Ok(found)
            })
        };
        read(&attempt, expected, list).await
    }
}

impl SubjectsQuestion {
    fn check(&self) -> Result<(), EngineError> {
        facts::check_action(&self.action)?;
        facts::check_entity("resource", &self.resource)?;
        let Some(types) = &self.types else { return Ok(()) };
        let bad = |text: String| Err(EngineError::BadRequest(text));
        if types.is_empty() {
            return bad("the list of actor types is empty: leave it out to ask about all types".into());
        }
        if types.len() > MAX_TYPES {
            let n = types.len();
            return Err(EngineError::TooLarge(format!(
                "the question has {n} actor types, at most {MAX_TYPES} are allowed: ask for them in several requests"
            )));
        }
        types.iter().try_for_each(|ty| check_actor_type(ty))
    }
}

/// Refuses a type that no actor has, so that an empty answer does not look like "no one".
pub(super) fn check_actor_type(ty: &str) -> Result<(), EngineError> {
    facts::check_type("actor", ty)?;
    if is_abstract(ty) {
        return Err(EngineError::BadRequest(format!("no actor has the type `{ty}`: use a concrete type")));
    }
    Ok(())
}

impl TypeQuestion {
    /// Adds the actors after this one, until there are `most`.
    fn read(
        &self,
        reader: &Reader,
        after: Option<&ArgPattern>,
        most: usize,
        meter: &mut Meter,
        found: &mut Vec<ArgPattern>,
    ) -> Result<(), Unanswered> {
        if found.len() >= most {
            return Ok(());
        }
        let after = after.map(sort_key);
        let columns = self.prepared.columns();
        self.prepared.each(reader, |row| {
            if after.as_ref().is_some_and(|after| self.sort_key_of(columns, row) <= *after) {
                return Ok(ControlFlow::Continue(()));
            }
            charge(meter, row)?;
            found.push(self.subject(columns, row));
            Ok(if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })
    }

    /// The type and the id in a row.
    fn parts<'r>(
        &'r self,
        columns: &[AnswerColumn],
        row: &'r [Option<Cow<'_, str>>],
    ) -> (Option<&'r str>, Option<&'r str>) {
        let mut parts = (self.ty.as_deref(), None);
        for (column, value) in columns.iter().zip(row) {
            match column {
                AnswerColumn::Type(_) => parts.0 = value.as_deref(),
                AnswerColumn::Id(_) => parts.1 = value.as_deref(),
            }
        }
        parts
    }

    fn sort_key_of<'r>(&'r self, columns: &[AnswerColumn], row: &'r [Option<Cow<'_, str>>]) -> SortKey<'r> {
        let (ty, id) = self.parts(columns, row);
        (ty.map(compact), id.map(compact))
    }

    fn subject(&self, columns: &[AnswerColumn], row: &[Option<Cow<'_, str>>]) -> ArgPattern {
        match self.parts(columns, row) {
            (Some(ty), Some(id)) => ArgPattern::Exact(Value { ty: ty.to_owned(), id: id.to_owned() }),
            (Some(ty), None) => ArgPattern::Typed(ty.to_owned()),
            (None, _) => ArgPattern::Any,
        }
    }
}

/// The sort key of an actor: the list is in the order of the statement, which puts NULL first.
type SortKey<'a> = (Option<Compact<'a>>, Option<Compact<'a>>);

fn sort_key(subject: &ArgPattern) -> SortKey<'_> {
    match subject {
        ArgPattern::Any => (None, None),
        ArgPattern::Typed(ty) => (Some(compact(ty)), None),
        ArgPattern::Exact(Value { ty, id }) => (Some(compact(ty)), Some(compact(id))),
    }
}
