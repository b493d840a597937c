//! What the blocks of a policy declare and inherit.
//!
//! In: a tree, perhaps of a policy with errors. Out: [`Blocks`]. A name that a block inherits and declares
//! again is one thing: all declarations that some block sees under one name are a group.

use portcullis_compiler::limits;
use portcullis_compiler::syntax::ast::{Block, BlockKind, Item, Member, Name, Policy};
use std::collections::{BTreeMap, HashMap};

/// What a declared name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lsp) enum DeclaredKind<'p> {
    Role,
    Permission,
    /// A relation to this type.
    Relation(&'p str),
}

impl DeclaredKind<'_> {
    /// The author's word for it.
    pub(in crate::lsp) fn noun(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Permission => "permission",
            Self::Relation(_) => "relation",
        }
    }
}

/// A declaration.
#[derive(Clone, Copy, Debug)]
pub(in crate::lsp) struct Declared<'p> {
    pub(in crate::lsp) name: &'p Name,
    pub(in crate::lsp) kind: DeclaredKind<'p>,
    /// The block that has it, as its place in the policy.
    pub(in crate::lsp) block: usize,
    /// A declaration of the same thing; the first of the group is its own.
    group: usize,
}

/// All blocks with their declarations.
#[derive(Debug)]
pub(in crate::lsp) struct Blocks<'p> {
    pub(in crate::lsp) list: Vec<&'p Block>,
    declared: Vec<Declared<'p>>,
    /// The declarations that each block has or inherits, by name.
    seen: Vec<BTreeMap<&'p str, usize>>,
    by_name: HashMap<&'p str, usize>,
    /// The blocks that each block extends, and those that extend it.
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
}

