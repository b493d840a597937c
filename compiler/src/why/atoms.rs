//! Rules and goals with their values, as people write them.

use super::explanation::{Arg, Atom, MetCondition};
use super::rows::Rows;
use super::state::{AnswerId, Derivations, Env, FrameId};
use super::values::Value;
use super::world::World;
use crate::catalog::{RelationArg, SourceId};
use crate::datalog::Adornment;
use crate::ir::{
    BodyLiteralId, CompareOp, Literal, LiteralKind, Polarity, PredId, Program, Rule, Term, TypeId, VarId,
};
use crate::question::QuestionVarId;
use crate::specialise::TracedClause;
use std::fmt;

/// One attempt: its clause, its rule if it has one, and the values of its variables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempted<'s> {
    pub(super) traced: &'s TracedClause,
    pub(super) rule: Option<&'s Rule>,
    pub(super) env: &'s Env,
}

impl<'s> Attempted<'s> {
    /// The clause and the values of an attempt.
    pub(super) fn of<'w: 's, R: Rows>(
        world: &World<'w, R>,
        state: &'s Derivations,
        frame: FrameId,
    ) -> Attempted<'s> {
        Self::with(world, state, frame, &state.frames[frame].env)
    }

    /// The clause of an attempt, with these values.
    pub(super) fn with<'w: 's, R: Rows>(
        world: &World<'w, R>,
        state: &Derivations,
        frame: FrameId,
        env: &'s Env,
    ) -> Attempted<'s> {
        let traced = world.clause(state, frame);
        let rule = traced.clause.rule.map(|rule| &world.program.rules[rule]);
        Attempted { traced, rule, env }
    }

    /// The value of a variable of the rule or of the question. A clause that was made for one resource may
    /// differ from what the question asks: what it lacks is then said of the question's value. In a question
    /// of several predicates the clause's other values belong to its own.
    pub(super) fn value<R: Rows>(&self, world: &mut World<'_, R>, var: VarId) -> Option<Value> {
        let own = world.term(self.traced.vars[var].0, self.env);
        if self.rule.is_some() || world.question.atoms.len() > 1 {
            return own;
        }
        match world.given(var.in_question()) {
            [only] => Some(*only),
            _ => own,
        }
    }

    /// The values of its variables, with those of a goal where the rule holds of every value.
    pub(super) fn asked_for<R: Rows>(&self, world: &mut World<'_, R>, goal: &Atom) -> Env {
        let mut env = self.env.clone();
        let params = self.rule.map_or(&[][..], |rule| rule.params.as_slice());
        for (param, arg) in params.iter().zip(&goal.args) {
            let (Term::Var(var), Some(id)) = (param, &arg.id) else { continue };
            if let (crate::datalog::Term::Var(root), _) = self.traced.vars[*var]
                && env[root].is_none()
            {
                env[root] = Some(world.values.of(id));
            }
        }
        env
    }
}

/// What an answer says.
pub(super) fn answered<R: Rows>(
    world: &mut World<'_, R>,
    state: &Derivations,
    answer: AnswerId,
) -> Option<Atom> {
    let answer = &state.answers[answer];
    let relation = &world.rules.traced.relations[state.tables[answer.table].key.0?];
    let mut tuple = answer.tuple.iter().copied();
    let mut args = Vec::with_capacity(relation.adornments.len());
    for adornment in &relation.adornments {
        args.push(match *adornment {
            Adornment::Literal(literal) => {
                let value = world.constant(literal);
                let held =
                    crate::datalog::constant(world.program, &world.rules.traced.extra_constants, literal);
                arg(world, held.map(|held| held.ty), Some(value))
            }
            Adornment::Column(ty) => arg(world, Some(ty), tuple.next()),
            Adornment::Tested(ty) | Adornment::Same { ty, .. } => arg(world, ty, tuple.next()),
            Adornment::Unconstrained(ty) => arg(world, ty, None),
        });
    }
    Some(Atom { predicate: predicate(world.program, relation.pred), args })
}

/// A condition that is a predicate, or the question's atom, with the values of an attempt.
pub(super) fn literal_atom<R: Rows>(
    world: &mut World<'_, R>,
    attempted: &Attempted<'_>,
    literal: BodyLiteralId,
) -> Option<Atom> {
    let Some(rule) = attempted.rule else {
        let atom = world.question_atom(literal);
        let args = atom.args.iter().map(|var| variable(world, attempted, var.in_clause())).collect();
        return Some(Atom { predicate: atom.predicate.clone(), args });
    };
    match &rule.body[literal].kind {
        LiteralKind::Atom { pred, args, .. } => {
            let args = args.iter().map(|term| rule_arg(world, attempted, *term)).collect();
            Some(Atom { predicate: predicate(world.program, *pred), args })
        }
        LiteralKind::Compare { .. }
        | LiteralKind::OneOf { .. }
        | LiteralKind::NotOfType { .. }
        | LiteralKind::False => None,
    }
}

