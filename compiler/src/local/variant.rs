//! One plan of a question, separated into what the store is asked for and what is left.
//!
//! In: a plan, and later a question's values and a way to read the store. Out: the plan with every value put
//! in, small enough for a text. A filter may have two of them: one enumerates the column's values, the other
//! takes the value as given.

use super::fold::{Fetch, Folded, Folder};
use super::put_literals;
use super::request::{LocalError, SqlRequest};
use super::split::{self, Part, Residual};
use super::types::Types;
use crate::algebra::verify::{Keeps, Open, Verifier};
use crate::algebra::{Condition, Embedded, EmbeddedId, FromKind, Plan, PlanAnswer};
use crate::catalog::{Catalog, ColumnId, RelationSource};
use crate::compile::{self, Target};
use crate::datalog::intern;
use crate::datalog::print::Names;
use crate::dialect::StoreDialect;
use crate::id_vec::IdVec;
use crate::ir::{Constant, RuleId, TypeId};
use crate::keys::Keys;
use crate::optimise::widths;
use crate::plan::{Approach, Planned, Request};
use crate::question::{CompileError, QuestionVarId, ShapeVar, Statement};
use crate::refusal::{Refusal, RuleAtLimit};
use crate::stages::{Changes, Stage};
use indexmap::IndexSet;
use std::collections::BTreeMap;

/// One plan, what it needs from the store, and how to ask for it.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    pub(super) residual: Residual,
    /// For each part the types of its columns.
    pub(super) types: Vec<IdVec<ColumnId, Option<TypeId>>>,
    /// The store that the parts are read from.
    store: StoreDialect,
    /// For each part the statement on the store.
    pub(super) statements: Vec<Statement>,
    pub(super) constants: IndexSet<Constant>,
    pub(super) rules: IndexSet<RuleId>,
    /// The rule that most clauses come from, for messages.
    pub(super) largest_rule: Option<RuleAtLimit>,
    /// The approach that planned it.
    pub(super) approach: Approach,
    /// The question's variables.
    pub(super) vars: IdVec<QuestionVarId, ShapeVar>,
    /// Whether its text depends on the question's values alone, see [`ValuePattern`](super::ValuePattern).
    pub(super) is_by_values: bool,
    /// The variable whose value is the caller's column.
    pub(super) column: Option<QuestionVarId>,
}

impl Variant {
    pub(super) fn new(
        request: &Request<'_>,
        keys: Keys<'_>,
        planned: Planned,
        column: Option<QuestionVarId>,
        store: StoreDialect,
        most_rows: usize,
    ) -> Result<Self, CompileError> {
        let Request { program, catalog, shape, .. } = *request;
        let (approach, constants) = (planned.approach, planned.extra_constants);
        let before = planned.plan;
        let residual = split::split(&before, keys, column, most_rows);
        let parts: Vec<&Plan> = residual.parts.iter().map(|part| &part.plan).collect();
        let verifier = Verifier::of(program, catalog, &constants, &shape.vars);
        parts.iter().try_for_each(|part| verifier.check("split", part))?;
        let embedded: Vec<Option<usize>> = parts.iter().map(|part| Some(part.answer.n_columns())).collect();
        let verifier = Verifier { embedded: &embedded, column, ..verifier };
        verifier.account("split", Keeps::Equals, &before, &residual.plan, &parts)?;
        let types = Types { program, catalog, constants: &constants, shape }.of_parts(&residual);
        let (rules, largest_rule) = (planned.rules, planned.largest_rule);
        let statement = |part: &Part| {
            let planned = part.planned(approach, &constants, largest_rule);
            compile::finish(request, &Target::part(store), planned, &mut |_, _| {})
        };
        let statements = residual.parts.iter().map(statement).collect::<Result<_, _>>()?;
        let is_by_values = residual.is_by_values();
        let vars = shape.vars.clone();
        Ok(Self {
            residual,
            types,
            store,
            statements,
            constants,
            rules,
            largest_rule,
            approach,
            vars,
            is_by_values,
            column,
        })
    }

    /// Whether the filter is a condition on the columns of each row, rather than `column IN (set)`.
    pub(super) fn tests_each_row(&self) -> bool {
        self.column.is_some() && matches!(self.residual.plan.answer, PlanAnswer::Decision(_))
    }

    /// Puts values and rows into the plan.
    pub(super) fn fold<E>(
        &self,
        request: &SqlRequest<'_>,
        fetch: Fetch<'_, E>,
    ) -> Result<(Folded, IndexSet<Constant>), LocalError<E>> {
        let mut constants = self.constants.clone();
        let mut plan = self.residual.plan.clone();
        let constant = |ty: &str, text: &str| {
            let ty = request.question.type_id(request.program, ty);
            intern(request.program, &mut constants, Constant { ty, text: text.to_owned() })
        };
        put_literals::put_values(&mut plan, request.question, request.now, self.column, constant)
            .map_err(LocalError::Compile)?;
        let mut part = |part: EmbeddedId| fetch(part.of(&self.statements), request.most_values);
        let mut folder = Folder {
            program: request.program,
            constants: &mut constants,
            types: &self.types,
            fetch: &mut part,
            fetched: BTreeMap::new(),
            // A part's rows keep its number.
            embedded: self.part_ids().map(|part| Embedded { rows: None, part: Some(part) }).collect(),
        };
        let before = plan.clone();
        let folded = folder.fold(plan).map_err(LocalError::Fetch)?;
        self.check_size(&folded, request).map_err(LocalError::Compile)?;
        let embedded = widths(&folded.embedded);
        let verifier = self.verifier(request, &constants, &embedded);
        verifier
            .account("fold", Keeps::Relations, &before, &folded.plan, &[])
            .map_err(LocalError::Compile)?;
        Ok((folded, constants))
    }

