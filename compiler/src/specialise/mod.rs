//! Copies of the policy's predicates for exactly the types and literals that a question needs.
//!
//! In: a [`Program`], a [`Catalog`] and a question's [`Shape`]. Out: a [`Specialised`] program whose
//! relations have one concrete type or one String literal at each position, and no position that the
//! clauses leave unconstrained. Afterwards no test of a type is left, and no rule that cannot match.
//!
//! The method is tabled partial evaluation (Tamaki and Sato 1986; Warren 1992) over an abstract domain: a
//! *call pattern* says of each argument the literal, the type or nothing; its table collects the
//! *adornments* that the predicate answers with. A table that grows makes its readers run again, until
//! nothing grows. Then each pair of pattern and adornment becomes a relation, and each way in which a rule
//! reaches it a clause: those of a table's last run, which has seen all that it reads.
//!
//! What a rule leaves unconstrained is decided here, at compile time: no `= x OR IS NULL` is ever emitted.
//! Negated atoms do not take part in the fixpoint: a head variable that only a negation mentions is
//! [`Adornment::Tested`] for any contents of the negated predicate.

mod adorn;
mod asked;
mod choices;
mod dependencies;
mod emit;
mod frame;
mod index;
mod negated;
mod pattern;
mod solve;
mod trace;
mod traced;
mod unify;

pub(crate) use dependencies::{Dependencies, Dependency, dependencies};
pub(crate) use trace::trace;
pub(crate) use traced::{Traced, TracedClause};

use crate::catalog::{Catalog, SourceId};
use crate::datalog::{Adornment, Relation, Specialised};
use crate::id_vec::IdVec;
use crate::ir::{Candidates, PredId, Program, RuleId};
use crate::limits;
use crate::ordered::OrderedSet;
use crate::question::{CompileError, Shape};
use crate::refusal::Limit;
use frame::Frame;
use index::Sources;
use indexmap::IndexSet;
use pattern::Pattern;
use rustc_hash::FxHashMap;
use solve::{Origin, Solution};
use std::collections::VecDeque;
use std::hash::Hash;

/// A predicate called in one way, with what it answers.
#[derive(Debug)]
struct Table<'p> {
    pattern: Pattern,
    /// The adornments found so far.
    forms: OrderedSet<Vec<Adornment>>,
    /// Every way to an answer that the last run found. INVARIANT: a table that nothing queued since has no
    /// other.
    solutions: Vec<Solution<'p>>,
    /// The tables that read this one.
    readers: OrderedSet<usize>,
    queued: bool,
}

/// What answers a call.
#[derive(Clone, Copy, Debug)]
enum Answerer {
    /// Relations of the catalog by themselves: a place in [`Specialiser::direct`].
    Direct(usize),
    /// A table.
    Table(usize),
}

/// A relation of the catalog that answers a call, and what it answers with.
type DirectAnswer = (SourceId, Vec<Adornment>);

/// A relation with clauses of some form.
struct Emitted<C> {
    pred: PredId,
    /// The table that it is one form of.
    table: usize,
    adornments: Vec<Adornment>,
    clauses: Vec<C>,
}

/// How one positive atom of a rule copy is answered.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// By a relation of the catalog.
    Source(SourceId),
    /// By one adornment of a table.
    Form { table: usize, form: usize },
}

/// The work in progress.
struct Specialiser<'p> {
    program: &'p Program,
    sources: Sources,
    tables: Vec<Table<'p>>,
    /// What answers the calls that need no table.
    direct: Vec<Vec<DirectAnswer>>,
    by_pattern: FxHashMap<Pattern, Answerer>,
    queue: VecDeque<usize>,
    steps: usize,
}

/// Returns the program of one question.
///
/// # Errors
/// [`CompileError::Refused`] if the copies exceed [`limits::SPECIALISATION_STEPS`], or a test needs the
/// type of a variable that has none.
pub(crate) fn specialise(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
) -> Result<Specialised, CompileError> {
    let Some(question) = asked::QuestionRule::new(program, shape) else {
        return Ok(Specialised {
            relations: IdVec::new(),
            roots: Vec::new(),
            extra_constants: IndexSet::new(),
        });
    };
    let mut work = Specialiser::new(program, Sources::new(program, catalog));
    work.answer_all(&question)?;
    let roots = question.roots(&mut work)?;
    let relations = work.relations(emit::clause)?.into_iter();
    let relations =
        relations.map(|Emitted { pred, adornments, clauses, .. }| Relation { pred, adornments, clauses });
    Ok(Specialised { relations: relations.collect(), roots, extra_constants: work.sources.extra_constants })
}

impl<'p> Specialiser<'p> {
    /// Nothing was called yet.
    fn new(program: &'p Program, sources: Sources) -> Self {
        Self {
            program,
            sources,
            tables: Vec::new(),
            direct: Vec::new(),
            by_pattern: FxHashMap::default(),
            queue: VecDeque::new(),
            steps: 0,
        }
    }

