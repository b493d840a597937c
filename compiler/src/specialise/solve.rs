//! The ways in which one rule answers one call: its positive atoms are answered in turn.

use super::frame::{Frame, Impossible, TypeSet};
use super::index::SourcesOf;
use super::pattern::{CallId, Pattern};
use super::specialiser::{Choice, Maker, Origin, Solution, Specialiser};
use crate::id_vec::IdVec;
use crate::ir::{
    BodyLiteralId, CompareOp, ConstId, Literal, LiteralKind, Polarity, PredId, Program, Rule, RuleId, Term,
    TypeId, VarId,
};
use crate::limits;
use crate::question::CompileError;
use crate::refusal::{Place, Refusal, RuleAtLimit, VarName};
use crate::source::Span;

/// A rule, or the question itself, as the solver reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'b> {
    pub(super) params: &'b [Term],
    pub(super) literals: &'b IdVec<BodyLiteralId, Literal>,
    pub(super) of: BodyOf<'b>,
}

/// The owner of a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum BodyOf<'b> {
    /// A rule of the policy.
    Rule {
        id: RuleId,
        /// Which variables are existential inside a negation.
        locals: &'b IdVec<VarId, bool>,
    },
    /// The question, which negates nothing.
    Question,
}

impl<'b> Body<'b> {
    /// The body of a rule.
    pub(super) fn of_rule(program: &'b Program, id: RuleId) -> Self {
        let Rule { params, body, .. } = &program.rules[id];
        let of = BodyOf::Rule { id, locals: program.index.rules.locals(id) };
        Self { params, literals: body, of }
    }

    /// The body of a question.
    pub(super) fn of_question(literals: &'b IdVec<BodyLiteralId, Literal>) -> Self {
        Self { params: &[], literals, of: BodyOf::Question }
    }

    /// Whether a variable is existential inside a negation.
    pub(super) fn is_local(&self, var: VarId) -> bool {
        match self.of {
            BodyOf::Rule { locals, .. } => locals[var],
            BodyOf::Question => false,
        }
    }
}

/// A positive atom: its literal, its predicate and its arguments.
type PositiveAtom<'a> = (BodyLiteralId, PredId, &'a [Term]);

/// One way to answer the positive part of a body.
pub(super) type Answered<'p> = (Frame<'p>, Vec<(BodyLiteralId, Choice)>);

impl<'p> Specialiser<'p> {
    /// Every way in which a rule answers a pattern.
    pub(super) fn rule_solutions(
        &mut self,
        pattern: &Pattern,
        rule_id: RuleId,
        reader: CallId,
        found: &mut Vec<Solution<'p>>,
    ) -> Result<(), CompileError> {
        let program = self.program;
        let rule = &program.rules[rule_id];
        let Some(mut frame) = Frame::new(&rule.vars) else { return Ok(()) };
        if self.unify_head(&mut frame, &rule.params, pattern).is_err() {
            return Ok(());
        }
        let body = Body::of_rule(program, rule_id);
        let mut answered = Vec::new();
        self.answer(&body, frame, Some(reader), &mut answered)?;
        for (frame, choices) in answered {
            self.call_negated(&body, &frame);
            let adornments = self.adornments(&body, &frame, &choices);
            found.push(Solution { adornments, origin: Origin::Rule { rule: rule_id, frame, choices } });
        }
        Ok(())
    }

    /// Every way to answer the positive literals of a body.
    pub(super) fn answer(
        &mut self,
        body: &Body<'_>,
        mut frame: Frame<'p>,
        reader: Option<CallId>,
        answered: &mut Vec<Answered<'p>>,
    ) -> Result<(), CompileError> {
        let mut atoms = Vec::new();
        let mut choices_of = Vec::new();
        for (literal_id, literal) in body.literals.enumerate() {
            let possible = match &literal.kind {
                LiteralKind::False => Err(Impossible),
                LiteralKind::Compare { op: CompareOp::Equal, left, right } => {
                    self.unify(&mut frame, *left, *right)
                }
                LiteralKind::Compare { op: CompareOp::NotEqual, .. } | LiteralKind::NotOfType { .. } => {
                    Ok(())
                }
                LiteralKind::Compare { left, right, .. } => self
                    .unify_type(&mut frame, *left, TypeId::INTEGER)
                    .and_then(|()| self.unify_type(&mut frame, *right, TypeId::INTEGER)),
                LiteralKind::OneOf { polarity: Polarity::Positive, term, values } => {
                    choices_of.push((*term, values.as_slice()));
                    Ok(())
                }
                LiteralKind::OneOf { polarity: Polarity::Negated, .. } => Ok(()),
                LiteralKind::Atom { polarity, pred, args } => {
                    if *polarity == Polarity::Positive {
                        atoms.push((literal_id, *pred, args.as_slice()));
                    }
                    Ok(())
                }
            };
            if possible.is_err() {
                return Ok(());
            }
        }
        self.try_values(body, frame, &choices_of, &atoms, reader, answered)
    }

