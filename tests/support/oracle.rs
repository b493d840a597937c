//! The referee: answers questions by brute force, simple and obviously right.
//!
//! In: a program, facts, the values that questions will mention, the clock. Out: the answers of a question
//! over the [active domain](super::domain). Rule bodies are joined by backtracking, left to right, again
//! and again until nothing is new; a variable that no atom binds runs through every value of its type.
//!
//! Negation may run through one predicate as long as no *ground* atom depends on its own negation
//! (`"read" if not "banned"`: both are `has_permission`). The alternating fixpoint over ground atoms is
//! exact for that: an over-estimate that believes every negation, and an under-estimate that believes only
//! what the over-estimate leaves open, approach each other. That they meet is asserted.
//!
//! Nothing of the compiler's stages after the resolver is used here.

mod heights;

use super::domain::ActiveDomain;
use super::model::{Model, Tuple};
use super::notation::{Cell, Fact, Value};
use super::positive_body::PositiveBody;
use portcullis_compiler::ir::{Constant, LiteralKind, Polarity, Program, Term, VarId, VarType};
use portcullis_compiler::question::{Domain, Question, QuestionVarId};
use std::cell::{Cell as Counter, OnceCell};
use std::collections::BTreeSet;

type Env = Vec<Option<usize>>;

/// The meaning of a program with its facts.
pub struct Oracle<'p> {
    program: &'p Program,
    predicates: Vec<(String, usize)>,
    facts: Vec<Fact>,
    domain: ActiveDomain,
    /// The policy's literals.
    literals: Vec<usize>,
    now: usize,
    model: Model,
    /// In which round each atom was derived first.
    heights: OnceCell<heights::Heights>,
    /// How many more assignments may be tried.
    patience: Counter<u64>,
}

impl<'p> Oracle<'p> {
    /// The meaning of `program` with these facts, ready for questions that mention only known values.
    pub fn new(program: &'p Program, facts: &[Fact], mentioned: &[Value], now: i64) -> Self {
        Self::patient(program, facts, mentioned, now, u64::MAX).expect("patience without end")
    }

    /// The same, unless it takes more than this many assignments: a rule with several variables that nothing
    /// binds is tried with all values of each.
    pub fn patient(
        program: &'p Program,
        facts: &[Fact],
        mentioned: &[Value],
        now: i64,
        patience: u64,
    ) -> Option<Self> {
        // A fact of a type that the policy does not mention matches nothing.
        let mentions = |fact: &&Fact| fact.args.iter().all(|arg| program.type_id(&arg.ty).is_some());
        let facts: Vec<Fact> = facts.iter().filter(mentions).cloned().collect();
        Self::of_all(program, &facts, mentioned, now, patience)
    }

    /// The same, where a fact of a type that the policy does not mention matches what may be of any type.
    pub fn of_all(
        program: &'p Program,
        facts: &[Fact],
        mentioned: &[Value],
        now: i64,
        patience: u64,
    ) -> Option<Self> {
        let facts = facts.to_vec();
        let clock = Value::new("Integer", &now.to_string());
        let domain = ActiveDomain::new(program, &facts, mentioned.iter().chain([&clock]));
        let declared = program.predicates.iter().map(|predicate| (predicate.name.clone(), predicate.arity));
        let stored = facts.iter().map(|fact| (fact.predicate.clone(), fact.args.len()));
        let predicates = declared.chain(stored).collect();
        let now = domain.number(&clock);
        let patience = Counter::new(patience);
        let number =
            |literal: &Constant| domain.number(&Value::new(&program.types[literal.ty].name, &literal.text));
        let literals = program.constants.iter().map(number).collect();
        let model = Model::default();
        let heights = OnceCell::new();
        let mut oracle = Self { program, predicates, facts, domain, literals, now, model, heights, patience };
        oracle.model = oracle.alternating_fixpoint();
        let is_done = oracle.patience.replace(u64::MAX) > 0;
        is_done.then_some(oracle)
    }

    /// Whether the question has an answer.
    pub fn decision(&self, question: &Question) -> bool {
        !self.ground(question).is_empty()
    }