    /// What a plan may refer to once values and rows are in it; `embedded` are the widths of its embedded
    /// sources.
    pub(super) fn verifier<'v>(
        &'v self,
        request: &SqlRequest<'v>,
        constants: &'v IndexSet<Constant>,
        embedded: &'v [Option<usize>],
    ) -> Verifier<'v> {
        let SqlRequest { program, catalog, .. } = *request;
        let column = self.column;
        Verifier { program, catalog, constants, vars: &self.vars, embedded, open: Open::Nothing, column }
    }

    /// Refuses a plan with more values than a text may contain.
    fn check_size(&self, folded: &Folded, request: &SqlRequest<'_>) -> Result<(), CompileError> {
        let used = embedded_sources(&folded.plan);
        for rows in used {
            let embedded = rows.of(&folded.embedded);
            let n_values = embedded.rows.as_ref().map(|rows| rows.iter().map(IdVec::len).sum::<usize>());
            if n_values.is_none_or(|n_values| n_values > request.most_values) {
                return Err(self.too_many(embedded.part, request.most_values, request.catalog));
            }
        }
        if most_literals(&folded.plan) > request.most_values {
            return Err(self.too_many(None, request.most_values, request.catalog));
        }
        Ok(())
    }

    fn too_many(&self, part: Option<EmbeddedId>, most: usize, catalog: &Catalog) -> CompileError {
        let parts: Vec<EmbeddedId> = part.map_or_else(|| self.part_ids().collect(), |part| vec![part]);
        let sources = parts.into_iter().flat_map(|part| &part.of(&self.residual.parts).sources);
        let keys: IndexSet<String> = sources.map(|source| catalog.relations[*source].key()).collect();
        let is_bound = |key: &String| {
            let relations = &mut catalog.relations.iter();
            relations.any(|relation| {
                matches!(relation.source, RelationSource::Bound { .. }) && relation.key() == *key
            })
        };
        let (bound, keys) = keys.into_iter().partition(is_bound);
        CompileError::Refused(Refusal::TooManyValues { keys, bound, most })
    }

    /// The parts for the store and the rest of the plan; then each pass that changed a part.
    pub(super) fn stages(&self, request: &Request<'_>) -> Result<Vec<Stage>, CompileError> {
        let Request { program, catalog, .. } = *request;
        let names =
            Names { program, catalog, extra_constants: &self.constants, question_vars: &IdVec::new() };
        let shown = |id: EmbeddedId, plan: &Plan| {
            titled(&format!("the store is asked for {id:?}"), &names.plan(plan))
        };
        let parts = || self.part_ids().zip(&self.residual.parts);
        let asked: String = parts().map(|(id, part)| shown(id, &part.plan)).collect();
        let left = titled("what is left", &names.plan(&self.residual.plan));
        let mut stages = vec![Stage::new("what the store is asked, and what is left", asked + &left)];
        for (id, part) in parts() {
            let mut changes = Changes::since(shown(id, &part.plan));
            let planned = part.planned(self.approach, &self.constants, self.largest_rule);
            compile::finish(request, &Target::part(self.store), planned, &mut |step, plan| {
                changes.finishing(step, shown(id, plan));
            })?;
            stages.append(&mut changes.stages);
        }
        Ok(stages)
    }

    /// The parts, by the sources that represent them.
    fn part_ids(&self) -> impl Iterator<Item = EmbeddedId> + use<> {
        (0..self.residual.parts.len()).map(EmbeddedId::from_index)
    }

    /// The predicates whose facts a part reads.
    pub(super) fn predicates(&self, part: EmbeddedId, catalog: &Catalog) -> Vec<String> {
        let sources = part.of(&self.residual.parts).sources.iter();
        let names = sources.map(|source| catalog.relations[*source].predicate.clone());
        let names: IndexSet<String> = names.collect();
        names.into_iter().collect()
    }
}

impl Part {
    /// The part as a plan, made in the same way as the plan from which it was split.
    fn planned(
        &self,
        approach: Approach,
        constants: &IndexSet<Constant>,
        largest_rule: Option<RuleAtLimit>,
    ) -> Planned {
        Planned {
            approach,
            plan: self.plan.clone(),
            refusal: None,
            extra_constants: constants.clone(),
            rules: IndexSet::new(),
            largest_rule,
            has_other_end: false,
        }
    }
}

/// A plan's text below a line that states its purpose.
fn titled(title: &str, plan: &str) -> String {
    let lines = plan.lines().map(|line| format!("    {line}\n"));
    format!("{title}\n{}", lines.collect::<String>())
}

/// The embedded sources that a plan reads, ascending.
fn embedded_sources(plan: &Plan) -> Vec<EmbeddedId> {
    let mut found = Vec::new();
    plan.for_each_source(&mut |from| {
        if let FromKind::Embedded(rows) = from.kind {
            found.push(rows);
        }
    });
    found.sort_unstable();
    found.dedup();
    found
}

/// The most literals that one condition of a plan lists.
fn most_literals(plan: &Plan) -> usize {
    let mut most = 0;
    plan.for_each_condition(&mut |condition| {
        if let Condition::OneOf { literals, .. } = condition {
            most = most.max(literals.len());
        }
    });
    most
}
