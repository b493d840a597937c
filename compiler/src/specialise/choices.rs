//! What answers an atom: relations of the catalog by themselves, or the table of its call pattern.

use super::frame::Frame;
use super::index::SourceArg;
use super::pattern::{Pattern, PatternArg};
use super::solve::{Body, Origin, Solution};
use super::{Choice, Specialiser};
use crate::ir::{LiteralKind, Polarity, TypeId};
use crate::specialise::clause::Adornment;
use rustc_hash::FxHashSet;

impl<'p> Specialiser<'p> {
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
    pub(super) fn call_negated(&mut self, body: &Body<'_>, frame: &Frame<'p>) {
        for literal in body.literals {
            if let LiteralKind::Atom { polarity: Polarity::Negated, pred, args } = &literal.kind {
                let pattern = Pattern::of(self.program, frame, *pred, args);
                self.choices(&pattern, None);
            }
        }
    }
}

/// Whether a type is among several, or any will do.
fn admits(types: Option<&Vec<TypeId>>, ty: TypeId) -> bool {
    types.is_none_or(|types| types.contains(&ty))
}
