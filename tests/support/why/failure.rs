//! Checks the explanation of a question that does not hold.
//!
//! Each attempt must be an instance of its rule: the goal is the rule's head, each condition that is said to
//! hold is a condition of the rule with the same values, and holds; and the condition that it lacks is
//! another one, and does not hold. A rule for another type of actor lacks this type.

use super::{Env, Judge, cells, is_open, narrows};
use crate::notation::Cell;
use portcullis::engine::{FailedGoal, Why, WhyAtom, WhyAttempt, WhyCondition, WhyLack};
use portcullis_compiler::ir::{CompareOp, Literal, LiteralKind, Polarity, Rule, Term, VarType};
use portcullis_compiler::question::Question;

/// The end of the condition that an attempt lacks if its values differ where they must be equal.
const DIFFERS: &str = " with values that are equal";

/// What an attempt says of one condition of its rule.
#[derive(Clone, Copy, Debug)]
enum Said<'w> {
    /// It holds.
    Holds(&'w WhyAtom),
    /// It does not hold.
    Lacks(&'w WhyAtom),
    /// It holds, but with values that differ where they must be equal.
    Differs,
    /// It is negated and holds.
    Absent(&'w WhyAtom),
    /// It is negated, and this holds.
    Refuted(&'w WhyAtom),
    /// It is a test that the values pass.
    Passed,
    /// It is a test that they fail.
    Failed(&'w str),
}

impl Judge<'_> {
    /// Checks that what is said to be missing is missing, and that what is said to hold holds.
    pub(super) fn failure(&self, question: &Question, why: &Why) -> Result<(), String> {
        let failures = &why.explanation.failures;
        for (at, goal) in failures.iter().enumerate() {
            // The question itself may ask for some of several values, or for one value twice.
            let is_narrower = at == 0 && narrows(question);
            if let Some(atom) = goal.atom.as_ref().filter(|atom| !is_narrower && self.holds(atom)) {
                return Err(format!("{atom} holds"));
            }
            for attempt in &goal.attempts {
                let judged = self.attempt(question, why, goal, attempt);
                judged.map_err(|wrong| format!("{wrong}, in {attempt:?} at goal {at}"))?;
            }
        }
        if failures.is_empty() && !why.explanation.truncated {
            return Err("a no without a reason".into());
        }
        Ok(())
    }

    fn attempt(
        &self,
        question: &Question,
        why: &Why,
        goal: &FailedGoal,
        attempt: &WhyAttempt,
    ) -> Result<(), String> {
        let mut said = Vec::new();
        for met in &attempt.met {
            said.push(self.met(met)?);
        }
        said.push(self.lacked(why, &attempt.lacks)?);
        // Values come from atoms, so these are placed first.
        said.sort_by_key(|said| match said {
            Said::Holds(_) => 0,
            Said::Lacks(_) | Said::Differs => 1,
            Said::Absent(_) | Said::Refuted(_) => 2,
            Said::Passed | Said::Failed(_) => 3,
        });
        let Some(rule) = attempt.rule else { return asks(question, &said) };
        let rule = &self.program.rules[rule];
        let Some(atom) = goal.atom.as_ref().filter(|atom| atom.predicate == self.name(rule.head.index()))
        else {
            return Err("a rule of another predicate".into());
        };
        let mut env: Env = vec![None; rule.vars.len()];
        if let WhyLack::Test(test) = &attempt.lacks
            && self.has_other_type(rule, atom, test)
        {
            return Ok(());
        }
        self.unify(rule, &mut env, &rule.params, &cells(atom))?;
        let mut is_used = vec![false; rule.body.len()];
        if self.places(rule, &env, &said, &mut is_used) {
            Ok(())
        } else {
            Err("no instance of its rule".into())
        }
    }

    /// Whether a test says that the goal's first argument has a type that the rule's head does not take.
    fn has_other_type(&self, rule: &Rule, atom: &WhyAtom, test: &str) -> bool {
        let (Some(Term::Var(var)), Some(first)) = (rule.params.first(), atom.args.first()) else {
            return false;
        };
        let VarType::OneOf(types) = &rule.vars[*var].ty else { return false };
        let is_other =
            first.ty.as_ref().is_some_and(|ty| types.iter().all(|known| self.type_name(*known) != ty));
        // The test has the id that the engine knows, which may stand for the one that was asked.
        is_other && test.contains(" matches ")
    }

    fn met<'w>(&self, met: &'w WhyCondition) -> Result<Said<'w>, String> {
        match met {
            WhyCondition::Holds(atom) if self.holds(atom) => Ok(Said::Holds(atom)),
            WhyCondition::Holds(atom) => Err(format!("{atom} does not hold")),
            WhyCondition::Absent(atom) if !is_open(atom) && self.holds(atom) => {
                Err(format!("{atom} is not absent"))
            }
            WhyCondition::Absent(atom) => Ok(Said::Absent(atom)),
            WhyCondition::Test(_) => Ok(Said::Passed),
            WhyCondition::Step(_) => Err("a step of what fails".into()),
        }
    }

    fn lacked<'w>(&self, why: &'w Why, lacks: &'w WhyLack) -> Result<Said<'w>, String> {
        match lacks {
            // Neither stored nor derived.
            WhyLack::Fact(atom) if self.holds(atom) => Err(format!("{atom} holds")),
            WhyLack::Fact(atom) => Ok(Said::Lacks(atom)),
            WhyLack::Goal(goal) => match why.explanation.failures.find(*goal) {
                Some(FailedGoal { atom: Some(atom), .. }) => Ok(Said::Lacks(atom)),
                Some(_) | None => Err(format!("there is no {goal:?}")),
            },
            // Steps are judged by themselves.
            WhyLack::Refuted(step) => match why.explanation.steps.find(*step) {
                Some(step) => Ok(Said::Refuted(&step.atom)),
                None => Err(format!("there is no {step:?}")),
            },
            WhyLack::Test(test) if test.ends_with(DIFFERS) => Ok(Said::Differs),
            WhyLack::Test(test) => Ok(Said::Failed(test)),
        }
    }

    /// Whether each statement of the attempt fits another condition of the rule, all with the same values of
    /// its variables.
    fn places(&self, rule: &Rule, env: &Env, said: &[Said<'_>], is_used: &mut [bool]) -> bool {
        let Some((first, rest)) = said.split_first() else { return true };
        if let Said::Failed(text) = first
            && differs(text)
        {
            return self.places(rule, env, rest, is_used);
        }
        for (at, literal) in rule.body.iter().enumerate() {
            if is_used[at] {
                continue;
            }
            if let Some(env) = self.fits(rule, env, literal, *first) {
                is_used[at] = true;
                if self.places(rule, &env, rest, is_used) {
                    return true;
                }
                is_used[at] = false;
            }
        }
        false
    }

    /// The values of the rule's variables if this is said of the condition; `None` if it does not fit.
    fn fits(&self, rule: &Rule, env: &Env, literal: &Literal, said: Said<'_>) -> Option<Env> {
        let mut env = env.clone();
        match (said, &literal.kind) {
            (Said::Holds(atom) | Said::Lacks(atom), LiteralKind::Atom { polarity, pred, args }) => {
                let is_it = *polarity == Polarity::Positive && self.name(pred.index()) == atom.predicate;
                let fits = is_it && self.unify(rule, &mut env, args, &cells(atom)).is_ok();
                fits.then_some(env)
            }
            (Said::Differs, LiteralKind::Atom { polarity: Polarity::Positive, args, .. }) => {
                let is_equal = |at: usize| args[..at].iter().any(|before| are_equal(rule, *before, args[at]));
                (1..args.len()).any(is_equal).then_some(env)
            }
            (Said::Absent(atom) | Said::Refuted(atom), LiteralKind::Atom { polarity, pred, args }) => {
                let is_it = *polarity == Polarity::Negated && self.name(pred.index()) == atom.predicate;
                while self.equate(rule, &mut env) {}
                let agree = args.iter().zip(cells(atom)).all(|(arg, cell)| match self.value(&env, *arg) {
                    Some(value) => cell.covers(&value),
                    None => true,
                });
                (is_it && agree).then_some(env)
            }
            (
                Said::Passed | Said::Failed(_),
                LiteralKind::Compare { .. }
                | LiteralKind::OneOf { .. }
                | LiteralKind::NotOfType { .. }
                | LiteralKind::False,
            ) => {
                let is_passed = matches!(said, Said::Passed);
                // An equality that fails gives no value.
                if is_passed || self.truth(&env, literal).is_some() {
                    while self.equate(rule, &mut env) {}
                }
                let truth = self.truth(&env, literal);
                truth.is_none_or(|truth| truth == is_passed).then_some(env)
            }
            (
                Said::Holds(_) | Said::Lacks(_) | Said::Differs | Said::Absent(_) | Said::Refuted(_),
                LiteralKind::Compare { .. }
                | LiteralKind::OneOf { .. }
                | LiteralKind::NotOfType { .. }
                | LiteralKind::False,
            )
            | (Said::Differs, LiteralKind::Atom { polarity: Polarity::Negated, .. })
            | (Said::Failed(_), LiteralKind::Atom { .. })
            | (Said::Passed, LiteralKind::Atom { polarity: Polarity::Positive, .. }) => None,
            // A negation with a fresh value, or with one variable twice, is written out as a test.
            (Said::Passed, LiteralKind::Atom { polarity: Polarity::Negated, args, .. }) => {
                let is_open = |arg: &Term| matches!(arg, Term::Var(_)) && self.value(&env, *arg).is_none();
                args.iter().any(is_open).then_some(env)
            }
        }
    }
}

/// Checks that the statements about the question itself are about its atoms.
fn asks(question: &Question, said: &[Said<'_>]) -> Result<(), String> {
    let is_asked = |atom: &WhyAtom| {
        question.atoms.iter().any(|asked| {
            let values: Vec<Cell> = asked.args.iter().map(|&var| super::asked(question, var)).collect();
            let pairs = cells(atom);
            let agree =
                pairs.iter().zip(&values).all(|(cell, asked)| cell.covers(asked) || asked.covers(cell));
            asked.predicate == atom.predicate && agree
        })
    };
    for said in said {
        match said {
            Said::Holds(atom) | Said::Lacks(atom) if !is_asked(atom) => {
                return Err(format!("{atom} is not asked"));
            }
            Said::Absent(atom) | Said::Refuted(atom) => return Err(format!("{atom} is not negated")),
            Said::Holds(_) | Said::Lacks(_) | Said::Differs | Said::Passed | Said::Failed(_) => {}
        }
    }
    Ok(())
}

/// Whether the equalities of a rule demand that two of its terms are equal.
fn are_equal(rule: &Rule, one: Term, other: Term) -> bool {
    let mut equal = vec![one];
    loop {
        let before = equal.len();
        for literal in &rule.body {
            if let LiteralKind::Compare { op: CompareOp::Equal, left, right } = literal.kind {
                for (known, new) in [(left, right), (right, left)] {
                    if equal.contains(&known) && !equal.contains(&new) {
                        equal.push(new);
                    }
                }
            }
        }
        if equal.len() == before {
            return equal.contains(&other);
        }
    }
}

/// Whether a test equates two texts that differ: arguments that no condition of the rule compares.
fn differs(test: &str) -> bool {
    test.starts_with('"')
        && test
            .split_once("\" = \"")
            .is_some_and(|(left, right)| left.trim_start_matches('"') != right.trim_end_matches('"'))
}
