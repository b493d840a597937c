//! The blocks of a policy, with the names that each declares or inherits.
//!
//! Data types only: `declare` fills in what a block says itself, `inherit` what it gets through `extends`.

use super::tables::Tables;
use crate::id_vec::{IdVec, id};
use crate::ir::{BlockInfo, TypeId};
use crate::source::Span;
use crate::syntax::ast;
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

id!(/// A block, see [`Blocks::list`].
    pub(super) BlockId, "block");

/// The kind of a declared name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameKind {
    Role,
    Permission,
    /// A relation to this type.
    Relation(TypeId),
}

impl NameKind {
    /// The author's word for it.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Permission => "permission",
            Self::Relation(_) => "relation",
        }
    }
}

/// A declared name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared {
    pub(super) kind: NameKind,
    pub(super) span: Span,
}

/// Names of a block in the order of their declaration.
pub(super) type BlockNames<'a> = IndexMap<&'a str, Declared, FxBuildHasher>;

/// A block whose names are known.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) ast: &'a ast::Block,
    /// The block's type; meaningless for the global block.
    pub(super) ty: TypeId,
    /// Own and inherited names.
    pub(super) names: BlockNames<'a>,
    /// The blocks after `extends`.
    pub(super) direct: Vec<BlockId>,
    /// All supertypes, ascending.
    pub(super) supers: Vec<BlockId>,
    /// All subtypes, ascending.
    pub(super) subs: Vec<BlockId>,
}

impl<'a> Block<'a> {
    /// A block without names or supertypes yet.
    pub(super) fn new(ast: &'a ast::Block, ty: TypeId) -> Self {
        let (direct, supers, subs) = (Vec::new(), Vec::new(), Vec::new());
        Self { ast, ty, names: BlockNames::default(), direct, supers, subs }
    }

    /// Whether the block inherits this name instead of declaring it.
    pub(super) fn inherits(&self, declared: &Declared) -> bool {
        !self.ast.span.range().contains(&(declared.span.start as usize))
    }
}

/// All blocks, with the global one apart.
#[derive(Debug, Default)]
pub(super) struct Blocks<'a> {
    pub(super) list: IdVec<BlockId, Block<'a>>,
    pub(super) by_type: FxHashMap<TypeId, BlockId>,
    pub(super) global: Option<Block<'a>>,
}

impl<'a> Blocks<'a> {
    /// The block of a type.
    pub(super) fn of(&self, ty: TypeId) -> Option<&Block<'a>> {
        self.by_type.get(&ty).map(|&id| &self.list[id])
    }

    /// The subtypes of a block's type.
    pub(super) fn subtypes(&self, block: &Block<'_>) -> impl Iterator<Item = TypeId> {
        block.subs.iter().map(|&sub| self.list[sub].ty)
    }

    /// What `GET /policy_metadata` returns.
    pub(super) fn infos(&self, tables: &Tables) -> Vec<BlockInfo> {
        let empty = BlockNames::default();
        let global = ("global", self.global.as_ref().map_or(&empty, |block| &block.names));
        let named = self.list.iter().map(|block| (block.ast.name.value.as_str(), &block.names));
        let mut infos: Vec<_> =
            named.chain([global]).map(|(name, names)| info(name, names, tables)).collect();
        infos.sort_by(|a, b| a.name.cmp(&b.name));
        infos
    }
}

fn info(name: &str, names: &BlockNames<'_>, tables: &Tables) -> BlockInfo {
    let mut info = BlockInfo {
        name: name.to_owned(),
        roles: Vec::new(),
        permissions: Vec::new(),
        relations: Vec::new(),
    };
    for (&name, declared) in names {
        match declared.kind {
            NameKind::Role => info.roles.push(name.to_owned()),
            NameKind::Permission => info.permissions.push(name.to_owned()),
            NameKind::Relation(ty) => {
                info.relations.push((name.to_owned(), tables.types[ty].name.clone()));
            }
        }
    }
    info.roles.sort_unstable();
    info.permissions.sort_unstable();
    info.relations.sort_unstable();
    info
}
