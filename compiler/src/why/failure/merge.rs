//! Attempts of one rule that differ only in the types of values that nothing gives are one attempt.
//!
//! In: the attempts of a rule that came furthest. A clause has a type for each value, so a rule that reads a
//! fact with a value of any type has a clause, and an attempt, for each. Out: one attempt for all of them,
//! with `_` instead of the types, if the condition fails with every type.

use super::super::claim::{Claim, Sought};
use super::super::explanation::{Atom, Attempt, Lack, MetCondition};
use super::super::rows::Rows;
use super::super::run::Run;
use super::super::world::Fault;
use super::Failures;
use super::excluded::may_be_derived;
use super::open::{MissingCondition, OpenAttempt, OpenLack};
use indexmap::IndexMap;

/// What attempts have in common that may be one.
#[derive(Debug, PartialEq, Eq, Hash)]
enum MergeKey {
    /// The same conditions, but for types of values that nothing gives.
    Alike(Sought, Vec<MetCondition>),
    /// It stays as it is.
    Alone(usize),
}

impl Failures {
    /// The attempts, each kind once.
    pub(super) fn merged<R: Rows>(
        &mut self,
        run: &mut Run<'_, '_, R>,
        attempts: Vec<OpenAttempt>,
    ) -> Result<Vec<Attempt>, Fault<R::Error>> {
        let mut groups: IndexMap<MergeKey, Vec<OpenAttempt>> = IndexMap::new();
        for (at, attempt) in attempts.into_iter().enumerate() {
            let key = match &attempt.lacks {
                OpenLack::Missing(missing) => {
                    MergeKey::Alike(missing.sought.of_any_type(), attempt.met.clone())
                }
                OpenLack::Other(_) => MergeKey::Alone(at),
            };
            groups.entry(key).or_default().push(attempt);
        }
        let mut merged = Vec::new();
        for group in groups.into_values() {
            let one = self.one_of(run, &group)?;
            for OpenAttempt { rule, met, lacks } in one.map_or(group, |one| vec![one]) {
                let lacks = match lacks {
                    OpenLack::Missing(MissingCondition { atom, is_fact: true, .. }) => {
                        self.missing_fact(run, atom)?
                    }
                    OpenLack::Missing(MissingCondition { atom, tables, .. }) => {
                        Lack::Goal(self.goal(Some(atom), &tables))
                    }
                    OpenLack::Other(lack) => lack,
                };
                merged.push(Attempt { rule, met, lacks });
            }
        }
        Ok(merged)
    }

    /// The attempt that says what all of these say; `None` if there is none.
    fn one_of<R: Rows>(
        &mut self,
        run: &mut Run<'_, '_, R>,
        group: &[OpenAttempt],
    ) -> Result<Option<OpenAttempt>, Fault<R::Error>> {
        let missing = |attempt: &OpenAttempt| match &attempt.lacks {
            OpenLack::Missing(missing) => Some(missing.clone()),
            OpenLack::Other(_) => None,
        };
        let mut all = group.iter().filter_map(missing);
        let (Some(first), Some(mut one)) = (group.first(), all.next()) else { return Ok(None) };
        let MissingCondition { sought, atom: Atom { args, .. }, .. } = one.clone();
        for other in all {
            one.sought.widen(&other.sought);
            for (arg, other) in one.atom.args.iter_mut().zip(other.atom.args) {
                if arg.id.is_none() && arg.ty != other.ty {
                    arg.ty = None;
                }
            }
        }
        if one.atom.args == args && one.sought == sought {
            return Ok(None);
        }
        // With some types only facts could answer it, but with all of them a rule might.
        if one.is_fact && may_be_derived(run.world.program, &one.atom) {
            return Ok(None);
        }
        Ok(match self.claim(run, &one.sought)? {
            Claim::Fails(tables) => {
                let lacks = OpenLack::Missing(MissingCondition { tables, ..one });
                Some(OpenAttempt { lacks, ..first.clone() })
            }
            Claim::Differs | Claim::Holds | Claim::Open => None,
        })
    }
}
