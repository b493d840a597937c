//! Passes from a plan to one with the same answers that a database runs or plans faster.
//!
//! In: a [`Plan`] of one statement, and its [`Setting`]: who runs it, on which database. Out: the same plan,
//! rewritten by those of the [`PASSES`] that apply, in their order. Each pass has its law in its own file,
//! and says what it [keeps](Keeps) of a plan; the verifier holds it to that whenever it changed one.
//!
//! The alternatives of a caller's filter then go through the passes of [`crate::local`]'s `filter`.

mod bans;
mod closures;
mod columns;
mod covered;
mod draft;
mod guards;
mod implied;
mod in_place;
mod joins;
mod keyed;
mod literals;
mod recursion_sets;
mod repeats;
mod roles;
mod row;
mod self_joins;
mod semi_joins;
mod sets;
mod setting;
mod test_sets;
mod widen;

pub(crate) use draft::Draft;
pub(crate) use guards::take_common;
pub(crate) use row::is_same_for_all_rows;
pub(crate) use setting::{Purpose, Row, Setting};

use crate::algebra::verify::{Account, Keeps, Verifier};
use crate::algebra::{Embedded, Plan, PlanAnswer};
use crate::dialect::State;
use crate::id_vec::IdVec;
use crate::keys::Keys;
use crate::pass::{self, Pass};
use crate::question::CompileError;

const COMMON_ROWS: Pass<Draft> = Pass {
    name: "common-rows",
    does: "evaluates conditions on the row that alternatives of a filter share once, before them, and drops what holds around them",
    applies: |setting| setting.row.is_some(),
    keeps: Keeps::Once,
    run: |draft, _| row::common::take_out(draft.plan.answer.selects_mut()),
};

const READ_ONCE: Pass<Draft> = Pass {
    name: "read-once",
    does: "reads once a row that several bound queries of one table find by the same key",
    applies: |setting| setting.bindings.is_some(),
    keeps: Keeps::Equals,
    run: |draft, setting| {
        if let Some(bindings) = setting.bindings {
            keyed::read_once::read_once(&mut draft.plan, setting, bindings);
        }
    },
};

