//! Expands `role` and `permission` into the names that they mean.

use crate::ir::TypeId;
use crate::resolve::blocks::{Block, BlockId, Blocks, NameKind};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A name that a `role` or `permission` means.
#[derive(Clone, Copy)]
pub(super) struct Meant<'n> {
    pub(super) name: &'n str,
    pub(super) kind: NameKind,
    /// The type whose values it applies to.
    pub(super) ty: TypeId,
}

/// The names that a piece of shorthand may mean.
pub(super) type Options<'n> = Rc<[Meant<'n>]>;

/// The names for each `role` and `permission`, computed once per block.
#[derive(Default)]
pub(super) struct Keywords<'b> {
    found: FxHashMap<(TypeId, bool), Options<'b>>,
}

impl<'b> Keywords<'b> {
    /// A block's names of this kind, and those that only its subtypes have.
    pub(super) fn of(&mut self, blocks: &'b Blocks<'_>, block: &'b Block<'_>, kind: NameKind) -> Options<'b> {
        let find = || {
            let own = names(block, kind).map(|name| Meant { name, kind, ty: block.ty });
            own.chain(block.subs.iter().flat_map(|&sub| names_of_sub(blocks, block, sub, kind))).collect()
        };
        Rc::clone(self.found.entry((block.ty, kind == NameKind::Role)).or_insert_with(find))
    }
}

/// The names of the subtype `sub` that neither `block` nor a type between them has.
fn names_of_sub<'b>(
    blocks: &'b Blocks<'_>,
    block: &Block<'_>,
    sub: BlockId,
    kind: NameKind,
) -> Vec<Meant<'b>> {
    let sub = &blocks.list[sub];
    let below =
        |id: &BlockId| blocks.by_type.get(&block.ty) == Some(id) || block.subs.binary_search(id).is_ok();
    let between: Vec<&Block<'_>> =
        sub.direct.iter().filter(|id| below(id)).map(|&id| &blocks.list[id]).collect();
    let known =
        |name: &str| between.iter().any(|above| above.names.get(name).is_some_and(|of| of.kind == kind));
    names(sub, kind).filter(|name| !known(name)).map(|name| Meant { name, kind, ty: sub.ty }).collect()
}

fn names<'b>(block: &'b Block<'_>, kind: NameKind) -> impl Iterator<Item = &'b str> {
    block.names.iter().filter(move |(_, declared)| declared.kind == kind).map(|(&name, _)| name)
}
