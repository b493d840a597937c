//! The question, solved like a rule: its positive atoms are answered in turn.

use super::emit;
use super::frame::{Frame, Impossible, Replacement};
use super::solve::{Answered, Body};
use super::specialiser::Specialiser;
use super::traced::{ClauseId, TracedClause};
use crate::datalog::visit::ignore_singletons;
use crate::datalog::{Clause, Goal, Output, Root};
use crate::id_vec::IdVec;
use crate::ir::{
    BodyLiteralId, Literal, LiteralKind, Polarity, Program, Term, TypeId, VarId, VarType, Variable,
};
use crate::question::{CompileError, QuestionVarId, Shape, ShapeDomain, Slot};
use crate::refusal::VarName;
use crate::source::Span;

/// The question as a rule without a head: its variables are the question's.
#[derive(Debug)]
pub(super) struct QuestionRule {
    vars: IdVec<VarId, Variable>,
    literals: IdVec<BodyLiteralId, Literal>,
    domains: IdVec<QuestionVarId, (ShapeDomain, Option<TypeId>)>,
}

impl QuestionRule {
    /// Reads a shape; `None` if it names a predicate that the policy does not have.
    pub(super) fn new(program: &Program, shape: &Shape) -> Option<Self> {
        let vars = shape.vars.iter().map(|var| Variable {
            name: String::new(),
            ty: var.ty.map_or(VarType::Any, |ty| VarType::OneOf(vec![ty])),
        });
        let literals = shape.atoms.iter().map(|(name, args)| {
            let pred = program.predicate_id(name, args.len())?;
            let args = args.iter().map(|arg| Term::Var(arg.in_clause())).collect();
            let kind = LiteralKind::Atom { polarity: Polarity::Positive, pred, args };
            Some(Literal { kind, span: Span::default() })
        });
        let literals = literals.collect::<Option<_>>()?;
        let domains = shape.vars.iter().map(|var| (var.domain, var.ty)).collect();
        Some(Self { vars: vars.collect(), literals, domains })
    }

    fn answered<'q>(&'q self, work: &mut Specialiser<'q>) -> Result<Vec<Answered<'q>>, CompileError> {
        let Some(mut frame) = Frame::new(&self.vars) else { return Ok(Vec::new()) };
        for (id, (domain, ty)) in self.domains.enumerate() {
            let var = id.in_clause();
            let known = match (domain, ty) {
                (ShapeDomain::Literal(literal), Some(ty)) => {
                    frame.assign(var, Replacement::Const(*literal), *ty, work.same())
                }
                (ShapeDomain::Given, Some(ty)) => frame.assign(var, Replacement::Given(id), *ty, work.same()),
                (ShapeDomain::GivenOneOf, _) => {
                    frame.mark_bound(var);
                    Ok(())
                }
                (ShapeDomain::Literal(_) | ShapeDomain::Given, None) => Err(Impossible),
                (ShapeDomain::Wanted | ShapeDomain::Ignored, _) => Ok(()),
            };
            if known.is_err() {
                return Err(CompileError::Bug("a given variable without a type".into()));
            }
        }
        let body = Body::of_question(&self.literals);
        let mut answered = Vec::new();
        work.answer(&body, frame, None, &mut answered)?;
        Ok(answered)
    }

    /// Answers the question once, so that the tables it needs exist.
    pub(super) fn run<'q>(&'q self, work: &mut Specialiser<'q>) -> Result<(), CompileError> {
        self.answered(work).map(|_| ())
    }

    /// The question's alternatives, once all tables are complete.
    pub(super) fn roots<'q>(&'q self, work: &mut Specialiser<'q>) -> Result<Vec<Root>, CompileError> {
        let numbering = emit::Numbering::new(work);
        let body = Body::of_question(&self.literals);
        let mut roots: Vec<Root> = Vec::new();
        for (frame, choices) in self.answered(work)? {
            let emitter = emit::Emitter::new(work, &numbering, &body, &frame, &choices);
            let Some(emit::Goals { mut goals, .. }) = emitter.goals()? else { continue };
            let mut outputs = Vec::new();
            for (id, (domain, _)) in self.domains.enumerate() {
                let var = id.in_clause();
                match domain {
                    ShapeDomain::GivenOneOf => {
                        let term = emitter.term(Term::Var(var));
                        goals.insert(0, Goal::Values { slot: Slot::OneOf(id), term });
                        outputs.push(emitter.output(var));
                    }
                    ShapeDomain::Wanted => outputs.push(emitter.output(var)),
                    ShapeDomain::Literal(_) | ShapeDomain::Given | ShapeDomain::Ignored => {}
                }
            }
            let var_names = self.domains.ids().map(VarName::OfQuestion).collect();
            let clause = Clause { rule: None, head: Vec::new(), goals, var_names };
            let keep: Vec<_> = outputs.iter().filter_map(Output::term).collect();
            let root = Root { clause: ignore_singletons(clause, &keep), outputs };
            if !roots.iter().any(|other| other.outputs == root.outputs && other.clause == root.clause) {
                roots.push(root);
            }
        }
        Ok(roots)
    }

    /// The question's alternatives with the question's own variables, once all tables are complete.
    pub(super) fn traced_roots<'q>(
        &'q self,
        work: &mut Specialiser<'q>,
    ) -> Result<IdVec<ClauseId, TracedClause>, CompileError> {
        let numbering = emit::Numbering::new(work);
        let body = Body::of_question(&self.literals);
        let mut roots: IdVec<ClauseId, TracedClause> = IdVec::new();
        for (frame, choices) in self.answered(work)? {
            let emitter = emit::Emitter::new(work, &numbering, &body, &frame, &choices);
            let Some(emit::Goals { mut goals, mut literals }) = emitter.goals()? else { continue };
            for (id, (domain, _)) in self.domains.enumerate() {
                if *domain == ShapeDomain::GivenOneOf {
                    let term = emitter.term(Term::Var(id.in_clause()));
                    goals.insert(0, Goal::Values { slot: Slot::OneOf(id), term });
                    literals.insert(0, None);
                }
            }
            let var_names = self.domains.ids().map(VarName::OfQuestion).collect();
            let clause = Clause { rule: None, head: Vec::new(), goals, var_names };
            let root =
                TracedClause { clause, vars: emitter.variables(&self.vars), literals: literals.into() };
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        Ok(roots)
    }
}

impl<'p> Specialiser<'p> {
    /// Answers the question and everything that it reads.
    pub(super) fn answer_all(&mut self, question: &'p QuestionRule) -> Result<(), CompileError> {
        // The question's own solutions depend on the tables it reads: run it until no table grows.
        question.run(self)?;
        self.fixpoint()?;
        loop {
            let before = self.size();
            question.run(self)?;
            self.fixpoint()?;
            if self.size() == before {
                return self.check_left_out();
            }
        }
    }
}