    /// The answers as rows, with wildcards for what holds of every value; `None` if rows cannot say it
    /// (every value but some, or the same unknown value twice).
    pub fn answers(&self, question: &Question) -> Option<BTreeSet<Vec<Cell>>> {
        let ground = self.ground(question);
        let row = |tuple: &Tuple| tuple.iter().map(|&number| self.domain.cell(number)).collect();
        let rows: BTreeSet<Vec<Cell>> = ground.iter().map(row).collect();
        let is_covered = |row: &Vec<Cell>| rows.iter().any(|wide| wide != row && Cell::row_covers(wide, row));
        let least = rows.iter().filter(|row| !is_covered(row)).cloned().collect();
        (self.domain.expand(&least) == ground).then_some(least)
    }

    /// Whether rows say exactly the answers. A wildcard does not swallow the concrete rows that follow
    /// anyway, so a row may be covered by another.
    pub fn agrees(&self, question: &Question, rows: &BTreeSet<Vec<Cell>>) -> bool {
        self.domain.expand(rows) == self.ground(question)
    }

    /// The answers as values of the active domain, fresh ones included.
    pub fn values(&self, question: &Question) -> BTreeSet<Vec<Value>> {
        let value = |&number: &usize| self.domain.value(number).clone();
        self.ground(question).iter().map(|tuple| tuple.iter().map(value).collect()).collect()
    }

    /// Every value that may occur in an answer, fresh ones included.
    pub fn known(&self) -> BTreeSet<Value> {
        self.domain.all()
    }

    /// All values of these types, fresh ones included.
    pub fn all_of(&self, types: &[&str]) -> BTreeSet<Value> {
        self.domain.all_of(types)
    }

    /// The values of the wanted and the one-of variables.
    fn ground(&self, question: &Question) -> BTreeSet<Tuple> {
        let mut answers = BTreeSet::new();
        let is_asked = |var: &Domain| matches!(var, Domain::Wanted | Domain::GivenOneOf(_));
        self.assignments(question, &mut |env| {
            let values = question.vars.iter().zip(env.iter().flatten().copied());
            answers
                .insert(values.filter(|(var, _)| is_asked(&var.domain)).map(|(_, number)| number).collect());
        });
        answers
    }

    /// Every assignment to the question's variables under which it holds.
    fn assignments(&self, question: &Question, found: &mut dyn FnMut(&Env)) {
        let terms = |args: &[QuestionVarId]| {
            args.iter().map(|var| Term::Var(VarId::from_index(var.index()))).collect()
        };
        let args: Vec<Vec<Term>> = question.atoms.iter().map(|atom| terms(&atom.args)).collect();
        let preds = question.atoms.iter().map(|atom| self.number_of(&atom.predicate, atom.args.len()));
        let Some(preds) = preds.collect::<Option<Vec<usize>>>() else { return };
        let join = PositiveBody {
            vars: vec![VarType::Any; question.vars.len()],
            atoms: preds.into_iter().zip(args.iter().map(Vec::as_slice)).collect(),
            needed: (0..question.vars.len()).collect(),
        };
        let given = question.vars.iter().map(|var| match &var.domain {
            Domain::Given(id) => {
                Some(self.domain.number(&Value::new(var.ty.as_deref().unwrap_or_default(), id)))
            }
            Domain::GivenOneOf(_) | Domain::Wanted | Domain::Ignored => None,
        });
        self.solve(&join, 0, &mut given.collect(), &self.model, &mut |env| {
            let mut values = question.vars.iter().zip(env.iter().flatten().copied());
            let is_admitted = values.all(|(var, number)| {
                let value = self.domain.value(number);
                let is_listed = match &var.domain {
                    Domain::GivenOneOf(ids) => ids.contains(&value.id),
                    Domain::Given(_) | Domain::Wanted | Domain::Ignored => true,
                };
                is_listed && var.ty.as_ref().is_none_or(|ty| *ty == value.ty)
            });
            if is_admitted {
                found(env);
            }
        });
    }

    fn alternating_fixpoint(&self) -> Model {
        let mut over = self.least_fixpoint(&Model::default());
        loop {
            let under = self.least_fixpoint(&over);
            if under.present == over.present {
                return under;
            }
            let next = self.least_fixpoint(&under);
            assert!(next.present != over.present, "an atom depends on its own negation");
            over = next;
        }
    }

    /// All that follows if exactly the atoms of `denied` make a negation fail.
    fn least_fixpoint(&self, denied: &Model) -> Model {
        self.rounds(denied, &mut |_, _, _| {})
    }