/// All passes, in their order.
pub(crate) const PASSES: &[Pass<Draft>] = &[
    Pass {
        name: "drop-covered",
        does: "drops an alternative whose conditions include all of another's",
        applies: |setting| setting.purpose != Purpose::Part,
        keeps: Keeps::Covering,
        run: |draft, _| covered::drop_covered(&mut draft.plan),
    },
    Pass {
        name: "common-guards",
        does: "evaluates once, before the alternatives, the conditions and unrelated sources that all of them share",
        applies: |setting| matches!(setting.purpose, Purpose::List | Purpose::Rows),
        keeps: Keeps::Once,
        run: |draft, _| {
            draft.plan.guard.filter = guards::take_common_of_answer(draft.plan.answer.selects_mut());
        },
    },
    Pass {
        name: "merge-roles",
        does: "makes one alternative of those that differ in a literal, which a column of each equals",
        applies: |setting| setting.bindings.is_some(),
        keeps: Keeps::EqualsInSelects,
        run: |draft, setting| roles::merge(&mut draft.plan, setting.catalog),
    },
    Pass {
        name: "join-single",
        does: "joins the branch of a test that has only one",
        applies: |setting| setting.flattens(),
        keeps: Keeps::Atoms,
        run: |draft, _| joins::join_single(&mut draft.plan),
    },
    Pass {
        name: "drop-implied",
        does: "leaves out sources that the rows of a table imply, and columns that nothing reads then",
        applies: |setting| setting.is_hosted() || setting.flattens(),
        keeps: Keeps::AllButImplied,
        run: |draft, _| implied::drop_implied(&mut draft.plan),
    },
    Pass {
        name: "merge-closures",
        does: "reads a closure instead of closing it again under the same steps",
        applies: |setting| setting.purpose != Purpose::Part,
        keeps: Keeps::Relations,
        run: |draft, _| closures::merge(&mut draft.plan),
    },
    Pass {
        name: "merge-answers",
        does: "merges alternatives that answer with different literals under the same condition, or under the same branch of one",
        applies: |setting| setting.purpose == Purpose::List,
        keeps: Keeps::Atoms,
        run: |draft, _| literals::merge_answers(draft.plan.answer.selects_mut(), &mut draft.embedded),
    },
    Pass {
        name: "pair-literals",
        does: "merges alternatives that differ only in their answer and in the literals of one test",
        applies: |setting| setting.purpose == Purpose::List,
        keeps: Keeps::Equals,
        run: |draft, _| literals::pair_literals(draft.plan.answer.selects_mut(), &mut draft.embedded),
    },
    Pass {
        name: "decide-answers",
        does: "tests only whether there is a row where an alternative answers with literals and tests each row",
        applies: |setting| setting.purpose == Purpose::List && setting.flattens(),
        keeps: Keeps::Atoms,
        run: |draft, _| literals::decide(draft.plan.answer.selects_mut()),
    },
    Pass {
        name: "ask-row",
        does: "turns the values that a filter's alternatives return into conditions on the caller's row",
        applies: |setting| setting.row.is_some(),
        keeps: Keeps::Equals,
        run: |draft, setting| {
            if let Some(row) = setting.row {
                row::ask::ask(&mut draft.plan, row);
            }
        },
    },
    Pass {
        name: "apply",
        does: "lists the rows of an alternative for each row of another source on which several of its conditions depend",
        applies: |setting| {
            setting.row.is_some() && setting.purpose == Purpose::Filter && setting.features.has_laterals
        },
        keeps: Keeps::Equals,
        run: |draft, setting| {
            if let (Some(row), Some(bindings)) = (setting.row, setting.bindings) {
                let keys = Keys { catalog: setting.catalog, bindings };
                row::apply::list(&mut draft.plan, setting, keys, row);
            }
        },
    },
    Pass {
        name: "show-row",
        does: "replaces look-ups of the caller's row with the row itself, and inlines tables that return such rows",
        applies: |setting| setting.row.is_some() && setting.bindings.is_some(),
        keeps: Keeps::EqualsInSelects,
        run: |draft, setting| {
            if let (Some(row), Some(bindings)) = (setting.row, setting.bindings) {
                row::ask::show_row(&mut draft.plan, setting, bindings, row);
            }
        },
    },
    Pass {
        name: "share-rows",
        does: "reads once a row that many parts of a check look up by its key",
        applies: |setting| setting.flattens() && setting.bindings.is_some(),
        keeps: Keeps::Once,
        run: |draft, setting| {
            if let Some(bindings) = setting.bindings {
                keyed::share_rows::share(&mut draft.plan, setting, bindings);
            }
        },
    },
    Pass {
        name: "key-joins",
        does: "reads a table's alternatives in its place, where it is joined by a key with a row that they read already",
        applies: |setting| setting.bindings.is_some(),
        keeps: Keeps::Selects,
        run: |draft, setting| {
            if let Some(bindings) = setting.bindings {
                let keys = Keys { catalog: setting.catalog, bindings };
                keyed::key_joins::take_apart(&mut draft.plan, keys);
            }
        },
    },
    READ_ONCE,
    Pass {
        name: "merge-instances",
        does: "makes one alternative of two that differ only in where a value comes from",
        applies: |setting| setting.row.is_some(),
        keeps: Keeps::Selects,
        run: |draft, setting| row::instances::merge(&mut draft.plan, setting.prefix),
    },
    Pass {
        name: "split-denials",
        does: "splits a denial about the caller's row, or about its container, into one denial per branch",
        applies: |setting| {
            setting.purpose == Purpose::Filter && setting.row.is_some() && setting.features.joins_tests
        },
        keeps: Keeps::Equals,
        run: |draft, setting| {
            if let Some(bindings) = setting.bindings {
                let keys = Keys { catalog: setting.catalog, bindings };
                draft.rewrite_if_verified(|plan| row::split_denials::split(plan, keys));
            }
        },
    },
    Pass {
        name: "lone-denials",
        does: "makes each denial a condition on the caller's row alone, and builds a set where the denial branches after a recursion",
        applies: |setting| setting.purpose == Purpose::Filter && setting.features.overestimates_recursion,
        keeps: Keeps::LoneDenials,
        run: |draft, setting| {
            if let Some(bindings) = setting.bindings {
                let keys = Keys { catalog: setting.catalog, bindings };
                row::lone_denials::deny_alone(&mut draft.plan, setting.catalog, keys);
            }
        },
    },
    Pass {
        name: "share-guards",
        does: "tests once a guard that alternatives have on their containers, and looks up once a container that they share",
        applies: |setting| setting.purpose == Purpose::Filter && setting.row.is_some(),
        keeps: Keeps::Equals,
        run: |draft, setting| {
            if let Some(bindings) = setting.bindings {
                let keys = Keys { catalog: setting.catalog, bindings };
                row::share_guards::share(&mut draft.plan, setting.catalog, keys);
            }
        },
    },
    Pass {
        name: "row-sets",
        does: "turns a filter's conditions that start from the actor into sets, and all others into probes",
        applies: |setting| setting.purpose == Purpose::Filter,
        keeps: Keeps::Equals,
        run: |draft, setting| row::sets::split_off(&mut draft.plan, setting.catalog),
    },
    Pass {
        name: "set-arms",
        does: "replaces a set of a filter that only reads a table by the table's alternatives",
        applies: |setting| setting.purpose == Purpose::Filter,
        keeps: Keeps::Selects,
        run: |draft, setting| row::arms::take_tables_apart(&mut draft.plan, setting.catalog),
    },
    Pass {
        name: "factor-choices",
        does: "makes one alternative of those of a filter that have a choice, or may ask for it instead of one branch of it",
        applies: |setting| setting.row.is_some(),
        keeps: Keeps::Once,
        run: |draft, _| row::choices::factor_out(draft.plan.answer.selects_mut()),
    },
    COMMON_ROWS,
    Pass {
        name: "probe-containers",
        does: "tests by its key the container of a row that other conditions find, instead of listing the actor's containers",
        applies: |setting| setting.purpose == Purpose::Filter && setting.row.is_some(),
        keeps: Keeps::Equals,
        run: |draft, setting| row::containers::probe(&mut draft.plan, setting),
    },
    Pass {
        name: "guard-sets",
        does: "tests the values of a set instead of every row",
        applies: |setting| setting.row.is_some(),
        keeps: Keeps::Equals,
        run: |draft, setting| row::guards::move_into_sets(&mut draft.plan, setting),
    },
    Pass {
        name: "probe-denials",
        does: "moves denials into the probe next to them, inside one of several alternatives",
        applies: |setting| setting.row.is_some(),
        keeps: Keeps::Equals,
        run: |draft, _| row::denials::move_into_probes(&mut draft.plan),
    },
    READ_ONCE,
    COMMON_ROWS,
    Pass {
        name: "self-joins",
        does: "makes a second reading of a table by the same column a test, if its other columns are only compared",
        applies: |setting| {
            matches!(setting.purpose, Purpose::Rows | Purpose::Filter) && setting.features.joins_tests
        },
        keeps: Keeps::Equals,
        run: |draft, setting| {
            if let Some(bindings) = setting.bindings {
                let keys = Keys { catalog: setting.catalog, bindings };
                draft.rewrite_if_verified(|plan| self_joins::test(plan, keys));
            }
        },
    },
    Pass {
        name: "sets",
        does: "turns sources that are only used to reach another one into sets, which are evaluated once, or into tests",
        applies: |setting| setting.makes_sets(),
        keeps: Keeps::Atoms,
        run: |draft, setting| match setting.purpose {
            Purpose::Check | Purpose::List => sets::for_check(&mut draft.plan, setting.catalog),
            Purpose::Store if matches!(draft.plan.answer, PlanAnswer::Decision(_)) => {}
            Purpose::Store => sets::for_store(&mut draft.plan),
            Purpose::Rows | Purpose::Filter => {
                if setting.features.overestimates_recursion {
                    sets::in_tables(&mut draft.plan, setting.catalog);
                }
                sets::in_answer(&mut draft.plan, setting.catalog);
            }
            Purpose::Tables | Purpose::RowTest | Purpose::Part => {}
        },
    },
    Pass {
        name: "test-sets",
        does: "looks a value up in one set alone; the other sets that it must be in are only tested",
        applies: |setting| setting.features.arrays_are_looked_up,
        keeps: Keeps::Entailed,
        run: |draft, setting| test_sets::test_sets(&mut draft.plan, setting),
    },
    Pass {
        name: "recursion-sets",
        does: "looks a value up in the set of a recursion, instead of reading the recursion in a test of each row",
        applies: |setting| {
            let reads_rows = matches!(setting.purpose, Purpose::List | Purpose::Rows | Purpose::Filter);
            reads_rows && setting.features.overestimates_recursion
        },
        keeps: Keeps::Equals,
        run: |draft, setting| recursion_sets::look_up(&mut draft.plan, setting),
    },
    Pass {
        name: "merge-wider",
        does: "asks an alternative together with another that asks the same with more literals, under one more condition",
        applies: |setting| setting.purpose == Purpose::Store && setting.features.starts_whole_plans,
        keeps: Keeps::Equals,
        run: |draft, _| widen::merge_wider(&mut draft.plan),
    },
    Pass {
        name: "factor-guards",
        does: "evaluates conditions that alternatives of a decision share once, before them",
        applies: |setting| setting.is_hosted() || setting.purpose == Purpose::Check,
        keeps: Keeps::Once,
        run: |draft, _| guards::factor_decision(&mut draft.plan),
    },
    Pass {
        name: "skip-bans",
        does: "skips a negation that is tested row by row, if it denies nothing to this actor",
        applies: |setting| setting.purpose == Purpose::Store,
        keeps: Keeps::Stricter,
        run: |draft, _| bans::skip_bans(&mut draft.plan),
    },
    Pass {
        name: "keep-repeats",
        does: "keeps repeated rows of a table that one alternative of the answer reads alone: the answer removes them",
        applies: |setting| setting.purpose != Purpose::Filter,
        keeps: Keeps::Atoms,
        run: |draft, _| repeats::keep_repeats(&mut draft.plan),
    },
    Pass {
        name: "semi-joins",
        does: "turns readings of the whole state that only test another source of a step into tests",
        applies: |setting| matches!(setting.features.state, State::Arrays { .. }),
        keeps: Keeps::Equals,
        run: |draft, _| semi_joins::test_states(&mut draft.plan),
    },
];

/// Runs the passes that apply; `observe` sees the plan after each of them.
///
/// # Errors
/// [`CompileError::Bug`] if a pass broke the plan, [`CompileError::OutOfTime`] after the deadline.
pub(crate) fn optimise(
    draft: &mut Draft,
    verifier: &Verifier<'_>,
    setting: &Setting<'_>,
    observe: &mut dyn FnMut(&Pass<Draft>, &Plan),
) -> Result<(), CompileError> {
    let mut account = Account::of(draft.plan.clone());
    pass::run(PASSES, draft, setting, &mut |pass, Draft { plan, embedded }| {
        let verifier = Verifier { embedded: &widths(embedded), ..*verifier };
        account.after(pass.name, pass.keeps, plan, &verifier)?;
        observe(pass, plan);
        Ok(())
    })
}

/// How many columns each embedded source has, where its rows are known.
pub(crate) fn widths(embedded: &[Embedded]) -> Vec<Option<usize>> {
    embedded.iter().map(|embedded| embedded.rows.as_ref()?.first().map(IdVec::len)).collect()
}
