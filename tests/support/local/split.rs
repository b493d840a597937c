//! The place of each fact: in the service, in the caller's database, or in the request.
//!
//! In: the facts of a page. Out: [`Split`]s of them. Whichever way facts are split, an answer is the same; so
//! a page is asked with all facts stored, with all of them local, with the facts of each signature alone
//! local and alone stored, and with some of each signature in each place.

use crate::notation::Fact;
use std::collections::{BTreeMap, BTreeSet};

/// The most facts that a request may carry.
const MOST_IN_REQUEST: usize = 100;

/// Where a fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the service's store.
    Stored,
    /// In a table of the caller's.
    Local,
    /// In the request.
    Request,
}

/// How facts are spread over the places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All in the service's store.
    Stored,
    /// All in the caller's tables.
    Local,
    /// All in the request.
    Request,
    /// Over several places, those of a signature in one of them.
    Together,
    /// Over several places, and those of a signature as well.
    Divided,
}

/// A predicate and the types of its arguments.
pub type Signature = (String, Vec<String>);

/// Facts, each in its place.
#[derive(Clone, Debug)]
pub struct Split {
    /// What is where, for a person.
    pub name: String,
    /// The facts of the store.
    pub stored: Vec<Fact>,
    /// The facts of the caller's tables.
    pub local: Vec<Fact>,
    /// The facts of the request.
    pub request: Vec<Fact>,
}

impl Split {
    /// Puts each fact where `place` says. A fact without arguments has no column, so no table holds it.
    pub fn of(name: &str, facts: &[Fact], mut place: impl FnMut(usize, &Fact) -> Place) -> Self {
        let mut split =
            Self { name: name.to_owned(), stored: Vec::new(), local: Vec::new(), request: Vec::new() };
        for (at, fact) in facts.iter().enumerate() {
            match place(at, fact) {
                Place::Local if !fact.args.is_empty() => split.local.push(fact.clone()),
                Place::Request if split.request.len() < MOST_IN_REQUEST => split.request.push(fact.clone()),
                Place::Local | Place::Request | Place::Stored => split.stored.push(fact.clone()),
            }
        }
        split
    }

    /// How the facts are spread; `None` if there are none.
    pub fn spread(&self) -> Option<Spread> {
        let is_empty = |facts: &[Fact]| facts.is_empty();
        match [&self.stored, &self.local, &self.request].map(|facts| is_empty(facts)) {
            [true, true, true] => None,
            [false, true, true] => Some(Spread::Stored),
            [true, false, true] => Some(Spread::Local),
            [true, true, false] => Some(Spread::Request),
            _ if self.is_divided() => Some(Spread::Divided),
            _ => Some(Spread::Together),
        }
    }

    /// Whether facts of one signature are in several places: then a rule reads each of them.
    pub fn is_divided(&self) -> bool {
        let of = |facts: &[Fact]| facts.iter().map(signature).collect::<BTreeSet<Signature>>();
        let [stored, local, request] = [&self.stored, &self.local, &self.request].map(|facts| of(facts));
        !stored.is_disjoint(&local) || !stored.is_disjoint(&request) || !local.is_disjoint(&request)
    }
}

/// The signature of a fact.
pub fn signature(fact: &Fact) -> Signature {
    (fact.predicate.clone(), fact.args.iter().map(|arg| arg.ty.clone()).collect())
}

/// One split of many; facts keep their places when others are left out.
pub fn by_number(facts: &[Fact], number: usize) -> Split {
    let text_number = |fact: &Fact| -> usize {
        let bytes = fact.to_string().into_bytes();
        bytes.iter().fold(number, |sum, &byte| (sum * 31 + usize::from(byte)) % 1_000_003)
    };
    // Most splits over several places keep the facts of a signature together.
    let together = |fact: &Fact| {
        let (predicate, types) = signature(fact);
        let bytes = predicate.bytes().chain(types.iter().flat_map(|ty| ty.bytes()));
        bytes.fold(number, |sum, byte| (sum * 31 + usize::from(byte)) % 1_000_003)
    };
    Split::of(&format!("split {number}"), facts, |_, fact| {
        // Some keep everything in one place. The lower bits choose the style of the caller's tables.
        let choice = match number / 64 % 16 {
            0 | 1 => return Place::Stored,
            2 | 3 => return Place::Local,
            4 => return Place::Request,
            5..10 => together(fact),
            10..12 => text_number(fact),
            // Some signatures are whole, and others divided.
            _ if together(fact) % 2 == 0 => together(fact) / 2,
            _ => text_number(fact),
        };
        match choice / 7 % 7 {
            0..3 => Place::Stored,
            3..6 => Place::Local,
            _ => Place::Request,
        }
    })
}

/// Every split of a page's facts, no two the same. Facts of the request stay there unless they are local.
pub fn splits(stored: &[Fact], context: &[Fact]) -> Vec<Split> {
    let facts: Vec<Fact> = stored.iter().chain(context).cloned().collect();
    let unless_local = |at: usize| if at < stored.len() { Place::Stored } else { Place::Request };
    let signatures: BTreeSet<Signature> = facts.iter().map(signature).collect();
    let ranks = ranks(&facts);
    let mut all = vec![
        Split::of("all stored", &facts, |at, _| unless_local(at)),
        Split::of("all local", &facts, |_, _| Place::Local),
    ];
    for chosen in &signatures {
        let name = format!("{}({})", chosen.0, chosen.1.join(", "));
        let is_chosen = |fact: &Fact| signature(fact) == *chosen;
        all.push(Split::of(&format!("{name} local"), &facts, |at, fact| {
            if is_chosen(fact) { Place::Local } else { unless_local(at) }
        }));
        all.push(Split::of(&format!("all but {name} local"), &facts, |at, fact| {
            if is_chosen(fact) { unless_local(at) } else { Place::Local }
        }));
    }
    for (name, odd) in [("the odd facts local", 1), ("the even facts local", 0)] {
        all.push(Split::of(
            name,
            &facts,
            |at, _| {
                if ranks[at] % 2 == odd { Place::Local } else { unless_local(at) }
            },
        ));
    }
    all.push(Split::of("a third each", &facts, |at, _| match ranks[at] % 3 {
        0 => Place::Local,
        1 => Place::Request,
        _ => unless_local(at),
    }));
    let mut seen = BTreeSet::new();
    all.retain(|split| seen.insert((split.stored.clone(), split.local.clone(), split.request.clone())));
    all
}

/// The place of each fact among those of its signature.
fn ranks(facts: &[Fact]) -> Vec<usize> {
    let mut counts: BTreeMap<Signature, usize> = BTreeMap::new();
    let mut rank = |fact: &Fact| {
        let count = counts.entry(signature(fact)).or_default();
        *count += 1;
        *count - 1
    };
    facts.iter().map(&mut rank).collect()
}
