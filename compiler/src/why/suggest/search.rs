//! The searches for suggestions, in their order, and their results.

use crate::why::explanation::Suggestion;

/// How many facts a suggestion has at most.
const MOST_FACTS: usize = 3;

/// A search for sets of facts that would make the question hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuggestionSearch {
    /// How many sets are wanted at most.
    pub(in crate::why) most: usize,
    /// How many facts a set has.
    pub(in crate::why) n_facts: usize,
    /// Which facts.
    pub(in crate::why) assumable: Assumable,
    /// From which conditions it looks for their values.
    pub(in crate::why) reach: SearchReach,
}

impl SuggestionSearch {
    /// The first search, for single facts, and for at most this many sets.
    pub fn new(most: usize) -> Self {
        Self { most, n_facts: 1, assumable: Assumable::Stored, reach: SearchReach::AnyCondition }
    }

    /// The search that follows.
    pub(super) fn next(self) -> Option<Self> {
        let larger = Self { n_facts: self.n_facts + 1, ..self };
        if larger.n_facts > MOST_FACTS { self.next_kind() } else { Some(larger) }
    }

    /// The search that follows if this one ended at its limit: a nearer one, as far as there is one.
    pub(super) fn next_nearer(self) -> Option<Self> {
        match self.reach {
            SearchReach::AnyCondition => Some(Self { reach: SearchReach::FewestRows, ..self }),
            SearchReach::FewestRows => self.next_kind(),
        }
    }

    /// The first search for the next kind of fact.
    pub(super) fn next_kind(self) -> Option<Self> {
        match self.assumable {
            Assumable::Stored => {
                let (assumable, reach) = (Assumable::Any, SearchReach::AnyCondition);
                Some(Self { n_facts: 1, assumable, reach, ..self })
            }
            Assumable::Any => None,
        }
    }
}

/// Which facts a search may assume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::why) enum Assumable {
    /// Those that an application stores.
    Stored,
    /// Those of helper predicates too, which only rules derive.
    Any,
}

/// From which conditions of a rule a search looks for the values of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::why) enum SearchReach {
    /// From each: a fact may be assumed for any value that a later condition gives, such as a message in each
    /// of all channels.
    AnyCondition,
    /// From the one with the fewest rows, as where nothing is assumed: the channel that the message has.
    FewestRows,
}

/// What the search for facts that would make the question hold found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestions {
    /// Sets with the same number of facts. Each must be tried.
    pub sets: Vec<Suggestion>,
    /// Where to go on if these do not help.
    pub next: Option<SuggestionSearch>,
    /// Whether there may be others, because the search ended at its limit.
    pub truncated: bool,
}