    /// A new table, which is queued.
    fn table(&mut self, pattern: Pattern) -> usize {
        let table = self.tables.len();
        self.tables.push(Table {
            pattern,
            forms: OrderedSet::default(),
            solutions: Vec::new(),
            readers: OrderedSet::default(),
            queued: true,
        });
        self.queue.push_back(table);
        table
    }

    /// The rules that may match a pattern.
    fn candidates(&self, pattern: &Pattern) -> Candidates<'p> {
        self.program.index.rules.candidates(pattern.pred, pattern.given())
    }

    /// Runs queued tables until none grows.
    fn fixpoint(&mut self) -> Result<(), CompileError> {
        while let Some(table) = self.queue.pop_front() {
            let Some(entry) = self.tables.get_mut(table) else { continue };
            entry.queued = false;
            let pattern = entry.pattern.clone();
            let solutions = self.solutions(&pattern, table)?;
            let Some(entry) = self.tables.get_mut(table) else { continue };
            let before = entry.forms.len();
            for solution in &solutions {
                if !entry.forms.contains(&solution.adornments) {
                    entry.forms.insert(solution.adornments.clone());
                }
            }
            entry.solutions = solutions;
            if entry.forms.len() > before {
                for reader in entry.readers.clone() {
                    if let Some(reader_entry) = self.tables.get_mut(reader)
                        && !reader_entry.queued
                    {
                        reader_entry.queued = true;
                        self.queue.push_back(reader);
                    }
                }
            }
        }
        Ok(())
    }

    /// A number that grows whenever a table or an adornment is added.
    fn size(&self) -> usize {
        self.tables.len() + self.tables.iter().map(|table| table.forms.len()).sum::<usize>()
    }

    /// Every way in which the rules and stored relations answer a pattern.
    fn solutions(&mut self, pattern: &Pattern, reader: usize) -> Result<Vec<Solution<'p>>, CompileError> {
        let direct = self.source_answers(pattern).into_iter();
        let mut found: Vec<Solution<'p>> = direct
            .map(|(source, adornments)| Solution { adornments, origin: Origin::Source(source) })
            .collect();
        for rule_id in self.candidates(pattern) {
            self.rule_solutions(pattern, rule_id, reader, &mut found)?;
        }
        Ok(found)
    }

    fn rule_solutions(
        &mut self,
        pattern: &Pattern,
        rule_id: RuleId,
        reader: usize,
        found: &mut Vec<Solution<'p>>,
    ) -> Result<(), CompileError> {
        let program = self.program;
        let Some(rule) = program.rules.get(rule_id.index()) else { return Ok(()) };
        let Some(mut frame) = Frame::new(&rule.vars) else { return Ok(()) };
        if self.unify_head(&mut frame, &rule.params, pattern).is_err() {
            return Ok(());
        }
        let body = solve::Body {
            params: &rule.params,
            literals: &rule.body,
            locals: self.program.index.rules.locals(rule_id),
            rule: Some(rule_id),
        };
        self.solve(&body, frame, Some(reader), found)
    }

    /// Counts work against the limit.
    fn step(&mut self) -> Result<(), CompileError> {
        self.steps += 1;
        if self.steps > limits::SPECIALISATION_STEPS {
            return Err(CompileError::too_large(Limit::RuleCopies { most: limits::SPECIALISATION_STEPS }));
        }
        Ok(())
    }

    /// Answers the question and everything that it reads.
    fn answer_all(&mut self, question: &'p asked::QuestionRule) -> Result<(), CompileError> {
        // The question's own solutions depend on the tables it reads: run it until no table grows.
        question.run(self)?;
        self.fixpoint()?;
        loop {
            let before = self.size();
            question.run(self)?;
            self.fixpoint()?;
            if self.size() == before {
                return Ok(());
            }
        }
    }

    /// Turns tables into relations with clauses.
    fn relations<C: Eq + Hash>(
        &self,
        emit: impl Fn(&Self, &emit::Numbering, &Solution<'_>) -> Result<Option<C>, CompileError>,
    ) -> Result<Vec<Emitted<C>>, CompileError> {
        let numbering = emit::Numbering::new(self);
        let mut relations = Vec::new();
        for (at, table) in self.tables.iter().enumerate() {
            let mut clauses: Vec<OrderedSet<C>> = Vec::new();
            clauses.resize_with(table.forms.len(), OrderedSet::default);
            for solution in &table.solutions {
                let Some(form) = table.forms.get_index_of(&solution.adornments) else {
                    return Err(CompileError::Bug(
                        "a table has a solution that it does not answer with".into(),
                    ));
                };
                let clause = emit(self, &numbering, solution)?;
                if let (Some(clause), Some(clauses)) = (clause, clauses.get_mut(form)) {
                    clauses.insert(clause);
                }
            }
            let with_clauses = table.forms.iter().zip(clauses);
            relations.extend(with_clauses.map(|(adornments, clauses)| Emitted {
                pred: table.pattern.pred,
                table: at,
                adornments: adornments.clone(),
                clauses: clauses.into_iter().collect(),
            }));
        }
        Ok(relations)
    }
}
