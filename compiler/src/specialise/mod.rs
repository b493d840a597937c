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
//! reaches it a clause.
//!
//! What a rule leaves unconstrained is decided here, at compile time: no `= x OR IS NULL` is ever emitted.
//! Negated atoms do not take part in the fixpoint: a head variable that only a negation mentions is
//! [`Adornment::Tested`] whatever the negated predicate holds.

mod adorn;
mod asked;
mod choices;
pub(crate) mod clause;
mod dependencies;
mod emit;
mod frame;
mod index;
mod negated;
mod pattern;
mod solve;
mod terms;
mod unify;

pub(crate) use dependencies::{Dependencies, Dependency, dependencies};
pub(crate) use terms::{for_each_goal_term, ignore_lonely};

use crate::catalog::Catalog;
use crate::ir::{Candidates, Program, RuleId};
use crate::limits;
use crate::question::{CompileError, Shape};
use clause::{Adornment, Clause, Relation, Root, Specialised};
use frame::Frame;
use index::Sources;
use indexmap::IndexSet;
use pattern::Pattern;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A predicate called in one way, with what it answers.
#[derive(Debug)]
struct Table {
    pattern: Pattern,
    /// The adornments found so far.
    forms: IndexSet<Vec<Adornment>>,
    /// The tables that read this one.
    readers: IndexSet<usize>,
    queued: bool,
}

/// How one positive atom of a rule copy is answered.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// By a relation of the catalog.
    Source(usize),
    /// By one adornment of a table.
    Form { table: usize, form: usize },
}

/// The work in progress.
struct Specialiser<'p> {
    program: &'p Program,
    sources: Sources,
    tables: Vec<Table>,
    by_pattern: FxHashMap<Pattern, usize>,
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
    let mut work = Specialiser {
        program,
        sources: Sources::new(program, catalog),
        tables: Vec::new(),
        by_pattern: FxHashMap::default(),
        queue: VecDeque::new(),
        steps: 0,
    };
    let Some(question) = asked::QuestionRule::new(program, shape) else {
        return Ok(Specialised {
            relations: Vec::new(),
            roots: Vec::new(),
            extra_constants: IndexSet::new(),
            shared: IndexSet::new(),
        });
    };
    // The question's own solutions depend on the tables it reads: run it until no table grows.
    question.run(&mut work)?;
    work.fixpoint()?;
    loop {
        let before = work.size();
        question.run(&mut work)?;
        work.fixpoint()?;
        if work.size() == before {
            break;
        }
    }
    let roots = question.roots(&mut work)?;
    work.into_specialised(roots)
}

impl<'p> Specialiser<'p> {
    /// The table of a pattern, made and queued if it is new.
    fn table(&mut self, pattern: Pattern) -> usize {
        if let Some(&table) = self.by_pattern.get(&pattern) {
            return table;
        }
        let table = self.tables.len();
        self.by_pattern.insert(pattern.clone(), table);
        self.tables.push(Table { pattern, forms: IndexSet::new(), readers: IndexSet::new(), queued: true });
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
            let mut forms = Vec::new();
            for solution in self.solutions(&pattern, Some(table))? {
                forms.push(solution.adornments);
            }
            let Some(entry) = self.tables.get_mut(table) else { continue };
            let before = entry.forms.len();
            entry.forms.extend(forms);
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
    fn solutions(
        &mut self,
        pattern: &Pattern,
        reader: Option<usize>,
    ) -> Result<Vec<solve::Solution<'p>>, CompileError> {
        let mut found = Vec::new();
        self.source_solutions(pattern, &mut found);
        for rule_id in self.candidates(pattern) {
            self.rule_solutions(pattern, rule_id, reader, &mut found)?;
        }
        Ok(found)
    }

    fn rule_solutions(
        &mut self,
        pattern: &Pattern,
        rule_id: RuleId,
        reader: Option<usize>,
        found: &mut Vec<solve::Solution<'p>>,
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
        self.solve(&body, frame, reader, found)
    }

    /// Counts work against the limit.
    fn step(&mut self) -> Result<(), CompileError> {
        self.steps += 1;
        if self.steps > limits::SPECIALISATION_STEPS {
            return Err(CompileError::Refused(format!(
                "the question needs more than {} rule copies: give its variables types or values, or split the rules that it reads",
                limits::SPECIALISATION_STEPS
            )));
        }
        Ok(())
    }

    /// Turns tables into relations with clauses.
    fn into_specialised(mut self, roots: Vec<Root>) -> Result<Specialised, CompileError> {
        let numbering = emit::Numbering::new(&self);
        let mut relations: Vec<Relation> = Vec::new();
        for table in 0..self.tables.len() {
            let Some(entry) = self.tables.get(table) else { continue };
            let pattern = entry.pattern.clone();
            let forms = entry.forms.clone();
            let start = relations.len();
            let mut clauses: Vec<IndexSet<Clause>> = vec![IndexSet::new(); forms.len()];
            relations.extend(forms.iter().map(|adornments| Relation {
                pred: pattern.pred,
                adornments: adornments.clone(),
                clauses: Vec::new(),
            }));
            for solution in self.solutions(&pattern, None)? {
                let Some(form) = forms.get_index_of(&solution.adornments) else {
                    return Err(CompileError::Bug("a table grew after the fixpoint".into()));
                };
                let clause = emit::clause(&self, &numbering, &solution)?;
                if let (Some(clause), Some(clauses)) = (clause, clauses.get_mut(form)) {
                    clauses.insert(clause);
                }
            }
            for (relation, clauses) in relations.iter_mut().skip(start).zip(clauses) {
                relation.clauses = clauses.into_iter().collect();
            }
        }
        let extra_constants = self.sources.extra_constants;
        Ok(Specialised { relations, roots, extra_constants, shared: IndexSet::new() })
    }
}
