//! Rules of a failed goal that its types or values exclude.
//!
//! In: a goal that fails, and the rules that were tried. A question's program has no clause of a rule that
//! the types or the literals of the question exclude, so nothing was tried of it, although what excludes it
//! may be the very reason of a no. Out: an attempt for each such rule that is about the goal, with the first
//! thing in it that the goal's values contradict: a type, a comparison, a list.
//!
//! Which rules are about the goal is a decision. A policy has a rule for each action, role, relation and
//! resource type, and for one goal nearly all of them are noise. So a rule is not mentioned if a literal in
//! its head is another one, or if the type of an argument is another one. There is one exception: the first
//! argument may have another type, because a rule for the same action and another type of actor is what a
//! reader looks for. (The first argument of `has_relation` is the resource.) What is in the body counts in
//! any case: `action in ["read"]` excludes "write" and is mentioned. A `matches` in the body is the type of a
//! variable, and treated like one in the head.

use super::super::atoms::comparison_text;
use super::super::explanation::{Arg, Atom, Attempt, FailureId, Lack};
use super::super::rows::Rows;
use super::super::run::Run;
use super::super::world::{Fault, World};
use super::{Failures, add};
use crate::builtin::HAS_RELATION;
use crate::id_vec::IdVec;
use crate::ir::{
    CompareOp, Given, Literal, LiteralKind, Polarity, Program, Rule, RuleId, Term, TypeId, TypeKind, VarId,
    VarType, print,
};
use crate::ordered::OrderedSet;
use crate::primitive::{INTEGER, STRING};

/// How many excluded rules of a goal are shown; the others are counted.
const SHOWN: usize = 5;

/// What a rule's variables must be for a goal.
type RuleValues = IdVec<VarId, Arg>;

/// A rule whose head fits a goal.
struct FittingRule<'p> {
    program: &'p Program,
    rule: &'p Rule,
    values: RuleValues,
    now: String,
}

/// Why a rule does not apply to a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Exclusion {
    /// This does not hold.
    Test(String),
    /// This does not hold of the first argument, so the rule is about others.
    OtherType(String),
    /// Its only condition is this, which fails with the goal.
    Needs(Atom),
}

impl Failures {
    /// Adds the rules that were not tried for a goal, because it excludes them.
    pub(super) fn add_excluded<R: Rows>(
        &mut self,
        run: &mut Run<'_, '_, R>,
        id: FailureId,
        tried: &OrderedSet<RuleId>,
    ) -> Result<(), Fault<R::Error>> {
        let Some(atom) = self.goals[id].atom.clone() else { return Ok(()) };
        for (at, (rule, exclusion)) in excluded(run.world, &atom, tried)?.into_iter().enumerate() {
            if at >= SHOWN {
                self.goals[id].n_others += 1;
                continue;
            }
            let lacks = match exclusion {
                Exclusion::Test(test) | Exclusion::OtherType(test) => Lack::Test(test),
                Exclusion::Needs(needed) if has_rules(run.world.program, &needed) => {
                    Lack::Goal(self.goal(Some(needed), &[]))
                }
                Exclusion::Needs(needed) => Lack::Fact(needed),
            };
            add(&mut self.goals[id], Attempt { rule: Some(rule), met: Vec::new(), lacks });
        }
        Ok(())
    }

    /// A fact that does not exist. If a rule could derive it for other values, that is said as well.
    pub(super) fn missing_fact<R: Rows>(
        &mut self,
        run: &mut Run<'_, '_, R>,
        atom: Atom,
    ) -> Result<Lack, Fault<R::Error>> {
        if excluded(run.world, &atom, &OrderedSet::default())?.is_empty() {
            return Ok(Lack::Fact(atom));
        }
        let id = self.goal(Some(atom), &[]);
        self.goals[id].may_be_fact = true;
        Ok(Lack::Goal(id))
    }
}

