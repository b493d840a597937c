//! Follows `extends`: finds all supertypes of each block and the declarations that it inherits.
//!
//! In: blocks with their own names. Out: [`Block::supers`] and [`Block::subs`] are transitive, and
//! [`Block::names`] has the inherited names after the block's own. Blocks are processed in topological order,
//! supertypes first, without recursion, so a long chain needs no stack. Blocks that remain form a cycle.

use super::blocks::{Block, BlockId, BlockNames, Blocks};
use super::tables::{Replace, Tables};
use crate::diagnostic::{Code, Diagnostic};
use crate::id_vec::IdVec;
use crate::ir::TypeKind;
use crate::limits;
use crate::syntax::ast::{BlockKind, Name};
use std::collections::VecDeque;

/// The blocks after each block's `extends`.
type Direct = IdVec<BlockId, Vec<BlockId>>;

/// Completes supertypes, subtypes and names.
pub(super) fn inherit(tables: &mut Tables, blocks: &mut Blocks<'_>) {
    let direct: Direct = blocks.list.iter().map(|block| direct_supers(tables, blocks, block)).collect();
    let Some(order) = supers_first(tables, blocks, &direct) else { return };
    let mut inherited = 0;
    for id in order {
        let (supers, names) = gather(tables, blocks, &direct, id);
        inherited += supers.len() + names.len();
        let block = &mut blocks.list[id];
        if inherited > limits::INHERITED {
            let limit = limits::INHERITED;
            tables.report(
                Diagnostic::new(
                    Code::TooMuchInheritance,
                    "the blocks inherit too many declarations",
                    block.ast.name.span,
                    "this block is over the limit",
                )
                .with_note(format!(
                    "the names and supertypes that all blocks inherit count together; the limit is {limit}"
                )),
            );
            return;
        }
        block.names = names;
        block.supers = supers;
        for above in block.supers.clone() {
            blocks.list[above].subs.push(id);
        }
    }
    for (block, direct) in blocks.list.iter_mut().zip(direct) {
        block.subs.sort_unstable();
        block.direct = direct;
    }
}

/// The blocks named after `extends`; unknown names are reported and dropped.
fn direct_supers(tables: &mut Tables, blocks: &Blocks<'_>, block: &Block<'_>) -> Vec<BlockId> {
    let mut supers = Vec::new();
    for name in &block.ast.extends {
        match above(tables, blocks, block, name) {
            Ok(above) if supers.contains(&above) => {}
            Ok(above) => supers.push(above),
            Err(NotInherited::Reported) => {}
            Err(NotInherited::Unknown(diagnostic)) => {
                let names = blocks.list.iter().map(|block| block.ast.name.value.as_str());
                tables.report_near(*diagnostic, &name.value, names, Replace::name(name));
            }
        }
    }
    supers
}

enum NotInherited {
    Reported,
    Unknown(Box<Diagnostic>),
}

fn above(
    tables: &mut Tables,
    blocks: &Blocks<'_>,
    block: &Block<'_>,
    name: &Name,
) -> Result<BlockId, NotInherited> {
    let text = &name.value;
    let ty = tables.find_type(text);
    let Some(&id) = ty.and_then(|ty| blocks.by_type.get(&ty)) else {
        if ty.is_some_and(|ty| matches!(tables.kind(ty), TypeKind::Primitive | TypeKind::Abstract)) {
            let diagnostic = Diagnostic::new(
                Code::BuiltInType,
                format!("`{text}` is a built-in type and cannot be extended"),
                name.span,
                "the name of a built-in type",
            );
            let implied =
                "`actor` and `resource` already make a block's type a subtype of `Actor` or `Resource`";
            tables.report(diagnostic.with_note(implied));
            return Err(NotInherited::Reported);
        }
        let diagnostic = Diagnostic::new(
            Code::UnknownSupertype,
            format!("`{}` extends `{text}`, which has no block", block.ast.name.value),
            name.span,
            "no block of this name",
        );
        let kind = if block.ast.kind == BlockKind::Actor { "actor" } else { "resource" };
        let help = format!("add a block `{kind} {text} {{ }}`, or leave it out of `extends`");
        return Err(NotInherited::Unknown(Box::new(diagnostic.with_help(help))));
    };
    let above = &blocks.list[id];
    if above.ast.kind != block.ast.kind {
        let word = |kind| match kind {
            BlockKind::Actor => "an actor",
            BlockKind::Resource => "a resource",
            BlockKind::Global => "the global block",
        };
        tables.report(
            Diagnostic::new(
                Code::ExtendsOtherKind,
                format!(
                    "`{}` is {}, but `{text}` is {}",
                    block.ast.name.value,
                    word(block.ast.kind),
                    word(above.ast.kind)
                ),
                name.span,
                "a block extends blocks of its own kind",
            )
            .with_label(above.ast.name.span, "declared here")
            .with_help("make both blocks of one kind, or leave it out of `extends`"),
        );
        return Err(NotInherited::Reported);
    }
    Ok(id)
}

