//! The ways in which one rule answers one call: its positive atoms are answered in turn.

use super::frame::{Frame, Impossible, Types, Value, type_of};
use super::index::SourceArg;
use super::pattern::{Pattern, PatternArg};
use super::{Choice, Specialiser};
use crate::ir::{
    CompareOp, ConstId, Literal, LiteralKind, Polarity, PredId, RuleId, Term, TypeId, VarId, VarType,
    Variable,
};
use crate::question::{CompileError, Shape, ShapeDomain, Slot};
use crate::source::Span;
use crate::specialise::clause::{Adornment, Clause, Goal, Output, Root, constant};
use crate::specialise::emit;
use rustc_hash::FxHashSet;

/// A rule, or the question itself, as the solver reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'b> {
    pub(super) params: &'b [Term],
    pub(super) literals: &'b [Literal],
    /// One entry a variable: is it existential inside a negation?
    pub(super) locals: &'b [bool],
    pub(super) rule: Option<RuleId>,
}

/// One way to answer a call.
#[derive(Clone, Debug)]
pub(super) struct Solution<'p> {
    pub(super) adornments: Vec<Adornment>,
    pub(super) origin: Origin<'p>,
}

/// What answers.
#[derive(Clone, Debug)]
pub(super) enum Origin<'p> {
    /// A rule copy: its frame, and for each positive atom (by index in the body) what answers it.
    Rule { rule: RuleId, frame: Frame<'p>, choices: Vec<(usize, Choice)> },
    /// A relation of the catalog.
    Source(usize),
}

/// A positive atom: its index in the body, its predicate and its arguments.
type PositiveAtom<'a> = (usize, PredId, &'a [Term]);

/// One way to answer the positive part of a body.
pub(super) type Answered<'p> = (Frame<'p>, Vec<(usize, Choice)>);

