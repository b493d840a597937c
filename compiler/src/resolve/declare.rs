//! Reads the blocks: the types, their supertypes, and the names that each block declares.
//!
//! In: the policy's blocks. Out: [`Blocks`]. Every block's type is in the tables with the concrete types that
//! it admits, and [`Block::names`] holds its own and inherited declarations. So a name in shorthand takes one
//! look-up, and no later pass follows `extends`.
//!
//! Duplicate blocks and declarations are reported here. The first one counts, so that the rest of the policy
//! can still be checked.

use super::blocks::{Block, BlockNames, Blocks, Declared, NameKind};
use super::inherit;
use super::tables::Tables;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{TypeId, TypeKind};
use crate::source::Span;
use crate::syntax::ast::{self, BlockKind, Item, Member, Name};

/// Reads all blocks of the policy.
pub(super) fn declare<'a>(tables: &mut Tables, policy: &'a ast::Policy) -> Blocks<'a> {
    let mut blocks = Blocks::default();
    for item in &policy.items {
        let Item::Block(ast) = item else { continue };
        match ast.kind {
            BlockKind::Actor => add_block(tables, &mut blocks, ast, TypeKind::Actor),
            BlockKind::Resource => add_block(tables, &mut blocks, ast, TypeKind::Resource),
            BlockKind::Global => add_global(tables, &mut blocks, ast),
        }
    }
    // After all types are known, because a relation may lead to a type whose block comes later.
    for block in blocks.list.iter_mut().chain(&mut blocks.global) {
        block.names = own_names(tables, block.ast);
    }
    inherit::inherit(tables, &mut blocks);
    admit(tables, &blocks);
    blocks
}

fn add_block<'a>(tables: &mut Tables, blocks: &mut Blocks<'a>, ast: &'a ast::Block, kind: TypeKind) {
    let name = &ast.name.value;
    if let Some(ty) = tables.find_type(name) {
        let diagnostic = match blocks.of(ty) {
            Some(first) => Diagnostic::new(
                Code::DuplicateBlock,
                format!("there are two blocks named `{name}`"),
                ast.name.span,
                "the second one",
            )
            .with_label(first.ast.name.span, "the first one")
            .with_help("move the declarations and rules of both into one block"),
            None => Diagnostic::new(
                Code::BuiltInType,
                format!("`{name}` is a built-in type and cannot have a block"),
                ast.name.span,
                "the name of a built-in type",
            ),
        };
        tables.report(diagnostic);
        return;
    }
    let ty = tables.add_type(name, kind);
    let id = blocks.list.push(Block::new(ast, ty));
    blocks.by_type.insert(ty, id);
}

fn add_global<'a>(tables: &mut Tables, blocks: &mut Blocks<'a>, ast: &'a ast::Block) {
    if let Some(first) = &blocks.global {
        tables.report(
            Diagnostic::new(
                Code::SecondGlobal,
                "there are two `global` blocks",
                ast.name.span,
                "the second one",
            )
            .with_label(first.ast.name.span, "the first one")
            .with_help("move the declarations and rules of both into one block"),
        );
        return;
    }
    blocks.global = Some(Block::new(ast, TypeId::FOREIGN));
}

/// The names that a block declares itself.
fn own_names<'a>(tables: &mut Tables, block: &'a ast::Block) -> BlockNames<'a> {
    let mut names = BlockNames::default();
    let mut firsts = Firsts::default();
    for member in &block.members {
        match member {
            Member::Roles(list) => {
                firsts.check(tables, block, "roles", list.span);
                for name in &list.names {
                    add_name(tables, block, &mut names, name, NameKind::Role);
                }
            }
            Member::Permissions(list) => {
                firsts.check(tables, block, "permissions", list.span);
                for name in &list.names {
                    add_name(tables, block, &mut names, name, NameKind::Permission);
                }
            }
            Member::Relations(list) if block.kind == BlockKind::Global => tables.report(
                Diagnostic::new(
                    Code::RelationInGlobal,
                    "the `global` block cannot declare relations",
                    list.span,
                    "relations belong to an actor or resource block",
                )
                .with_help("declare the relation in the block of the type that has it"),
            ),
            Member::Relations(list) => {
                firsts.check(tables, block, "relations", list.span);
                for (name, ty) in &list.relations {
                    let ty = tables.type_named(&ty.value);
                    add_name(tables, block, &mut names, name, NameKind::Relation(ty));
                }
            }
            Member::Shorthand(_) => {}
        }
    }
    names
}

/// Where a block first declares its roles, permissions and relations.
#[derive(Default)]
struct Firsts(Vec<(&'static str, Span)>);

impl Firsts {
    fn check(&mut self, tables: &mut Tables, block: &ast::Block, word: &'static str, span: Span) {
        let Some((_, first)) = self.0.iter().find(|(seen, _)| *seen == word) else {
            self.0.push((word, span));
            return;
        };
        tables.report(
            Diagnostic::new(
                Code::DuplicateDeclaration,
                format!("`{}` declares its `{word}` twice", block.name.value),
                span,
                "the second declaration",
            )
            .with_label(*first, "the first one")
            .with_help(format!("write one `{word}` declaration with all names")),
        );
    }
}

fn add_name<'a>(
    tables: &mut Tables,
    block: &ast::Block,
    names: &mut BlockNames<'a>,
    name: &'a Name,
    kind: NameKind,
) {
    let text = name.value.as_str();
    let Some(first) = names.get(text) else {
        names.insert(text, Declared { kind, span: name.span });
        return;
    };
    let in_block = &block.name.value;
    if first.kind.noun() == kind.noun() {
        let diagnostic = Diagnostic::new(
            Code::DuplicateDeclaration,
            format!("`{in_block}` declares the {} `{text}` twice", kind.noun()),
            name.span,
            "declared again",
        );
        tables.report(diagnostic.with_label(first.span, "first declared here"));
        return;
    }
    let diagnostic = Diagnostic::new(
        Code::NameUsedTwice,
        format!("`{text}` is both a {} and a {} of `{in_block}`", first.kind.noun(), kind.noun()),
        name.span,
        format!("here a {}", kind.noun()),
    )
    .with_label(first.span, format!("first declared here as a {}", first.kind.noun()))
    .with_note("shorthand could not distinguish the two");
    tables.report(diagnostic);
}

/// Records in the tables which concrete types each type admits.
fn admit(tables: &mut Tables, blocks: &Blocks<'_>) {
    let of_kind = |actors_only: bool| -> Vec<TypeId> {
        let wanted = |kind| match kind {
            TypeKind::Actor => true,
            TypeKind::Resource => !actors_only,
            TypeKind::Primitive | TypeKind::Abstract | TypeKind::Plain | TypeKind::Foreign => false,
        };
        tables.types.enumerate().filter(|(_, def)| wanted(def.kind)).map(|(id, _)| id).collect()
    };
    let mut admitted = vec![(TypeId::ACTOR, of_kind(true)), (TypeId::RESOURCE, of_kind(false))];
    for block in &blocks.list {
        let mut types: Vec<TypeId> = blocks.subtypes(block).chain([block.ty]).collect();
        types.sort_unstable();
        admitted.push((block.ty, types));
    }
    for (ty, types) in admitted {
        tables.types[ty].admits = types;
    }
}
