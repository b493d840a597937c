//! Explanations of local checks: the statements that they need run on the caller's database.

use super::{DIALECTS, Local};
use crate::refusal::NoAnswer;
use portcullis::engine::{Why, WhyAtom, WhyBy, WhyCondition, WhyLack};
use portcullis_compiler::question::Question;

impl Local {
    /// The explanation of a question on one of the databases, with the ids of the page.
    pub fn why(&self, question: &Question, turn: usize) -> Option<Result<Why, NoAnswer>> {
        let side = &self.sides[turn % DIALECTS.len()];
        let renamed = self.renaming.question(question);
        let run = |sql: &str| side.caller.run(sql).map(|returned| returned.rows);
        let why = self.engine.why_on_caller(&side.document, &renamed, &self.request, run)?;
        Some(why.map(|mut why| {
            self.give_back(&mut why);
            why
        }))
    }

    /// Replaces the ids of the tables by those of the page.
    fn give_back(&self, why: &mut Why) {
        let original = |atom: &mut WhyAtom| {
            for arg in &mut atom.args {
                if let (Some(ty), Some(id)) = (&arg.ty, &arg.id) {
                    arg.id = Some(self.renaming.original(ty, id).id);
                }
            }
        };
        let condition = |condition: &mut WhyCondition| match condition {
            WhyCondition::Holds(atom) | WhyCondition::Absent(atom) => original(atom),
            WhyCondition::Step(_) | WhyCondition::Test(_) => {}
        };
        for step in &mut why.explanation.steps {
            original(&mut step.atom);
            if let WhyBy::Rule(instance) = &mut step.by {
                instance.conditions.iter_mut().for_each(condition);
            }
        }
        for failure in &mut why.explanation.failures {
            failure.atom.iter_mut().for_each(original);
            for attempt in &mut failure.attempts {
                attempt.met.iter_mut().for_each(condition);
                if let WhyLack::Fact(atom) = &mut attempt.lacks {
                    original(atom);
                }
            }
        }
        why.suggestions.sets.iter_mut().flatten().for_each(original);
    }
}