/// The rules about a goal that it excludes, but for those that were tried. Each alternative of a condition is
/// a rule of its own; what they have in common is said once.
fn excluded<R: Rows>(
    world: &mut World<'_, R>,
    atom: &Atom,
    tried: &OrderedSet<RuleId>,
) -> Result<Vec<(RuleId, Exclusion)>, Fault<R::Error>> {
    let program = world.program;
    let mut found: Vec<(RuleId, Exclusion)> = Vec::new();
    let Some(pred) = program.predicate_id(&atom.predicate, atom.args.len()) else { return Ok(found) };
    let is_free = |at: usize| at == 0 && atom.predicate != HAS_RELATION;
    for rule_id in program.index.rules.matching_rules(pred, given(program, atom, is_free).into_iter()) {
        world.work(1)?;
        let rule = &program.rules[rule_id];
        if tried.contains(&rule_id) {
            continue;
        }
        let Some(exclusion) = exclusion(world, rule, atom) else { continue };
        let is_same = |(other, said): &(RuleId, Exclusion)| {
            program.rules[*other].span == rule.span && *said == exclusion
        };
        if !found.iter().any(is_same) {
            found.push((rule_id, exclusion));
        }
    }
    // Rules about others are shown last.
    found.sort_by_key(|(_, exclusion)| matches!(exclusion, Exclusion::OtherType(_)));
    Ok(found)
}

/// What excludes a rule from a goal; `None` if nothing does, or if it is about something else.
fn exclusion<R: Rows>(world: &World<'_, R>, rule: &Rule, atom: &Atom) -> Option<Exclusion> {
    let program = world.program;
    let has_other_type = head(world, rule, atom)?;
    if has_other_type {
        let (Some(Term::Var(var)), Some(first)) = (rule.params.first(), atom.args.first()) else {
            return None;
        };
        let types = type_names(program, &rule.vars[*var].ty);
        // A variable without any type makes a rule that never matches.
        return (!types.is_empty())
            .then(|| Exclusion::OtherType(format!("{first} matches {}", types.join(" or "))));
    }
    let mut values: RuleValues =
        rule.vars.iter().map(|var| Arg { ty: only_type(program, &var.ty), id: None }).collect();
    for (param, arg) in rule.params.iter().zip(&atom.args) {
        let Term::Var(var) = param else { continue };
        let known = &mut values[*var];
        if differs(known, arg) == Some(true) {
            return None;
        }
        *known = Arg { ty: arg.ty.clone().or(known.ty.take()), id: arg.id.clone().or(known.id.take()) };
    }
    let mut fitting = FittingRule { program, rule, values, now: world.now().to_owned() };
    if let Some(test) = fitting.refuted() {
        return Some(Exclusion::Test(test));
    }
    fitting.only_condition().filter(|needed| needed != atom).map(Exclusion::Needs)
}

/// Whether the first argument alone has another type than a rule's head; `None` if the rule is about
/// something else. Most rules are.
fn head<R: Rows>(world: &World<'_, R>, rule: &Rule, atom: &Atom) -> Option<bool> {
    let program = world.program;
    let mut has_other_type = false;
    for (at, (param, arg)) in rule.params.iter().zip(&atom.args).enumerate() {
        match param {
            Term::Var(var) => {
                let ty = arg.ty.as_ref();
                if ty.is_some_and(|ty| !admits(program, &rule.vars[*var].ty, ty)) {
                    if at > 0 || atom.predicate == HAS_RELATION {
                        return None;
                    }
                    has_other_type = true;
                }
            }
            Term::Const(literal) => {
                let literal = program.literal(*literal);
                let is_type = arg.ty.as_deref().is_none_or(|ty| program.types[literal.ty].name == ty);
                if !is_type || arg.id.as_ref().is_some_and(|id| *id != literal.text) {
                    return None;
                }
            }
            Term::Now => {
                if differs(&constant(program, *param, world.now())?, arg) == Some(true) {
                    return None;
                }
            }
        }
    }
    Some(has_other_type)
}

/// Whether rules derive a predicate.
fn has_rules(program: &Program, atom: &Atom) -> bool {
    let pred = program.predicate_id(&atom.predicate, atom.args.len());
    pred.is_some_and(|pred| program.index.rules.matching_rules(pred, std::iter::empty()).len() > 0)
}

