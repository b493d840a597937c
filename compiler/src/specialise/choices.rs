//! What answers an atom: relations of the catalog by themselves, or the table of its call pattern.

use super::frame::Frame;
use super::index::SourceArg;
use super::pattern::{CallId, Pattern, PatternArg};
use super::solve::Body;
use super::specialiser::{Answerer, Choice, DirectAnswer, Maker, Specialiser};
use crate::datalog::Adornment;
use crate::ir::{LiteralKind, Polarity, TypeId};
use crate::question::CompileError;
use rustc_hash::FxHashSet;

impl<'p> Specialiser<'p> {
    /// The relations of the catalog that answer a pattern by themselves.
    pub(super) fn source_answers(&self, pattern: &Pattern) -> Vec<DirectAnswer> {
        let mut found = Vec::new();
        for source in self.sources.of(pattern.pred) {
            let adornment = |(arg, held): (&PatternArg, &SourceArg)| self.source_answer(*arg, held);
            let adornments = pattern.args.iter().zip(&source.args).map(adornment).collect::<Option<Vec<_>>>();
            found.extend(adornments.map(|adornments| (source.id, adornments)));
        }
        found
    }

    /// What a relation answers with at one argument; `None` if it holds no such value.
    pub(super) fn source_answer(&self, arg: PatternArg, held: &SourceArg) -> Option<Adornment> {
        match (arg, held) {
            (PatternArg::Literal(literal), SourceArg::Constant(held)) => {
                (literal == *held).then_some(Adornment::Literal(literal))
            }
            (PatternArg::Typed(ty), SourceArg::Constant(held)) => {
                (self.literal(*held).ty == ty).then_some(Adornment::Literal(*held))
            }
            (PatternArg::Untyped, SourceArg::Constant(held)) => Some(Adornment::Literal(*held)),
            (PatternArg::Literal(literal), SourceArg::Column(ty)) => {
                (self.literal(literal).ty == *ty).then_some(Adornment::Literal(literal))
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
        }
    }

    /// The answers to a pattern that one relation of the catalog answers alone, or none, so that it needs no
    /// table.
    fn direct_answers(&self, pattern: &Pattern) -> Option<Vec<DirectAnswer>> {
        if self.matching_rules(pattern).len() > 0 {
            return None;
        }
        let found = self.source_answers(pattern);
        let distinct: FxHashSet<&[Adornment]> =
            found.iter().map(|(_, adornments)| adornments.as_slice()).collect();
        (distinct.len() == found.len()).then_some(found)
    }

    /// What answers a call, found or made when it is called first. A table has its reader run again whenever
    /// it grows.
    pub(super) fn call(&mut self, pattern: Pattern, reader: Option<CallId>) -> Answerer {
        let known = self.by_pattern.get(&pattern).copied();
        let answerer = known.unwrap_or_else(|| self.first_call(pattern));
        if let Answerer::Table(table) = answerer {
            self.tables[table].readers.extend(reader);
        }
        answerer
    }

    fn first_call(&mut self, pattern: Pattern) -> Answerer {
        let answerer = match self.direct_answers(&pattern) {
            Some(answers) => Answerer::Direct(self.direct.push(answers)),
            None => Answerer::Table(self.table(pattern.clone())),
        };
        self.by_pattern.insert(pattern, answerer);
        answerer
    }

    /// The current answers.
    pub(super) fn choices(
        &self,
        answerer: Answerer,
    ) -> impl DoubleEndedIterator<Item = (Choice, &[Adornment])> {
        let (direct, table) = match answerer {
            Answerer::Direct(direct) => (Some(&self.direct[direct]), None),
            Answerer::Table(table) => (None, Some((table, &self.tables[table]))),
        };
        let direct = direct
            .into_iter()
            .flatten()
            .map(|(source, adornments)| (Choice::Source(*source), adornments.as_slice()));
        let table = table.into_iter().flat_map(|(table, entry)| {
            entry.answers().map(move |(answer, adornments)| (Choice::Answer { table, answer }, adornments))
        });
        direct.chain(table)
    }

    /// What answers a negated call, which was made when its rule was solved. Without an answerer the negation
    /// would be left out.
    pub(super) fn answerer_of_negated(&self, pattern: &Pattern) -> Result<Answerer, CompileError> {
        let answerer = self.by_pattern.get(pattern).copied();
        answerer.ok_or_else(|| CompileError::Bug("a negated atom that was never called".into()))
    }

    /// Makes the tables of the negated atoms, so that they are complete when clauses are emitted.
    pub(super) fn call_negated(&mut self, body: &Body<'_>, frame: &Frame<'p>) {
        for literal in body.literals {
            if let LiteralKind::Atom { polarity: Polarity::Negated, pred, args } = &literal.kind {
                let pattern = Pattern::of(self.program, frame, *pred, args);
                self.note_left_out((literal, args), frame, &pattern, Maker::Negation);
                let answerer = self.call(pattern, None);
                self.note_denied(answerer);
            }
        }
    }
}

/// Whether a type is among several, or any will do.
fn admits(types: Option<&Vec<TypeId>>, ty: TypeId) -> bool {
    types.is_none_or(|types| types.contains(&ty))
}