/// The blocks in topological order, supertypes first. A cycle is reported and gives `None`.
fn supers_first(tables: &mut Tables, blocks: &Blocks<'_>, direct: &Direct) -> Option<Vec<BlockId>> {
    let mut waiting: IdVec<BlockId, usize> = direct.iter().map(Vec::len).collect();
    let mut below: IdVec<BlockId, Vec<BlockId>> = IdVec::like(direct, Vec::new());
    for (id, supers) in direct.enumerate() {
        for &above in supers {
            below[above].push(id);
        }
    }
    let mut ready: VecDeque<BlockId> = direct.ids().filter(|&id| waiting[id] == 0).collect();
    let mut order = Vec::with_capacity(direct.len());
    while let Some(id) = ready.pop_front() {
        order.push(id);
        for &sub in &below[id] {
            waiting[sub] -= 1;
            if waiting[sub] == 0 {
                ready.push_back(sub);
            }
        }
    }
    if order.len() == direct.len() {
        return Some(order);
    }
    report_cycles(tables, blocks, direct, &waiting);
    None
}

/// Reports each cycle among the blocks that still wait for a supertype.
fn report_cycles(tables: &mut Tables, blocks: &Blocks<'_>, direct: &Direct, waiting: &IdVec<BlockId, usize>) {
    let waits = |id: &BlockId| waiting[*id] > 0;
    // The walk that visited each block. Each block waits for another, so a walk ends at a visited block: of
    // this walk (a new cycle) or of an earlier one.
    let mut met: IdVec<BlockId, Option<BlockId>> = IdVec::like(direct, None);
    for start in direct.ids().filter(waits) {
        let mut path = Vec::new();
        let mut at = start;
        while met[at].is_none() {
            met[at] = Some(start);
            path.push(at);
            match direct[at].iter().find(|above| waits(above)) {
                Some(&above) => at = above,
                None => break,
            }
        }
        let Some(first) = path.iter().position(|&step| step == at) else { continue };
        let cycle: Vec<&Block<'_>> = path.iter().skip(first).map(|&step| &blocks.list[step]).collect();
        report_cycle(tables, &cycle);
    }
}

fn report_cycle(tables: &mut Tables, cycle: &[&Block<'_>]) {
    let Some(first) = cycle.first() else { return };
    let name = &first.ast.name.value;
    let mut diagnostic = Diagnostic::new(
        Code::ExtendsCycle,
        format!("`{name}` extends itself"),
        first.ast.name.span,
        "the cycle begins here",
    );
    for step in cycle.iter().skip(1) {
        diagnostic = diagnostic
            .with_label(step.ast.name.span, format!("and continues through `{}`", step.ast.name.value));
    }
    tables.report(diagnostic.with_help("remove one of these names from its `extends`"));
}

/// All supertypes of a block, and its own and inherited names.
fn gather<'a>(
    tables: &mut Tables,
    blocks: &Blocks<'a>,
    direct: &Direct,
    id: BlockId,
) -> (Vec<BlockId>, BlockNames<'a>) {
    let block = &blocks.list[id];
    let mut supers = Vec::new();
    let mut names = block.names.clone();
    for &above in &direct[id] {
        let from = &blocks.list[above];
        supers.push(above);
        supers.extend(&from.supers);
        for (&name, &declared) in &from.names {
            match names.get(name) {
                None => {
                    names.insert(name, declared);
                }
                Some(own) if own.kind == declared.kind => {}
                Some(own) => tables.report(
                    Diagnostic::new(
                        Code::NameUsedTwice,
                        format!(
                            "`{name}` is both a {} and an inherited {} of `{}`{}",
                            own.kind.noun(),
                            declared.kind.noun(),
                            block.ast.name.value,
                            if own.kind.noun() == declared.kind.noun() { ", to different types" } else { "" },
                        ),
                        block.ast.name.span,
                        format!("this block extends `{}`", from.ast.name.value),
                    )
                    .with_label(own.span, format!("here a {}", own.kind.noun()))
                    .with_label(declared.span, format!("inherited from here as a {}", declared.kind.noun())),
                ),
            }
        }
    }
    supers.sort_unstable();
    supers.dedup();
    (supers, names)
}