impl FittingRule<'_> {
    /// The first condition that the values contradict.
    fn refuted(&mut self) -> Option<String> {
        while self.equate() {}
        self.rule.body.iter().find_map(|literal| self.contradiction(literal))
    }

    /// Lets `=` give a value to a variable that has none; whether one got one.
    fn equate(&mut self) -> bool {
        for literal in &self.rule.body {
            let LiteralKind::Compare { op: CompareOp::Equal, left, right } = literal.kind else { continue };
            for (to, from) in [(left, right), (right, left)] {
                let Term::Var(var) = to else { continue };
                let (old, new) = (&self.values[var], self.value(from));
                if old.id.is_none() && new.id.is_some() && (old.ty.is_none() || old.ty == new.ty) {
                    self.values[var] = new;
                    return true;
                }
            }
        }
        false
    }

    /// The condition as text, if it does not hold.
    fn contradiction(&self, literal: &Literal) -> Option<String> {
        let not = |polarity: Polarity| if polarity == Polarity::Negated { "not " } else { "" };
        match &literal.kind {
            LiteralKind::Compare { op, left, right } => {
                let values = [self.value(*left), self.value(*right)];
                let [one, other] = &values;
                let holds = match op {
                    CompareOp::Equal => !differs(one, other)?,
                    CompareOp::NotEqual => differs(one, other)?,
                    CompareOp::Less
                    | CompareOp::LessOrEqual
                    | CompareOp::Greater
                    | CompareOp::GreaterOrEqual => compares(*op, one, other)?,
                };
                let [one, other] = values.map(|value| value.to_string());
                (!holds).then(|| comparison_text(self.program, self.rule, *op, (*left, one), (*right, other)))
            }
            LiteralKind::OneOf { polarity, term, values } => {
                let value = self.value(*term);
                let known =
                    values.iter().map(|listed| constant(self.program, Term::Const(*listed), &self.now));
                let differences =
                    known.map(|listed| differs(&listed?, &value)).collect::<Option<Vec<bool>>>()?;
                let is_listed = differences.contains(&false);
                let listed: Vec<String> =
                    values.iter().map(|listed| print::constant(self.program, *listed)).collect();
                let text = || format!("{value} {}in [{}]", not(*polarity), listed.join(", "));
                (is_listed != (*polarity == Polarity::Positive)).then(text)
            }
            LiteralKind::NotOfType { var, types } => {
                let value = &self.values[*var];
                let excluded = VarType::OneOf(types.clone());
                let is_excluded = value.ty.as_ref().is_some_and(|ty| admits(self.program, &excluded, ty));
                let names = || type_names(self.program, &excluded).join(" or ");
                is_excluded.then(|| format!("{value} is not of type {}", names()))
            }
            LiteralKind::False => Some("false".to_owned()),
            LiteralKind::Atom { .. } => None,
        }
    }

    /// The rule's condition, if it has a single one, whose values the goal gives. If the goal fails, so does
    /// this condition.
    fn only_condition(&self) -> Option<Atom> {
        let [Literal { kind: LiteralKind::Atom { polarity: Polarity::Positive, pred, args }, .. }] =
            self.rule.body.as_slice()
        else {
            return None;
        };
        let args: Vec<Arg> = args.iter().map(|arg| self.value(*arg)).collect();
        let is_known = args.iter().all(|arg| arg.ty.is_some() && arg.id.is_some());
        let predicate = self.program.predicate(*pred).name.clone();
        is_known.then_some(Atom { predicate, args })
    }

    fn value(&self, term: Term) -> Arg {
        match term {
            Term::Var(var) => self.values[var].clone(),
            Term::Const(_) | Term::Now => {
                constant(self.program, term, &self.now).unwrap_or(Arg { ty: None, id: None })
            }
        }
    }
}

/// Whether a rule may derive a fact like this.
pub(super) fn may_be_derived(program: &Program, atom: &Atom) -> bool {
    let pred = program.predicate_id(&atom.predicate, atom.args.len());
    let given = given(program, atom, |_| false).into_iter();
    pred.is_some_and(|pred| program.index.rules.matching_rules(pred, given).len() > 0)
}