impl<'p> Specialiser<'p> {
    /// Decides two values where that is known at compile time.
    fn same(&self) -> impl Fn(Value, Value, TypeId) -> Option<bool> + use<'p> {
        let n_policy = self.program.constants.len();
        move |left, right, ty| match (left, right) {
            (Value::Const(left), Value::Const(right)) => Some(left == right),
            (Value::Given(left), Value::Given(right)) if left == right => Some(true),
            (Value::Now, Value::Now) => Some(true),
            // A given String is none of the policy's literals: see `ShapeDomain::Given`.
            (Value::Given(_), Value::Const(literal)) | (Value::Const(literal), Value::Given(_))
                if ty == TypeId::STRING && literal.index() < n_policy =>
            {
                Some(false)
            }
            (
                Value::Const(_) | Value::Given(_) | Value::Now,
                Value::Const(_) | Value::Given(_) | Value::Now,
            ) => None,
        }
    }

    fn literal_type(&self, literal: ConstId) -> Result<TypeId, Impossible> {
        type_of(constant(self.program, &self.sources.extra_constants, literal))
    }

    /// Learns that a term has this literal as its value.
    pub(super) fn unify_literal(
        &self,
        frame: &mut Frame<'p>,
        term: Term,
        literal: ConstId,
    ) -> Result<(), Impossible> {
        let ty = self.literal_type(literal)?;
        match term {
            Term::Var(var) => frame.assign(var, Value::Const(literal), ty, self.same()),
            Term::Const(other) if other == literal => Ok(()),
            Term::Const(_) => Err(Impossible),
            Term::Now if ty == TypeId::INTEGER => {
                frame.equal.push((Value::Now, Value::Const(literal)));
                Ok(())
            }
            Term::Now => Err(Impossible),
        }
    }

    /// Learns that a term has this type.
    pub(super) fn unify_type(&self, frame: &mut Frame<'p>, term: Term, ty: TypeId) -> Result<(), Impossible> {
        let known = match term {
            Term::Var(var) => return frame.narrow(var, ty),
            Term::Const(literal) => self.literal_type(literal)?,
            Term::Now => TypeId::INTEGER,
        };
        if known == ty { Ok(()) } else { Err(Impossible) }
    }

    /// Learns what a call pattern says of a rule's parameters.
    pub(super) fn unify_head(
        &self,
        frame: &mut Frame<'p>,
        params: &[Term],
        pattern: &Pattern,
    ) -> Result<(), Impossible> {
        for (param, arg) in params.iter().zip(&pattern.args) {
            match arg {
                PatternArg::Literal(literal) => self.unify_literal(frame, *param, *literal)?,
                PatternArg::Typed(ty) => self.unify_type(frame, *param, *ty)?,
                PatternArg::Untyped => {}
            }
        }
        Ok(())
    }

    /// Answers a rule's body in every way and adds a solution for each.
    pub(super) fn solve(
        &mut self,
        body: &Body<'_>,
        frame: Frame<'p>,
        reader: Option<usize>,
        found: &mut Vec<Solution<'p>>,
    ) -> Result<(), CompileError> {
        let Some(rule) = body.rule else { return Err(CompileError::Bug("a rule without an id".into())) };
        let mut answered = Vec::new();
        self.answer(body, frame, reader, &mut answered)?;
        for (frame, choices) in answered {
            self.call_negated(body, &frame);
            let adornments = self.adornments(body, &frame, &choices);
            found.push(Solution { adornments, origin: Origin::Rule { rule, frame, choices } });
        }
        Ok(())
    }

    /// The relations of the catalog that answer a pattern by themselves.
    pub(super) fn source_solutions(&self, pattern: &Pattern, found: &mut Vec<Solution<'p>>) {
        for source in self.sources.of(pattern.pred) {
            let adornment = |(arg, source_arg): (&PatternArg, &SourceArg)| match (*arg, source_arg) {
                (PatternArg::Literal(literal), SourceArg::Constant(held)) => {
                    (literal == *held).then_some(Adornment::Literal(literal))
                }
                (PatternArg::Typed(ty), SourceArg::Constant(held)) => {
                    (self.literal_type(*held).ok()? == ty).then_some(Adornment::Literal(*held))
                }
                (PatternArg::Untyped, SourceArg::Constant(held)) => Some(Adornment::Literal(*held)),
                (PatternArg::Literal(literal), SourceArg::Column(ty)) => {
                    (self.literal_type(literal).ok()? == *ty).then_some(Adornment::Literal(literal))
                }
                (PatternArg::Typed(wanted), SourceArg::Column(ty)) => {
                    (wanted == *ty).then_some(Adornment::Column(wanted))
                }
                (PatternArg::Untyped, SourceArg::Column(ty)) => Some(Adornment::Column(*ty)),
                (PatternArg::Literal(literal), SourceArg::Open(types)) => {
                    admits(types.as_ref(), TypeId::STRING).then_some(Adornment::Literal(literal))
                }
                (PatternArg::Typed(ty), SourceArg::Open(types)) => {
                    admits(types.as_ref(), ty).then_some(Adornment::Column(ty))
                }
                (PatternArg::Untyped, SourceArg::Open(_)) => Some(Adornment::Unconstrained(None)),
            };
            let adornments = pattern.args.iter().zip(&source.args).map(adornment).collect::<Option<Vec<_>>>();
            if let Some(adornments) = adornments {
                found.push(Solution { adornments, origin: Origin::Source(source.index) });
            }
        }
    }

    /// Every way to answer the positive literals of a body.
    fn answer(
        &mut self,
        body: &Body<'_>,
        mut frame: Frame<'p>,
        reader: Option<usize>,
        answered: &mut Vec<Answered<'p>>,
    ) -> Result<(), CompileError> {
        let mut atoms = Vec::new();
        let mut choices_of = Vec::new();
        for (literal_idx, literal) in body.literals.iter().enumerate() {
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
                        atoms.push((literal_idx, *pred, args.as_slice()));
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

    fn unify(&self, frame: &mut Frame<'p>, left: Term, right: Term) -> Result<(), Impossible> {
        match (left, right) {
            (Term::Var(left), Term::Var(right)) => frame.merge(left, right, self.same()),
            (term, Term::Const(literal)) | (Term::Const(literal), term) => {
                self.unify_literal(frame, term, literal)
            }
            (Term::Var(var), Term::Now) | (Term::Now, Term::Var(var)) => {
                frame.assign(var, Value::Now, TypeId::INTEGER, self.same())
            }
            (Term::Now, Term::Now) => Ok(()),
        }
    }

    /// Tries each value of each `in`, one frame a combination.
    fn try_values(
        &mut self,
        body: &Body<'_>,
        frame: Frame<'p>,
        choices_of: &[(Term, &[ConstId])],
        atoms: &[PositiveAtom<'_>],
        reader: Option<usize>,
        answered: &mut Vec<Answered<'p>>,
    ) -> Result<(), CompileError> {
        let mut frames = vec![frame];
        for (term, values) in choices_of {
            let mut next = Vec::new();
            for frame in frames {
                for value in *values {
                    self.step()?;
                    let mut tried = frame.clone();
                    if self.unify_literal(&mut tried, *term, *value).is_ok() {
                        next.push(tried);
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
        reader: Option<usize>,
        answered: &mut Vec<Answered<'p>>,
    ) -> Result<(), CompileError> {
        let all: Vec<usize> = (0..atoms.len()).collect();
        let mut open = vec![(frame, Vec::new(), all)];
        while let Some((frame, choices, left)) = open.pop() {
            self.step()?;
            let Some((place, (literal_idx, pred, args))) = self.most_known(&frame, atoms, &left) else {
                self.branch_on_types(body, frame, &choices, answered)?;
                continue;
            };
            let pattern = Pattern::of(self.program, &frame, pred, args);
            let mut rest = left;
            rest.remove(place);
            // Last pushed is first tried: keep the order in which the choices are listed.
            for (choice, forms) in self.choices(&pattern, reader).into_iter().rev() {
                let mut next = frame.clone();
                if self.unify_answer(&mut next, args, &forms).is_ok() {
                    let mut chosen = choices.clone();
                    chosen.push((literal_idx, choice));
                    open.push((next, chosen, rest.clone()));
                }
            }
        }
        Ok(())
    }

    /// The first of the atoms left with the fewest unknown arguments, and its place among them.
    fn most_known<'a>(
        &self,
        frame: &Frame<'p>,
        atoms: &[PositiveAtom<'a>],
        left: &[usize],
    ) -> Option<(usize, PositiveAtom<'a>)> {
        let mut best: Option<(usize, usize, PositiveAtom<'a>)> = None;
        for (place, atom) in left.iter().enumerate() {
            let atom = *atoms.get(*atom)?;
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

    /// Whether a pattern is answered by one relation of the catalog alone, or by none, and needs no table.
    fn is_direct(&self, pattern: &Pattern) -> bool {
        let mut found = Vec::new();
        if self.candidates(pattern).len() > 0 {
            return false;
        }
        self.source_solutions(pattern, &mut found);
        let distinct: FxHashSet<&[Adornment]> = found.iter().map(|form| form.adornments.as_slice()).collect();
        distinct.len() == found.len()
    }

    /// What answers a pattern now.
    pub(super) fn choices(
        &mut self,
        pattern: &Pattern,
        reader: Option<usize>,
    ) -> Vec<(Choice, Vec<Adornment>)> {
        if !self.is_direct(pattern) {
            let table = self.table(pattern.clone());
            if let Some(entry) = self.tables.get_mut(table) {
                entry.readers.extend(reader);
            }
        }
        self.known_choices(pattern)
    }

    /// What answers a pattern whose table exists already.
    pub(super) fn known_choices(&self, pattern: &Pattern) -> Vec<(Choice, Vec<Adornment>)> {
        if self.is_direct(pattern) {
            let mut found = Vec::new();
            self.source_solutions(pattern, &mut found);
            let direct = found.into_iter().filter_map(|solution| match solution.origin {
                Origin::Source(index) => Some((Choice::Source(index), solution.adornments)),
                Origin::Rule { .. } => None,
            });
            return direct.collect();
        }
        let Some(&table) = self.by_pattern.get(pattern) else { return Vec::new() };
        let Some(entry) = self.tables.get(table) else { return Vec::new() };
        entry
            .forms
            .iter()
            .enumerate()
            .map(|(form, forms)| (Choice::Form { table, form }, forms.clone()))
            .collect()
    }

    /// Makes the tables of the negated atoms, so that they are complete when clauses are emitted.
    fn call_negated(&mut self, body: &Body<'_>, frame: &Frame<'p>) {
        for literal in body.literals {
            if let LiteralKind::Atom { polarity: Polarity::Negated, pred, args } = &literal.kind {
                let pattern = Pattern::of(self.program, frame, *pred, args);
                self.choices(&pattern, None);
            }
        }
    }

    /// Learns what an answer says of an atom's arguments.
    fn unify_answer(
        &self,
        frame: &mut Frame<'p>,
        args: &[Term],
        adornments: &[Adornment],
    ) -> Result<(), Impossible> {
        for (arg, adornment) in args.iter().zip(adornments) {
            match *adornment {
                Adornment::Literal(literal) => self.unify_literal(frame, *arg, literal)?,
                Adornment::Column(ty) => {
                    self.unify_type(frame, *arg, ty)?;
                    if let Term::Var(var) = *arg {
                        frame.mark_bound(var)?;
                    }
                }
                Adornment::Tested(Some(ty)) | Adornment::Unconstrained(Some(ty)) => {
                    self.unify_type(frame, *arg, ty)?;
                }
                Adornment::Tested(None) | Adornment::Unconstrained(None) => {}
            }
        }
        Ok(())
    }

    /// Splits on the type of each variable that nothing bound, where its type matters.
    fn branch_on_types(
        &mut self,
        body: &Body<'_>,
        frame: Frame<'p>,
        choices: &[(usize, Choice)],
        answered: &mut Vec<Answered<'p>>,
    ) -> Result<(), CompileError> {
        let mut open = vec![frame];
        while let Some(mut frame) = open.pop() {
            self.step()?;
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
            let Types::OneOf(types) = frame.types(var).clone() else { continue };
            for ty in types.iter().rev() {
                let mut next = frame.clone();
                if next.narrow(var, *ty).is_ok() {
                    open.push(next);
                }
            }
        }
        Ok(())
    }

    /// Applies the negated `matches`; `false` if one of them cannot hold.
    fn exclude_types(&self, body: &Body<'_>, frame: &mut Frame<'p>) -> Result<bool, CompileError> {
        for literal in body.literals {
            if let LiteralKind::NotOfType { var, types } = &literal.kind {
                match frame.exclude(*var, types) {
                    Ok(true) => {}
                    Ok(false) => return Err(self.untyped(body, *var, literal.span)),
                    Err(Impossible) => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// The refusal for a test that needs a type nobody gives.
    pub(super) fn untyped(&self, body: &Body<'_>, var: VarId, span: Span) -> CompileError {
        let rule = body.rule.and_then(|rule| self.program.rules.get(rule.index()));
        let name = rule.and_then(|rule| rule.vars.get(var.index())).map_or("_", |var| var.name.as_str());
        let line = self.program.source.locate(span).line;
        CompileError::Refused(format!(
            "the rule at line {line} tests `{name}`, which may be of any type: give `{name}` a type in the rule, or ask about one type"
        ))
    }

    /// What a rule copy answers at each position of its head.
    fn adornments(&self, body: &Body<'_>, frame: &Frame<'p>, choices: &[(usize, Choice)]) -> Vec<Adornment> {
        let adornment = |(position, param): (usize, &Term)| match *param {
            Term::Const(literal) => Adornment::Literal(literal),
            Term::Now => Adornment::Column(TypeId::INTEGER),
            Term::Var(var) => match frame.value(var) {
                Some(Value::Const(literal)) => Adornment::Literal(literal),
                Some(Value::Now) => Adornment::Column(TypeId::INTEGER),
                Some(Value::Given(_)) => Adornment::Tested(frame.only_type(var)),
                None if frame.is_bound(var) => match frame.only_type(var) {
                    Some(ty) => Adornment::Column(ty),
                    None => Adornment::Tested(None),
                },
                None => {
                    let repeated = body.params.iter().enumerate().any(|(other, param)| {
                        other != position
                            && matches!(param, Term::Var(other) if frame.root(*other) == frame.root(var))
                    });
                    if repeated || self.is_tested(body, frame, choices, var) {
                        Adornment::Tested(frame.only_type(var))
                    } else {
                        Adornment::Unconstrained(frame.only_type(var))
                    }
                }
            },
        };
        body.params.iter().enumerate().map(adornment).collect()
    }

    /// Whether a negation, a comparison or a testing predicate mentions the variable.
    pub(super) fn is_tested(
        &self,
        body: &Body<'_>,
        frame: &Frame<'p>,
        choices: &[(usize, Choice)],
        var: VarId,
    ) -> bool {
        let root = frame.root(var);
        let is_it = |term: &Term| matches!(term, Term::Var(other) if frame.root(*other) == root);
        body.literals.iter().enumerate().any(|(literal_idx, literal)| match &literal.kind {
            LiteralKind::Atom { polarity: Polarity::Negated, args, .. } => args.iter().any(is_it),
            LiteralKind::Atom { polarity: Polarity::Positive, args, .. } => {
                let choice =
                    choices.iter().find(|(index, _)| *index == literal_idx).map(|(_, choice)| *choice);
                let Some(Choice::Form { table, form }) = choice else { return false };
                let forms = self.tables.get(table).and_then(|table| table.forms.get_index(form));
                forms.is_some_and(|forms| {
                    args.iter()
                        .zip(forms)
                        .any(|(arg, form)| matches!(form, Adornment::Tested(_)) && is_it(arg))
                })
            }
            LiteralKind::Compare { op: CompareOp::Equal, .. }
            | LiteralKind::NotOfType { .. }
            | LiteralKind::False => false,
            LiteralKind::Compare { left, right, .. } => is_it(left) || is_it(right),
            LiteralKind::OneOf { polarity: Polarity::Negated, term, .. } => is_it(term),
            LiteralKind::OneOf { polarity: Polarity::Positive, .. } => false,
        })
    }
}

/// A variable of a test that has several types still.
fn open_variable(body: &Body<'_>, frame: &Frame<'_>, literal: &Literal) -> Option<VarId> {
    let is_open = |term: &Term| match term {
        Term::Var(var) => {
            let local = body.locals.get(var.index()).copied().unwrap_or(false);
            (!local && has_types(frame, *var)).then_some(*var)
        }
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

/// Whether a type is among several, or any will do.
fn admits(types: Option<&Vec<TypeId>>, ty: TypeId) -> bool {
    types.is_none_or(|types| types.contains(&ty))
}

/// Whether the variable is unbound and has several types.
fn has_types(frame: &Frame<'_>, var: VarId) -> bool {
    !frame.is_bound(var) && matches!(frame.types(var), Types::OneOf(_))
}

/// The question as a rule without a head: its variables are the question's.
#[derive(Debug)]
pub(super) struct QuestionRule {
    vars: Vec<Variable>,
    literals: Vec<Literal>,
    domains: Vec<(ShapeDomain, Option<TypeId>)>,
}

impl QuestionRule {
    /// Reads a shape; `None` if it names a predicate that the policy does not have.
    pub(super) fn new(program: &crate::ir::Program, shape: &Shape) -> Option<Self> {
        let vars = shape.vars.iter().map(|var| Variable {
            name: var.name.clone(),
            ty: var.ty.map_or(VarType::Any, |ty| VarType::OneOf(vec![ty])),
        });
        let literals = shape.atoms.iter().map(|(name, args)| {
            let pred = program.predicate_id(name, args.len())?;
            let args = args.iter().map(|arg| Term::Var(VarId::from_index(*arg))).collect();
            let kind = LiteralKind::Atom { polarity: Polarity::Positive, pred, args };
            Some(Literal { kind, span: Span::default() })
        });
        let literals = literals.collect::<Option<_>>()?;
        let domains = shape.vars.iter().map(|var| (var.domain, var.ty)).collect();
        Some(Self { vars: vars.collect(), literals, domains })
    }

    fn answered<'q>(&'q self, work: &mut Specialiser<'q>) -> Result<Vec<Answered<'q>>, CompileError> {
        let Some(mut frame) = Frame::new(&self.vars) else { return Ok(Vec::new()) };
        for (index, (domain, ty)) in self.domains.iter().enumerate() {
            let var = VarId::from_index(index);
            let known = match (domain, ty) {
                (ShapeDomain::Literal(literal), Some(ty)) => {
                    frame.assign(var, Value::Const(*literal), *ty, work.same())
                }
                (ShapeDomain::Given, Some(ty)) => frame.assign(var, Value::Given(index), *ty, work.same()),
                (ShapeDomain::GivenOneOf, _) => frame.mark_bound(var),
                (ShapeDomain::Literal(_) | ShapeDomain::Given, None) => Err(Impossible),
                (ShapeDomain::Wanted | ShapeDomain::Ignored, _) => Ok(()),
            };
            if known.is_err() {
                return Err(CompileError::Bug("a given variable without a type".into()));
            }
        }
        let body = Body { params: &[], literals: &self.literals, locals: &[], rule: None };
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
        let body = Body { params: &[], literals: &self.literals, locals: &[], rule: None };
        let mut roots: Vec<Root> = Vec::new();
        for (frame, choices) in self.answered(work)? {
            let emitter = emit::Emitter::new(work, &numbering, &body, &frame, &choices);
            let Some(mut goals) = emitter.goals()? else { continue };
            let mut outputs = Vec::new();
            for (index, (domain, _)) in self.domains.iter().enumerate() {
                let var = VarId::from_index(index);
                match domain {
                    ShapeDomain::GivenOneOf => {
                        let term = emitter.term(Term::Var(var));
                        goals.insert(0, Goal::Values { slot: Slot::OneOf(index), term });
                        outputs.push(emitter.output(var));
                    }
                    ShapeDomain::Wanted => outputs.push(emitter.output(var)),
                    ShapeDomain::Literal(_) | ShapeDomain::Given | ShapeDomain::Ignored => {}
                }
            }
            let var_names = self.vars.iter().map(|var| var.name.clone()).collect();
            let clause = Clause { rule: None, head: Vec::new(), goals, var_names };
            let keep: Vec<_> = outputs.iter().filter_map(Output::term).collect();
            let root = Root { clause: emit::ignore_lonely(clause, &keep), outputs };
            if !roots.iter().any(|other| other.outputs == root.outputs && other.clause == root.clause) {
                roots.push(root);
            }
        }
        Ok(roots)
    }
}