impl<'p> Blocks<'p> {
    pub(super) fn of(policy: &'p Policy) -> Self {
        let list: Vec<&Block> = policy
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Block(block) => Some(block),
                Item::Rule(_) | Item::Declare(_) | Item::Fixture(_) | Item::Test(_) => None,
            })
            .collect();
        let mut by_name = HashMap::new();
        for (at, block) in list.iter().enumerate() {
            by_name.entry(block.name.value.as_str()).or_insert(at);
        }
        let above: Vec<Vec<usize>> = list
            .iter()
            .map(|block| {
                block.extends.iter().filter_map(|name| by_name.get(name.value.as_str()).copied()).collect()
            })
            .collect();
        let mut below = vec![Vec::new(); list.len()];
        for (at, supers) in above.iter().enumerate() {
            for &super_block in supers {
                below.get_mut(super_block).into_iter().for_each(|subs| subs.push(at));
            }
        }
        let seen = vec![BTreeMap::new(); list.len()];
        let mut blocks = Self { list, declared: Vec::new(), seen, by_name, above, below };
        (0..blocks.list.len()).for_each(|at| blocks.declare(at));
        blocks.inherit();
        blocks
    }

    /// Adds what a block declares itself.
    fn declare(&mut self, at: usize) {
        let Some(&block) = self.list.get(at) else { return };
        let mut add = |name: &'p Name, kind| {
            let number = self.declared.len();
            let first =
                self.seen.get_mut(at).map_or(number, |seen| *seen.entry(&name.value).or_insert(number));
            self.declared.push(Declared { name, kind, block: at, group: first });
        };
        for member in &block.members {
            match member {
                Member::Roles(list) => list.names.iter().for_each(|name| add(name, DeclaredKind::Role)),
                Member::Permissions(list) => {
                    list.names.iter().for_each(|name| add(name, DeclaredKind::Permission));
                }
                Member::Relations(list) => {
                    list.relations.iter().for_each(|(name, ty)| add(name, DeclaredKind::Relation(&ty.value)));
                }
                Member::Shorthand(_) => {}
            }
        }
    }

    /// Adds what each block inherits.
    fn inherit(&mut self) {
        let mut n_inherited = 0;
        for at in self.supers_first() {
            for above in self.above.get(at).cloned().unwrap_or_default() {
                let inherited = self.seen.get(above).cloned().unwrap_or_default();
                n_inherited += inherited.len();
                if n_inherited > limits::INHERITED {
                    return;
                }
                for (name, declared) in inherited {
                    let own = self.seen.get_mut(at).map(|seen| *seen.entry(name).or_insert(declared));
                    own.into_iter().for_each(|own| self.unite(own, declared));
                }
            }
        }
    }

    /// The blocks, each after those that it extends; in a cycle, in any order.
    fn supers_first(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.list.len());
        let mut met = vec![false; self.list.len()];
        for start in 0..self.list.len() {
            // A block waits on the stack with the number of those above it that were visited.
            let mut waiting = vec![(start, 0)];
            while let Some((at, n_visited)) = waiting.pop() {
                if n_visited == 0 && met.get_mut(at).is_none_or(|met| std::mem::replace(met, true)) {
                    continue;
                }
                match self.above.get(at).and_then(|above| above.get(n_visited)) {
                    Some(&above) => waiting.extend([(at, n_visited + 1), (above, 0)]),
                    None => order.push(at),
                }
            }
        }
        order
    }

    /// The group of a declaration: the first of all that are the same thing.
    fn group(&self, mut number: usize) -> usize {
        while let Some(declared) = self.declared.get(number).filter(|declared| declared.group != number) {
            number = declared.group;
        }
        number
    }

    fn unite(&mut self, one: usize, other: usize) {
        let [one, other] = [one, other].map(|number| self.group(number));
        let [first, second] = [one.min(other), one.max(other)];
        self.declared.get_mut(second).into_iter().for_each(|declared| declared.group = first);
    }

    /// The block of this name; `global` for the global one.
    pub(in crate::lsp) fn named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The global block.
    pub(in crate::lsp) fn global(&self) -> Option<usize> {
        self.list.iter().position(|block| block.kind == BlockKind::Global)
    }

    /// What a block has: first its own declarations, then the inherited ones.
    pub(in crate::lsp) fn declared(&self, block: usize) -> Vec<&Declared<'p>> {
        let seen = self.seen.get(block).into_iter().flat_map(BTreeMap::values);
        let mut declared: Vec<(usize, &Declared<'p>)> =
            seen.filter_map(|&number| Some((number, self.declared.get(number)?))).collect();
        declared.sort_by_key(|(number, declared)| (declared.block != block, *number));
        declared.into_iter().map(|(_, declared)| declared).collect()
    }

    /// All declarations, in source order, each with its group.
    pub(in crate::lsp) fn all(&self) -> impl Iterator<Item = (usize, &Declared<'p>)> {
        self.declared.iter().enumerate().map(|(number, declared)| (self.group(number), declared))
    }

    /// What a block has under a name, and its group.
    pub(in crate::lsp) fn find(&self, block: usize, name: &str) -> Option<(usize, &Declared<'p>)> {
        let number = *self.seen.get(block)?.get(name)?;
        Some((self.group(number), self.declared.get(number)?))
    }

    /// The groups of a name for values of a block's type: of the block, or else of the blocks that extend it.
    pub(in crate::lsp) fn find_below(&self, block: usize, name: &str) -> Vec<(usize, &Declared<'p>)> {
        if let Some(found) = self.find(block, name) {
            return vec![found];
        }
        let found = self.all_below(block).into_iter().filter_map(|at| self.find(at, name));
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(group, _)| *group);
        found.dedup_by_key(|(group, _)| *group);
        found
    }

    /// The blocks that extend a block, directly or not.
    fn all_below(&self, block: usize) -> Vec<usize> {
        let mut met = vec![false; self.list.len()];
        let mut found = vec![block];
        let mut at = 0;
        while let Some(below) = found.get(at).and_then(|&block| self.below.get(block)) {
            let new = below
                .iter()
                .filter(|&&sub| met.get_mut(sub).is_some_and(|met| !std::mem::replace(met, true)));
            let new: Vec<usize> = new.copied().collect();
            found.extend(new);
            at += 1;
        }
        found
    }

    /// The type that a relation of a block leads to.
    pub(in crate::lsp) fn related(&self, block: usize, relation: &str) -> Option<&'p str> {
        match self.find(block, relation)?.1.kind {
            DeclaredKind::Relation(ty) => Some(ty),
            DeclaredKind::Role | DeclaredKind::Permission => None,
        }
    }

    /// The blocks that have or inherit a declaration of a group.
    pub(in crate::lsp) fn seeing(&self, group: usize) -> impl Iterator<Item = usize> {
        let sees =
            move |seen: &BTreeMap<&str, usize>| seen.values().any(|&number| self.group(number) == group);
        self.seen.iter().enumerate().filter(move |(_, seen)| sees(seen)).map(|(at, _)| at)
    }
}