/// What is known of a goal's arguments, to find its rules; nothing of the arguments that may be others.
fn given(program: &Program, atom: &Atom, is_free: impl Fn(usize) -> bool) -> Vec<Given> {
    let of = |(at, Arg { ty, id }): (usize, &Arg)| {
        let is_free = is_free(at);
        let literal = id.as_ref().filter(|_| ty.as_deref() == Some(STRING));
        match (literal.and_then(|text| program.string_literal(text)), ty) {
            (Some(literal), _) if !is_free => Given::Literal(literal),
            (None, Some(ty)) if !is_free => program.type_id(ty).map_or(Given::Nothing, Given::Type),
            (Some(_) | None, _) => Given::Nothing,
        }
    };
    atom.args.iter().enumerate().map(of).collect()
}

/// The value of a literal or of `@current_unix_time`; `None` for a variable.
fn constant(program: &Program, term: Term, now: &str) -> Option<Arg> {
    match term {
        Term::Var(_) => None,
        Term::Const(literal) => {
            let literal = program.literal(literal);
            let ty = program.types[literal.ty].named().map(str::to_owned);
            Some(Arg { ty, id: Some(literal.text.clone()) })
        }
        Term::Now => Some(Arg { ty: Some(INTEGER.to_owned()), id: Some(now.to_owned()) }),
    }
}

/// Whether two values differ; `None` if that is not known.
fn differs(one: &Arg, other: &Arg) -> Option<bool> {
    match (one.ty.as_ref().zip(other.ty.as_ref()), one.id.as_ref().zip(other.id.as_ref())) {
        (Some((one, other)), _) if one != other => Some(true),
        (Some(_), Some((one, other))) => Some(one != other),
        (None, _) | (_, None) => None,
    }
}

/// Whether two Integers are in this order, which other values never are; `None` if that is not known.
fn compares(op: CompareOp, one: &Arg, other: &Arg) -> Option<bool> {
    let types = [one.ty.as_deref(), other.ty.as_deref()];
    if types.iter().flatten().any(|ty| *ty != INTEGER) {
        return Some(false);
    }
    let [Some(_), Some(_)] = types else { return None };
    let (one, other): (Option<i64>, Option<i64>) =
        (one.id.as_ref()?.parse().ok(), other.id.as_ref()?.parse().ok());
    Some(one.zip(other).is_some_and(|(one, other)| ordered(op, one, other)))
}

fn ordered(op: CompareOp, one: i64, other: i64) -> bool {
    match op {
        CompareOp::Less => one < other,
        CompareOp::LessOrEqual => one <= other,
        CompareOp::Greater => one > other,
        CompareOp::GreaterOrEqual => one >= other,
        CompareOp::Equal => one == other,
        CompareOp::NotEqual => one != other,
    }
}

/// Whether a variable may have a value of the type of this name.
fn admits(program: &Program, ty: &VarType, name: &str) -> bool {
    let is_it = |ty: &TypeId| match (program.types[*ty].kind, program.types[*ty].named()) {
        (TypeKind::Foreign, _) => program.type_id(name).is_none(),
        (_, known) => known == Some(name),
    };
    match ty {
        VarType::Any => true,
        VarType::OneOf(types) => types.iter().any(is_it),
    }
}

fn only_type(program: &Program, ty: &VarType) -> Option<String> {
    match ty {
        VarType::OneOf(types) => match types.as_slice() {
            [only] => program.types[*only].named().map(str::to_owned),
            _ => None,
        },
        VarType::Any => None,
    }
}

fn type_names(program: &Program, ty: &VarType) -> Vec<String> {
    let types = match ty {
        VarType::OneOf(types) => types.as_slice(),
        VarType::Any => &[],
    };
    let name = |ty: &TypeId| program.types[*ty].named().unwrap_or("a type that the policy does not mention");
    types.iter().map(|ty| name(ty).to_owned()).collect()
}
