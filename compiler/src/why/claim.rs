//! Whether what an attempt lacks is false in every form of its predicate.
//!
//! Each attempt is about one clause, and a clause reads one relation of each predicate that its rule reads:
//! the predicate may hold in another relation, which another clause of the rule reads. So before a condition
//! is said to fail, all relations of its predicate are searched, also those that the question did not need.

use super::atoms::Attempted;
use super::rows::Rows;
use super::run::{Needs, Run};
use super::state::AnswerTableId;
use super::values::Value;
use super::world::{Fault, World};
use crate::catalog::RelationArg;
use crate::datalog::{Adornment, Goal, RelId, Term};
use crate::ir::{self, BodyLiteralId, LiteralKind, TypeId, VarId};
use crate::specialise::CallId;

/// A condition with the values of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sought {
    place: AnsweredBy,
    args: Vec<KnownArg>,
}

/// What answers a condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum AnsweredBy {
    /// The relations of a call.
    Call(CallId),
    /// The relations of the catalog with this predicate.
    Facts(String),
}

/// What is known of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct KnownArg {
    ty: Option<TypeId>,
    value: Option<Value>,
    /// The variable, if it has no value.
    open: Option<VarId>,
}

/// A value of an answer, with its type; `None` for any.
type ClaimedValue = (Option<TypeId>, Option<Value>);

/// What was found of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nothing answers it. These goals say so.
    Fails(Vec<AnswerTableId>),
    /// Only values that differ where they must be equal would answer it.
    Differs,
    /// Something answers it.
    Holds,
    /// It only tests a value that nothing binds.
    Open,
}

impl Sought {
    /// The condition of a goal.
    pub(super) fn of<R: Rows>(
        world: &mut World<'_, R>,
        attempted: &Attempted<'_>,
        literal: BodyLiteralId,
        goal: &Goal,
    ) -> Option<Self> {
        let place = match goal {
            Goal::Call { rel, .. } => AnsweredBy::Call(world.rules.traced.relations[*rel].call),
            Goal::Scan { source, .. } => {
                AnsweredBy::Facts(world.rules.catalog.relations[*source].predicate.clone())
            }
            Goal::Compare { .. } | Goal::Values { .. } => return None,
        };
        let args = match attempted.rule {
            None => {
                let vars = &world.question_atom(literal).args;
                vars.iter().map(|var| variable(world, attempted, var.in_clause())).collect()
            }
            Some(rule) => match &rule.body[literal].kind {
                LiteralKind::Atom { args, .. } => {
                    args.iter().map(|term| argument(world, attempted, *term)).collect()
                }
                LiteralKind::Compare { .. }
                | LiteralKind::OneOf { .. }
                | LiteralKind::NotOfType { .. }
                | LiteralKind::False => return None,
            },
        };
        Some(Self { place, args })
    }

    /// Asks for it in every relation of its predicate.
    pub(super) fn claim<R: Rows>(&self, run: &mut Run<'_, '_, R>) -> Result<Claim, Fault<R::Error>> {
        match &self.place {
            AnsweredBy::Call(call) => self.called(run, *call),
            AnsweredBy::Facts(predicate) => self.stored(run.world, predicate),
        }
    }

    /// The same condition with values of any type where there is none.
    pub(super) fn of_any_type(&self) -> Self {
        let any = |arg: &KnownArg| KnownArg { ty: arg.ty.filter(|_| arg.value.is_some()), ..*arg };
        Self { place: self.place.clone(), args: self.args.iter().map(any).collect() }
    }

    /// Takes values of any type where there is none and another condition has another type.
    pub(super) fn widen(&mut self, other: &Self) {
        for (arg, other) in self.args.iter_mut().zip(&other.args) {
            if arg.value.is_none() && arg.ty != other.ty {
                arg.ty = None;
            }
        }
    }

    fn called<R: Rows>(&self, run: &mut Run<'_, '_, R>, call: CallId) -> Result<Claim, Fault<R::Error>> {
        let relations = &run.world.rules.traced.relations;
        let answering: Vec<RelId> = relations.ids().filter(|rel| relations[*rel].call == call).collect();
        let (mut tables, mut differs, mut is_open) = (Vec::new(), false, false);
        for rel in answering {
            run.world.work(1)?;
            let adornments = &relations[rel].adornments;
            let fixed: Vec<ClaimedValue> =
                adornments.iter().map(|adornment| fixed(run.world, *adornment)).collect();
            if !self.admits(&fixed) {
                continue;
            }
            let columns = || self.args.iter().zip(adornments).filter(|(_, adornment)| adornment.has_column());
            if columns().any(|(arg, adornment)| arg.value.is_none() && adornment.is_tested()) {
                is_open = true;
                continue;
            }
            let key = columns().map(|(arg, _)| arg.value).collect();
            let needs = if self.repeats() { Needs::All } else { Needs::Any };
            let table = match run.settle((Some(rel), key), needs) {
                Ok(table) => table,
                Err(Fault::Open(_)) => {
                    is_open = true;
                    continue;
                }
                Err(fault) => return Err(fault),
            };
            tables.push(table);
            for answer in &run.state.tables[table].answers {
                let mut values = run.state.answers[*answer].tuple.iter().copied();
                let value = |(adornment, (ty, value)): (&Adornment, &ClaimedValue)| {
                    (*ty, if adornment.has_column() { values.next() } else { *value })
                };
                let cells: Vec<ClaimedValue> = adornments.iter().zip(&fixed).map(value).collect();
                if self.is_equal(&cells) {
                    return Ok(Claim::Holds);
                }
                differs = true;
            }
        }
        Ok(match (is_open, differs) {
            (true, _) => Claim::Open,
            (false, true) => Claim::Differs,
            (false, false) => Claim::Fails(tables),
        })
    }