/// A negation with the values of an attempt: nothing like it holds. If a value of it is *fresh*, or a
/// variable without a value appears in it twice, it is written out as a test, because an atom would also
/// deny facts with other values.
pub(super) fn absent<R: Rows>(
    world: &mut World<'_, R>,
    attempted: &Attempted<'_>,
    literal: BodyLiteralId,
) -> Option<MetCondition> {
    let atom = literal_atom(world, attempted, literal)?;
    let Some(rule) = attempted.rule else { return Some(MetCondition::Absent(atom)) };
    let LiteralKind::Atom { args, .. } = &rule.body[literal].kind else { return None };
    let mut fresh = FreshValues::default();
    let mut is_named = false;
    let mut shown = Vec::with_capacity(args.len());
    for (at, arg) in args.iter().enumerate() {
        let repeats = args.iter().enumerate().any(|(other, same)| other != at && same == arg);
        let open = fresh.note(world, attempted, rule, *arg);
        shown.push(match open {
            Some((name, is_fresh)) if is_fresh || repeats => {
                is_named = true;
                name
            }
            Some(_) | None => rule_arg(world, attempted, *arg).to_string(),
        });
    }
    if !is_named {
        return Some(MetCondition::Absent(atom));
    }
    Some(MetCondition::Test(format!("not {}({}){fresh}", atom.predicate, shown.join(", "))))
}

/// The fresh variables of a condition: they have no value, and other conditions test them as well. The rule
/// holds for any value that no fact names.
#[derive(Debug, Default)]
struct FreshValues(Vec<String>);

impl FreshValues {
    /// The name of a variable without a value, and whether it is fresh. Notes the fresh ones.
    fn note<R: Rows>(
        &mut self,
        world: &mut World<'_, R>,
        attempted: &Attempted<'_>,
        rule: &Rule,
        term: Term,
    ) -> Option<(String, bool)> {
        let Term::Var(var) = term else { return None };
        let Arg { ty, id: None } = variable(world, attempted, var) else { return None };
        let name = rule.vars[var].name.clone();
        let is_fresh = n_uses(rule, term) > 1;
        if is_fresh {
            let shown = format!("any {} {name}", ty.as_deref().unwrap_or("value"));
            if !self.0.contains(&shown) {
                self.0.push(shown);
            }
        }
        Some((name, is_fresh))
    }
}

impl fmt::Display for FreshValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => Ok(()),
            new => write!(f, ", for {} that no fact names", new.join(" and ")),
        }
    }
}

/// In how many conditions of a rule a term appears; the head counts as one.
fn n_uses(rule: &Rule, term: Term) -> usize {
    let stands = |literal: &&Literal| match &literal.kind {
        LiteralKind::Atom { args, .. } => args.contains(&term),
        LiteralKind::Compare { left, right, .. } => [*left, *right].contains(&term),
        LiteralKind::OneOf { term: tested, .. } => *tested == term,
        LiteralKind::NotOfType { var, .. } => Term::Var(*var) == term,
        LiteralKind::False => false,
    };
    rule.body.iter().filter(stands).count() + usize::from(rule.params.contains(&term))
}

/// A condition that is not a predicate, with the values of an attempt.
pub(super) fn test<R: Rows>(
    world: &mut World<'_, R>,
    attempted: &Attempted<'_>,
    literal: &Literal,
) -> String {
    match &literal.kind {
        LiteralKind::Compare { op, left, right } => {
            let mut fresh = FreshValues::default();
            let [one, other] = [left, right].map(|term| {
                let open = attempted.rule.and_then(|rule| fresh.note(world, attempted, rule, *term));
                open.map_or_else(|| rule_arg(world, attempted, *term).to_string(), |(name, _)| name)
            });
            let text = match attempted.rule {
                Some(rule) => comparison_text(world.program, rule, *op, (*left, one), (*right, other)),
                None => format!("{one} {op} {other}"),
            };
            format!("{text}{fresh}")
        }
        LiteralKind::OneOf { polarity, term, values } => {
            let term = rule_arg(world, attempted, *term);
            let not = match polarity {
                Polarity::Positive => "",
                Polarity::Negated => "not ",
            };
            let values = values.iter().map(|value| crate::ir::print::constant(world.program, *value));
            format!("{term} {not}in [{}]", values.collect::<Vec<_>>().join(", "))
        }
        LiteralKind::NotOfType { var, types } => {
            let value = rule_arg(world, attempted, Term::Var(*var));
            let types: Vec<&str> = types.iter().map(|ty| world.program.types[*ty].name.as_str()).collect();
            format!("{value} is not of type {}", types.join(" or "))
        }
        LiteralKind::False => "false".to_owned(),
        LiteralKind::Atom { .. } => world.program.source.snippet(literal.span).to_owned(),
    }
}

