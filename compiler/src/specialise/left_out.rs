//! Facts of types that the policy does not mention.
//!
//! Data bindings may have facts that a policy does not use, since one document serves several policies. A
//! variable of any type stands for the types that the policy mentions, so such facts are left out. Where they
//! could only permit something, that is right. If a negation asks for them, the answer would be yes where the
//! facts may say no: such a question is refused. So is one that asks for the facts themselves.

use super::frame::{Frame, TypeSet};
use super::index::{LeftOut, SourceArg};
use super::pattern::{CallId, Pattern, PatternArg};
use super::specialiser::{Answerer, Maker, Specialiser};
use crate::ir::{Literal, Term};
use crate::question::CompileError;
use crate::refusal::{Place, Refusal};
use rustc_hash::FxHashSet;

impl<'p> Specialiser<'p> {
    /// Notes that a negated atom reads what answers it.
    pub(super) fn note_denied(&mut self, answerer: Answerer) {
        if let Answerer::Table(table) = answerer {
            self.blind.denied.insert(table);
        }
    }

    /// Notes the facts that are left out of a call.
    pub(super) fn note_left_out(
        &mut self,
        (literal, args): (&Literal, &[Term]),
        frame: &Frame<'p>,
        pattern: &Pattern,
        maker: Maker,
    ) {
        for (place, left_out) in self.sources.left_out(pattern.pred).iter().enumerate() {
            let sees =
                |((held, wanted), term): ((&Option<SourceArg>, &PatternArg), &Term)| match (held, wanted) {
                    // A type of the question that the policy does not mention may be this one.
                    (None, PatternArg::Typed(ty)) => ty.unmentioned_var().is_some(),
                    (None, PatternArg::Untyped) => has_any_type(frame, *term),
                    (None, PatternArg::Literal(_)) => false,
                    (Some(held), wanted) => self.source_answer(*wanted, held).is_some(),
                };
            if left_out.args.iter().zip(&pattern.args).zip(args).all(sees) {
                self.blind.found.insert((pattern.pred, place, literal.span, maker));
            }
        }
    }

    /// Refuses the question if a negation would not see facts that are left out.
    pub(super) fn check_left_out(&self) -> Result<(), CompileError> {
        let blind = self.blind.found.iter().find(|(.., maker)| match *maker {
            // Without a refusal, a question about these facts would return none of them.
            Maker::Negation | Maker::Question => true,
            Maker::Table(table) => self.is_denied(table),
        });
        let Some((pred, place, span, _)) = blind else { return Ok(()) };
        let Some(LeftOut { key, ty, .. }) = self.sources.left_out(*pred).get(*place) else {
            return Err(CompileError::Bug("facts are left out of no relation".into()));
        };
        let rule = Place::of_rule(&self.program.source, *span);
        Err(CompileError::Refused(Refusal::Unmentioned { key: key.clone(), ty: ty.clone(), rule }))
    }

    /// Whether a negation reads a table, perhaps through others.
    fn is_denied(&self, table: CallId) -> bool {
        let (mut open, mut seen) = (vec![table], FxHashSet::from_iter([table]));
        while let Some(table) = open.pop() {
            if self.blind.denied.contains(&table) {
                return true;
            }
            open.extend(self.tables[table].readers.iter().filter(|reader| seen.insert(**reader)));
        }
        false
    }
}

/// Whether a term is a variable of any type.
fn has_any_type(frame: &Frame<'_>, term: Term) -> bool {
    matches!(term, Term::Var(var) if *frame.types(var) == TypeSet::Any)
}