    fn stored<R: Rows>(&self, world: &mut World<'_, R>, predicate: &str) -> Result<Claim, Fault<R::Error>> {
        let (program, rules) = (world.program, world.rules);
        let mut differs = false;
        for (source, relation) in rules.catalog.relations.enumerate().take(rules.n_stored) {
            if relation.predicate != predicate || relation.args.len() != self.args.len() {
                continue;
            }
            // Rules match no value of a type that the policy does not mention in a fact.
            let fixed = relation.args.iter().map(|arg| match arg {
                RelationArg::Column { ty, .. } => Some((Some(program.type_id(ty)?), None)),
                RelationArg::Constant { ty, text } => {
                    Some((Some(program.type_id(ty)?), Some(world.values.of(text))))
                }
            });
            let fixed: Option<Vec<ClaimedValue>> = fixed.collect();
            let Some(fixed) = fixed.filter(|fixed| self.admits(fixed)) else { continue };
            let is_column = |arg: &RelationArg| matches!(arg, RelationArg::Column { .. });
            let columns = self.args.iter().zip(&relation.args).filter(|(_, arg)| is_column(arg));
            let query = (source, columns.map(|(arg, _)| arg.value).collect());
            for row in world.fetch_all(&query)?.rows.iter() {
                let mut values = row.iter().copied();
                let value = |(arg, (ty, value)): (&RelationArg, &ClaimedValue)| {
                    (*ty, if is_column(arg) { values.next() } else { *value })
                };
                let cells: Vec<ClaimedValue> = relation.args.iter().zip(&fixed).map(value).collect();
                if self.is_equal(&cells) {
                    return Ok(Claim::Holds);
                }
                differs = true;
            }
        }
        Ok(if differs { Claim::Differs } else { Claim::Fails(Vec::new()) })
    }

    /// Whether answers with these values may be the ones that are sought.
    fn admits(&self, fixed: &[ClaimedValue]) -> bool {
        self.args.iter().zip(fixed).all(|(arg, cell)| is_one((arg.ty, arg.value), *cell))
    }

    /// Whether it has a variable without a value in two places.
    fn repeats(&self) -> bool {
        self.pairs().next().is_some()
    }

    /// Whether an answer has equal values where it must.
    fn is_equal(&self, cells: &[ClaimedValue]) -> bool {
        self.pairs().all(|(one, other)| match (cells.get(one), cells.get(other)) {
            (Some(one), Some(other)) => is_one(*one, *other),
            (None, _) | (_, None) => false,
        })
    }

    /// The places of arguments that must be equal.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let open = || self.args.iter().enumerate().filter_map(|(at, arg)| Some((at, arg.open?)));
        open().flat_map(move |(at, var)| {
            let later = open().filter(move |(other, same)| *other > at && *same == var);
            later.map(move |(other, _)| (at, other))
        })
    }
}

/// Whether two things may be the same value.
fn is_one(one: ClaimedValue, other: ClaimedValue) -> bool {
    let types = one.0.zip(other.0).is_none_or(|(one, other)| one == other);
    types && one.1.zip(other.1).is_none_or(|(one, other)| one == other)
}

/// What every answer has where a relation has this adornment.
fn fixed<R: Rows>(world: &mut World<'_, R>, adornment: Adornment) -> ClaimedValue {
    match adornment {
        Adornment::Literal(literal) => {
            let held = crate::datalog::constant(world.program, &world.rules.traced.extra_constants, literal);
            (held.map(|held| held.ty), Some(world.constant(literal)))
        }
        Adornment::Column(ty) => (Some(ty), None),
        Adornment::Tested(ty) | Adornment::Same { ty, .. } | Adornment::Unconstrained(ty) => (ty, None),
    }
}

fn argument<R: Rows>(world: &mut World<'_, R>, attempted: &Attempted<'_>, term: ir::Term) -> KnownArg {
    match term {
        ir::Term::Var(var) => variable(world, attempted, var),
        ir::Term::Const(literal) => {
            let ty = world.program.literal(literal).ty;
            KnownArg { ty: Some(ty), value: Some(world.constant(literal)), open: None }
        }
        ir::Term::Now => {
            KnownArg { ty: Some(TypeId::INTEGER), value: world.term(Term::Now, attempted.env), open: None }
        }
    }
}

fn variable<R: Rows>(world: &mut World<'_, R>, attempted: &Attempted<'_>, var: VarId) -> KnownArg {
    let (term, ty) = attempted.traced.vars[var];
    let value = attempted.value(world, var);
    let open = match term {
        Term::Var(var) if value.is_none() => Some(var),
        Term::Var(_) | Term::Const(_) | Term::Given(_) | Term::Now | Term::Local(_) | Term::Ignored => None,
    };
    KnownArg { ty, value, open }
}
