//! The aliases of a select: which a condition mentions, and a canonical numbering, under which equal selects
//! compare equal.

use super::ids::Alias;
use super::select::{Condition, Select};
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

/// The aliases that are taken: all up to a number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TakenAliases(usize);

impl Alias {
    /// The alias of the source at this place while selects are compared: no source of a plan has it.
    pub(crate) const fn canonical(place: usize) -> Self {
        Self(usize::MAX / 2 + place)
    }
}

impl TakenAliases {
    /// Those of all sources of a plan, and all [canonical](Alias::canonical) ones: the next ones are for
    /// sources inside a condition while conditions are compared.
    pub(crate) const fn with_canonical() -> Self {
        Self(usize::MAX / 4 * 3)
    }

    /// Those of the sources of selects and their branches, and all below.
    pub(crate) fn of<'s>(selects: impl IntoIterator<Item = &'s Select>) -> Self {
        let mut taken = Self::default();
        selects.into_iter().for_each(|select| taken.add(select));
        taken
    }

    /// Adds those of a select and its branches, and all below.
    pub(crate) fn add(&mut self, select: &Select) {
        select.for_each_source(&mut |from| self.0 = self.0.max(from.alias.0));
    }

    /// Takes the first that is free.
    pub(crate) fn take(&mut self) -> Alias {
        self.0 += 1;
        Alias(self.0)
    }

    /// Raises the aliases of a select and its branches above those that are taken.
    pub(crate) fn raise(self, select: &mut Select) {
        select.for_each_alias_mut(&mut |alias| alias.0 += self.0);
    }
}

/// Writes another alias for a source, wherever a select mentions it.
pub(crate) fn rename(select: &mut Select, old: Alias, new: Alias) {
    select.for_each_alias_mut(&mut |alias| {
        if *alias == old {
            *alias = new;
        }
    });
}

/// Every alias that a condition mentions, those of its branches' own sources included.
pub(crate) fn mentioned(condition: &Condition) -> IndexSet<Alias, FxBuildHasher> {
    let mut aliases = IndexSet::default();
    condition.for_each_expr(&mut |expr| aliases.extend(expr.alias()));
    for branch in condition.branches() {
        branch.for_each_source(&mut |from| aliases.extend(from.kind.seen_row()));
    }
    aliases
}

/// Whether a select reads a column of a source, or sees its row again.
pub(crate) fn mentions(select: &Select, alias: Alias) -> bool {
    let mut found = false;
    select.for_each_expr(&mut |expr| found |= expr.alias() == Some(alias));
    select.for_each_source(&mut |from| found |= from.kind.seen_row() == Some(alias));
    found
}

/// The aliases that a condition mentions and does not define.
pub(crate) fn free_aliases(condition: &Condition) -> Vec<Alias> {
    let mut defined = FxHashSet::default();
    defined_in(condition.branches(), &mut defined);
    let mut free: Vec<Alias> =
        mentioned(condition).into_iter().filter(|alias| !defined.contains(alias)).collect();
    free.sort_unstable();
    free
}

fn defined_in(branches: &[Select], defined: &mut impl Extend<Alias>) {
    for branch in branches {
        defined.extend(branch.from.iter().map(|from| from.alias));
        branch.filter.iter().for_each(|condition| defined_in(condition.branches(), defined));
    }
}

/// Gives the sources inside a condition aliases that are not taken yet.
pub(crate) fn renumber_inside(condition: &mut Condition, taken: &mut TakenAliases) {
    let mut inside = Vec::new();
    defined_in(condition.branches(), &mut inside);
    condition.for_each_alias_mut(&mut new_numbers(&inside, taken));
}

/// Gives the sources of a select and its branches aliases that are not taken yet.
pub(crate) fn renumber(select: &mut Select, taken: &mut TakenAliases) {
    let mut defined = Vec::new();
    defined_in(std::slice::from_ref(select), &mut defined);
    select.for_each_alias_mut(&mut new_numbers(&defined, taken));
}

/// Replaces each of these aliases by one that is not taken yet.
fn new_numbers(defined: &[Alias], taken: &mut TakenAliases) -> impl FnMut(&mut Alias) + use<> {
    let mut new: FxHashMap<Alias, Alias> = FxHashMap::default();
    for alias in defined {
        // An alias that two branches define is the same in both.
        new.entry(*alias).or_insert_with(|| taken.take());
    }
    move |alias| {
        if let Some(new) = new.get(alias) {
            *alias = *new;
        }
    }
}

/// Numbers the aliases of selects from one, in order of appearance, so that equal selects are equal.
pub(crate) fn number_aliases<'s>(selects: impl IntoIterator<Item = &'s mut Select>) {
    let mut numbers: IndexSet<Alias, FxBuildHasher> = IndexSet::default();
    for select in selects {
        select.for_each_alias_mut(&mut |alias| *alias = Alias(numbers.insert_full(*alias).0 + 1));
    }
}