    /// The same; `note` is called with each atom and the round of its first derivation, 0 for a fact.
    fn rounds(&self, denied: &Model, note: &mut dyn FnMut(usize, &Tuple, usize)) -> Model {
        let mut model = Model::default();
        for fact in &self.facts {
            let pred = self.number_of(&fact.predicate, fact.args.len()).unwrap();
            let tuple = fact.args.iter().map(|arg| self.domain.number(arg)).collect();
            note(pred, &tuple, 0);
            model.insert(pred, tuple);
        }
        let mut round = 0;
        let rules: Vec<_> = self.program.rules.iter().map(|rule| (rule, PositiveBody::of(rule))).collect();
        loop {
            let mut derived = Vec::new();
            for (rule, join) in &rules {
                self.solve(join, 0, &mut vec![None; rule.vars.len()], &model, &mut |env| {
                    if rule.body.iter().all(|literal| self.holds(&literal.kind, &join.vars, env, denied)) {
                        derived.push((rule.head, self.terms(&rule.params, env)));
                    }
                });
            }
            let before = model.present.len();
            round += 1;
            for (pred, tuple) in derived {
                let tuple: Tuple = tuple.into_iter().flatten().collect();
                note(pred.index(), &tuple, round);
                model.insert(pred.index(), tuple);
            }
            if model.present.len() == before {
                return model;
            }
        }
    }

    /// Calls `found` with every assignment that satisfies the join's atoms from `at` on.
    fn solve(
        &self,
        join: &PositiveBody<'_>,
        at: usize,
        env: &mut Env,
        model: &Model,
        found: &mut dyn FnMut(&Env),
    ) {
        let Some(patience) = self.patience.get().checked_sub(1) else { return };
        self.patience.set(patience);
        if let Some(&(pred, args)) = join.atoms.get(at) {
            for tuple in model.candidates(pred, &self.terms(args, env)) {
                let mut extended = env.clone();
                if self.unify(args, tuple, &join.vars, &mut extended) {
                    self.solve(join, at + 1, &mut extended, model, found);
                }
            }
        } else if let Some(&var) = join.needed.iter().find(|&&var| env[var].is_none()) {
            for number in self.domain.admitted(&join.vars[var]) {
                env[var] = Some(number);
                self.solve(join, at, env, model, found);
            }
            env[var] = None;
        } else {
            found(env);
        }
    }

    fn unify(&self, args: &[Term], tuple: &Tuple, vars: &[VarType], env: &mut Env) -> bool {
        args.iter().zip(tuple).all(|(&arg, &number)| match (self.term(arg, env), arg) {
            (Some(bound), _) => bound == number,
            (None, Term::Var(var)) => {
                env[var.index()] = Some(number);
                self.domain.admits(&vars[var.index()], number)
            }
            (None, Term::Const(_) | Term::Now) => false,
        })
    }

    /// Whether a test holds; positive atoms were joined already.
    fn holds(&self, literal: &LiteralKind, vars: &[VarType], env: &Env, denied: &Model) -> bool {
        match literal {
            LiteralKind::Atom { polarity: Polarity::Positive, .. } => true,
            LiteralKind::Atom { polarity: Polarity::Negated, pred, args } => {
                let candidates = denied.candidates(pred.index(), &self.terms(args, env));
                !candidates.into_iter().any(|tuple| self.unify(args, tuple, vars, &mut env.clone()))
            }
            LiteralKind::Compare { op, left, right } => {
                self.domain.compare(*op, self.term(*left, env).unwrap(), self.term(*right, env).unwrap())
            }
            LiteralKind::OneOf { polarity, term, values } => {
                let value = self.term(*term, env);
                let is_listed = values.iter().any(|&literal| self.term(Term::Const(literal), env) == value);
                is_listed == (*polarity == Polarity::Positive)
            }
            LiteralKind::NotOfType { var, types } => {
                !types.contains(&self.domain.type_of(env[var.index()].unwrap()))
            }
            LiteralKind::False => false,
        }
    }

    fn terms(&self, terms: &[Term], env: &Env) -> Vec<Option<usize>> {
        terms.iter().map(|&term| self.term(term, env)).collect()
    }

    fn term(&self, term: Term, env: &Env) -> Option<usize> {
        match term {
            Term::Var(var) => env[var.index()],
            Term::Const(id) => Some(self.literals[id.index()]),
            Term::Now => Some(self.now),
        }
    }

    fn number_of(&self, name: &str, arity: usize) -> Option<usize> {
        self.predicates.iter().position(|(known, n_args)| known == name && *n_args == arity)
    }
}
