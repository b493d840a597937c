//! Follows `extends`: finds all supertypes of each block and the declarations that it inherits.
//!
//! In: blocks with their own names. Out: [`Block::supers`] and [`Block::subs`] are transitive, and
//! [`Block::names`] has the inherited names after the block's own. Blocks are processed in topological order,
//! supertypes first, without recursion, so a long chain needs no stack. Blocks that remain form a cycle.

use super::blocks::{Block, BlockNames, Blocks};
use super::tables::{Replace, Tables};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::TypeKind;
use crate::limits;
use crate::syntax::ast::{BlockKind, Name};
use std::collections::VecDeque;

/// Completes supertypes, subtypes and names.
pub(super) fn inherit(tables: &mut Tables, blocks: &mut Blocks<'_>) {
    let direct: Vec<Vec<usize>> =
        (0..blocks.list.len()).map(|at| direct_supers(tables, blocks, at)).collect();
    let Some(order) = supers_first(tables, blocks, &direct) else { return };
    let mut inherited = 0;
    for &at in &order {
        let (supers, names) = gather(tables, blocks, &direct, at);
        inherited += supers.len() + names.len();
        let Some(block) = blocks.list.get_mut(at) else { continue };
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
            if let Some(above) = blocks.list.get_mut(above) {
                above.subs.push(at);
            }
        }
    }
    for (block, direct) in blocks.list.iter_mut().zip(direct) {
        block.subs.sort_unstable();
        block.direct = direct;
    }
}

/// The blocks named after `extends`; unknown names are reported and dropped.
fn direct_supers(tables: &mut Tables, blocks: &Blocks<'_>, at: usize) -> Vec<usize> {
    let Some(block) = blocks.list.get(at) else { return Vec::new() };
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
) -> Result<usize, NotInherited> {
    let text = &name.value;
    let ty = tables.find_type(text);
    let found = ty.and_then(|ty| blocks.by_type.get(&ty)).and_then(|&at| Some((at, blocks.list.get(at)?)));
    let Some((at, above)) = found else {
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
        return Err(NotInherited::Unknown(Box::new(Diagnostic::new(
            Code::UnknownSupertype,
            format!("`{}` extends `{text}`, which has no block", block.ast.name.value),
            name.span,
            "no block of this name",
        ))));
    };
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
            .with_label(above.ast.name.span, "declared here"),
        );
        return Err(NotInherited::Reported);
    }
    Ok(at)
}

/// The blocks in topological order, supertypes first. A cycle is reported and gives `None`.
fn supers_first(tables: &mut Tables, blocks: &Blocks<'_>, direct: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut waiting: Vec<usize> = direct.iter().map(Vec::len).collect();
    let mut below = vec![Vec::new(); direct.len()];
    for (at, supers) in direct.iter().enumerate() {
        for &above in supers {
            if let Some(list) = below.get_mut(above) {
                list.push(at);
            }
        }
    }
    let mut ready: VecDeque<usize> = (0..direct.len()).filter(|&at| waiting.get(at) == Some(&0)).collect();
    let mut order = Vec::with_capacity(direct.len());
    while let Some(at) = ready.pop_front() {
        order.push(at);
        for &sub in below.get(at).into_iter().flatten() {
            if let Some(n_left) = waiting.get_mut(sub) {
                *n_left -= 1;
                if *n_left == 0 {
                    ready.push_back(sub);
                }
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
fn report_cycles(tables: &mut Tables, blocks: &Blocks<'_>, direct: &[Vec<usize>], waiting: &[usize]) {
    let waits = |at: &usize| waiting.get(*at).is_some_and(|&n_left| n_left > 0);
    // The walk that visited each block. Each block waits for another, so a walk ends at a visited block: of
    // this walk (a new cycle) or of an earlier one.
    let mut met: Vec<Option<usize>> = vec![None; direct.len()];
    for start in (0..direct.len()).filter(waits) {
        let mut path = Vec::new();
        let mut at = start;
        while let Some(slot @ None) = met.get_mut(at) {
            *slot = Some(start);
            path.push(at);
            match direct.get(at).and_then(|supers| supers.iter().find(|above| waits(above))) {
                Some(&above) => at = above,
                None => break,
            }
        }
        let Some(first) = path.iter().position(|&step| step == at) else { continue };
        let cycle: Vec<&Block<'_>> =
            path.iter().skip(first).filter_map(|&step| blocks.list.get(step)).collect();
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
    direct: &[Vec<usize>],
    at: usize,
) -> (Vec<usize>, BlockNames<'a>) {
    let Some(block) = blocks.list.get(at) else { return (Vec::new(), BlockNames::default()) };
    let mut supers = Vec::new();
    let mut names = block.names.clone();
    for &above in direct.get(at).into_iter().flatten() {
        let Some(from) = blocks.list.get(above) else { continue };
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