    /// Tries each value of each `in`, with a frame for each combination.
    fn try_values(
        &mut self,
        body: &Body<'_>,
        frame: Frame<'p>,
        choices_of: &[(Term, &[ConstId])],
        atoms: &[PositiveAtom<'_>],
        reader: Option<CallId>,
        answered: &mut Vec<Answered<'p>>,
    ) -> Result<(), CompileError> {
        let mut frames = vec![frame];
        for (term, values) in choices_of {
            let mut next = Vec::new();
            for frame in frames {
                for value in *values {
                    self.step_in(body, 1)?;
                    let mut tried = frame.clone();
                    if self.unify_literal(&mut tried, *term, *value).is_ok() {
                        next.push(tried);
                        self.keep_in(body, &frame, next.len().min(2))?;
                    }
                }
            }
            frames = next;
        }
        for frame in frames {
            self.try_atoms(body, frame, atoms, reader, answered)?;
        }
        Ok(())
    }

    /// Answers the atom of which most is known, in every way, then the next, until none is left.
    fn try_atoms(
        &mut self,
        body: &Body<'_>,
        frame: Frame<'p>,
        atoms: &[PositiveAtom<'_>],
        reader: Option<CallId>,
        answered: &mut Vec<Answered<'p>>,
    ) -> Result<(), CompileError> {
        let mut open = vec![(frame, Vec::new(), atoms.to_vec())];
        while let Some((frame, choices, left)) = open.pop() {
            self.step_in(body, 1)?;
            let Some((place, (literal_id, pred, args))) = self.most_known(&frame, &left) else {
                self.branch_on_types(body, frame, &choices, answered)?;
                continue;
            };
            let pattern = Pattern::of(self.program, &frame, pred, args);
            let mut rest = left;
            rest.remove(place);
            let literal = &body.literals[literal_id];
            let maker = reader.map_or(Maker::Question, Maker::Table);
            self.note_left_out((literal, args), &frame, &pattern, maker);
            let answerer = self.call(pattern, reader);
            // The stack is LIFO: keep the order in which the choices are listed.
            let mut n_kept = 0;
            for (choice, adornments) in self.choices(answerer).rev() {
                let mut next = frame.clone();
                if self.unify_answer(&mut next, args, adornments).is_ok() {
                    let mut chosen = choices.clone();
                    chosen.push((literal_id, choice));
                    open.push((next, chosen, rest.clone()));
                    n_kept += 1;
                }
            }
            self.keep_in(body, &frame, n_kept)?;
        }
        Ok(())
    }

    /// The first of the atoms left with the fewest unknown arguments, and its place among them; `None` if no
    /// atom is left.
    fn most_known<'a>(
        &self,
        frame: &Frame<'p>,
        left: &[PositiveAtom<'a>],
    ) -> Option<(usize, PositiveAtom<'a>)> {
        let mut best: Option<(usize, usize, PositiveAtom<'a>)> = None;
        for (place, atom) in left.iter().copied().enumerate() {
            let n_untyped = Pattern::n_untyped(self.program, frame, atom.2);
            if best.is_none_or(|(fewest, ..)| n_untyped < fewest) {
                best = Some((n_untyped, place, atom));
            }
            if n_untyped == 0 {
                break;
            }
        }
        best.map(|(_, place, atom)| (place, atom))
    }

    /// Splits on the type of each variable that nothing bound, where its type matters.
    fn branch_on_types(
        &mut self,
        body: &Body<'_>,
        frame: Frame<'p>,
        choices: &[(BodyLiteralId, Choice)],
        answered: &mut Vec<Answered<'p>>,
    ) -> Result<(), CompileError> {
        let mut open = vec![frame];
        while let Some(mut frame) = open.pop() {
            self.step_in(body, 1)?;
            if !self.exclude_types(body, &mut frame)? {
                continue;
            }
            let tested = body.literals.iter().find_map(|literal| open_variable(body, &frame, literal));
            let in_head = || {
                body.params.iter().find_map(|param| match param {
                    Term::Var(var) => has_types(&frame, *var).then_some(*var),
                    Term::Const(_) | Term::Now => None,
                })
            };
            let Some(var) = tested.or_else(in_head) else {
                answered.push((frame, choices.to_vec()));
                continue;
            };
            // The variable was chosen for having several types.
            let TypeSet::OneOf(types) = frame.types(var).clone() else {
                return Err(CompileError::Bug("a variable to split on has one type".into()));
            };
            let mut n_kept = 0;
            for ty in types.iter().rev() {
                let mut next = frame.clone();
                if next.narrow(var, *ty).is_ok() {
                    open.push(next);
                    n_kept += 1;
                }
            }
            self.keep_in(body, &frame, n_kept)?;
        }
        Ok(())
    }

    /// Applies the negated `matches`; `false` if one of them cannot hold.
    fn exclude_types(&self, body: &Body<'_>, frame: &mut Frame<'p>) -> Result<bool, CompileError> {
        for literal in body.literals {
            if let LiteralKind::NotOfType { var, types } = &literal.kind {
                match frame.exclude(*var, types) {
                    Ok(true) => {}
                    // A question with such a call is refused, so its value may be of any type here.
                    Ok(false) if self.sources.of == SourcesOf::Signatures => {}
                    Ok(false) => return Err(self.untyped(body, *var, literal.span)),
                    Err(Impossible) => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// An error of a limit that was reached in a body.
    pub(super) fn reached_in(&self, body: &Body<'_>, error: CompileError) -> CompileError {
        match body.of {
            BodyOf::Rule { id, .. } => {
                let place = Place::of_rule(&self.program.source, self.program.rules[id].span);
                error.at_rule(place.map(RuleAtLimit::Reached))
            }
            BodyOf::Question => error,
        }
    }

    /// Counts work on a rule against the limit.
    fn step_in(&mut self, body: &Body<'_>, work: usize) -> Result<(), CompileError> {
        self.step(work).map_err(|error| self.reached_in(body, error))
    }

    /// Counts the copies into which one was split, by their size. The first takes the place of the one.
    fn keep_in(&mut self, body: &Body<'_>, frame: &Frame<'p>, n_kept: usize) -> Result<(), CompileError> {
        let size = frame.n_variables() + body.literals.len();
        self.step_in(body, n_kept.saturating_sub(1) * (size / limits::COPY_SIZE))
    }

    /// The refusal for a test whose variable has no type.
    pub(super) fn untyped(&self, body: &Body<'_>, var: VarId, span: Span) -> CompileError {
        let var = match body.of {
            BodyOf::Question => VarName::OfQuestion(var.in_question()),
            BodyOf::Rule { id, .. } => VarName::Written(self.program.rules[id].vars[var].name.clone()),
        };
        CompileError::Refused(Refusal::Untyped { var, test: Place::of(&self.program.source, span) })
    }
}

/// A variable of a test that has several types still.
fn open_variable(body: &Body<'_>, frame: &Frame<'_>, literal: &Literal) -> Option<VarId> {
    let is_open = |term: &Term| match term {
        Term::Var(var) => (!body.is_local(*var) && has_types(frame, *var)).then_some(*var),
        Term::Const(_) | Term::Now => None,
    };
    match &literal.kind {
        LiteralKind::Atom { polarity: Polarity::Negated, args, .. } => args.iter().find_map(is_open),
        LiteralKind::Compare { left, right, .. } => is_open(left).or_else(|| is_open(right)),
        LiteralKind::OneOf { term, .. } => is_open(term),
        LiteralKind::Atom { polarity: Polarity::Positive, .. }
        | LiteralKind::NotOfType { .. }
        | LiteralKind::False => None,
    }
}

/// Whether the variable is unbound and has several types.
fn has_types(frame: &Frame<'_>, var: VarId) -> bool {
    !frame.is_bound(var) && matches!(frame.types(var), TypeSet::OneOf(_))
}