/// A comparison as its rule writes it, then with values: `n >= @current_unix_time: 2 >= 1700000000`.
pub(super) fn comparison_text(
    program: &Program,
    rule: &Rule,
    op: CompareOp,
    (left, one): (Term, String),
    (right, other): (Term, String),
) -> String {
    let written = |term: Term| match term {
        Term::Var(var) => rule.vars[var].name.clone(),
        Term::Const(literal) => crate::ir::print::constant(program, literal),
        Term::Now => "@current_unix_time".to_owned(),
    };
    let (written, valued) =
        (format!("{} {op} {}", written(left), written(right)), format!("{one} {op} {other}"));
    if written == valued { valued } else { format!("{written}: {valued}") }
}

/// The fact in a relation of the catalog with these values.
pub(super) fn fact<R: Rows>(world: &World<'_, R>, source: SourceId, values: &[Option<Value>]) -> Atom {
    let relation = &world.rules.catalog.relations[source];
    let mut values = values.iter().copied();
    let args = relation.args.iter().map(|arg| match arg {
        RelationArg::Column { ty, .. } => {
            let value = values.next().flatten();
            Arg { ty: Some(ty.clone()), id: value.map(|value| world.values.text(value).to_owned()) }
        }
        RelationArg::Constant { ty, text } => Arg { ty: Some(ty.clone()), id: Some(text.clone()) },
    });
    Atom { predicate: relation.predicate.clone(), args: args.collect() }
}

fn rule_arg<R: Rows>(world: &mut World<'_, R>, attempted: &Attempted<'_>, term: Term) -> Arg {
    match term {
        Term::Var(var) => variable(world, attempted, var),
        Term::Const(literal) => {
            let value = world.constant(literal);
            arg(world, Some(world.program.literal(literal).ty), Some(value))
        }
        Term::Now => {
            let value = world.term(crate::datalog::Term::Now, attempted.env);
            arg(world, Some(TypeId::INTEGER), value)
        }
    }
}

/// A variable of the rule or of the question.
fn variable<R: Rows>(world: &mut World<'_, R>, attempted: &Attempted<'_>, var: VarId) -> Arg {
    let value = attempted.value(world, var);
    let found = arg(world, attempted.traced.vars[var].1, value);
    // The question says the type of its own variables, also one that the policy does not know.
    let of_question = match attempted.rule {
        None => world.question.vars[var.in_question()].ty.clone(),
        Some(_) => None,
    };
    Arg { ty: of_question.or(found.ty), id: found.id }
}

/// A value with the name of its type. A type that the policy does not mention is known by the question.
fn arg<R: Rows>(world: &World<'_, R>, ty: Option<TypeId>, value: Option<Value>) -> Arg {
    let id = value.map(|value| world.values.text(value).to_owned());
    if let Some(var) = ty.and_then(TypeId::unmentioned_var) {
        return Arg { ty: world.question.vars[var].ty.clone(), id };
    }
    let named = ty.and_then(|ty| world.program.types[ty].named());
    let of_question = || {
        let value = value?;
        let var = world.question.vars.ids().find(|var| world.given(*var).contains(&value))?;
        world.question.vars[var].ty.clone()
    };
    Arg { ty: named.map(str::to_owned).or_else(of_question), id }
}

fn predicate(program: &Program, pred: PredId) -> String {
    program.predicate(pred).name.clone()
}

/// The question's only predicate, with the values that it gives.
pub(super) fn of_question<R: Rows>(world: &World<'_, R>) -> Option<Atom> {
    let [atom] = world.question.atoms.as_slice() else { return None };
    let arg = |var: &QuestionVarId| {
        let only = match world.given(*var) {
            [only] => Some(world.values.text(*only).to_owned()),
            _ => None,
        };
        Arg { ty: world.question.vars[*var].ty.clone(), id: only }
    };
    Some(Atom { predicate: atom.predicate.clone(), args: atom.args.iter().map(arg).collect() })
}

/// A comparison that no condition of the rule says: two arguments must be equal.
pub(super) fn comparison<R: Rows>(
    world: &mut World<'_, R>,
    attempted: &Attempted<'_>,
    op: CompareOp,
    left: crate::datalog::Term,
    right: crate::datalog::Term,
) -> String {
    let [left, right] = [left, right].map(|term| {
        let value = world.term(term, attempted.env);
        value.map_or_else(|| "_".to_owned(), |value| format!("{:?}", world.values.text(value)))
    });
    format!("{left} {op} {right}")
}
