//! Passes from a question's Datalog program to a smaller one with the same answers.
//!
//! In: the policy as [`crate::specialise`] specialised it for one question. Out: the [`RoleForm`]s of the
//! program that are worth planning, best first. The file of each pass has its law; [`SHRINK`], [`FACTOR`],
//! [`ROLES`] and [`CLOSE`] say their order. A question about several roles or actions has two forms: one in
//! which roles are data, and one in which each role is a literal of its own. Where calls are factored out
//! of clauses or dropped, each form is followed by the same without that, of which a plan may bind what no
//! plan of the other does.

mod absorb;
mod conditions;
mod contained;
mod deduplicate;
mod empty;
mod factor;
mod inclusion;
mod linearise;
mod literals;
mod partition;
mod roles;
mod unfold;
mod unite;

use crate::catalog::Catalog;
use crate::datalog::{Clause, RelId, Root, Specialised, Term, verify};
use crate::deadline::Deadline;
use crate::id_vec::{IdVec, id};
use crate::ir::{Program, RuleId};
use crate::pass::{self, Pass, Rewritable};
use crate::question::CompileError;
use indexmap::IndexSet;

/// What the passes know in addition to the program that they rewrite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'c> {
    /// The policy.
    pub(crate) program: &'c Program,
    /// The relations that hold facts.
    pub(crate) catalog: &'c Catalog,
    /// Whether calls that several clauses make are factored out, and those that others imply dropped.
    pub(crate) factors: bool,
    /// When they must have ended.
    pub(crate) deadline: Deadline,
}

id!(/// A role form of a question's program, see [`RoleForm`].
    pub(crate) RoleFormId, "form");

/// How a program has roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RolesAs {
    /// As literals of its clauses.
    Names,
    /// As values of a column.
    Data,
}

/// How a program makes a call that several of its clauses make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SharedCalls {
    /// Once, and not at all where the rest of a clause implies it.
    Factored,
    /// Each by itself, as the policy says.
    Repeated,
}

/// A program that answers the question.
#[derive(Clone, Debug)]
pub(crate) struct RoleForm {
    /// The program.
    pub(crate) program: Specialised,
    /// Its relations that many alternatives read, each for other roles: one table serves them all.
    pub(crate) shared: IndexSet<RelId>,
    /// How it has roles.
    roles: RolesAs,
    /// How it makes a call that several clauses make.
    calls: SharedCalls,
    /// The rules that the question could reach, before any was left out.
    pub(crate) rules: IndexSet<RuleId>,
}

impl Rewritable for RoleForm {
    type Context<'c> = Context<'c>;
    /// Nothing: all passes keep the answers. [`verify`] checks after each that what it made is a program.
    type Keeps = ();

    fn deadline(context: &Context<'_>) -> Deadline {
        context.deadline
    }
}

impl RoleForm {
    /// Whether this form went through a pass that made `after`: its own passes, and those before the forms
    /// parted.
    pub(crate) fn passed(&self, pass: &Pass<Self>, after: &Self) -> bool {
        let is_of = |passes: &[Pass<Self>]| passes.iter().any(|other| other.name == pass.name);
        is_of(SHRINK) || self.calls == after.calls && (is_of(FACTOR) || self.roles == after.roles)
    }
}

/// Leaves clauses out.
pub(crate) const SHRINK: &[Pass<RoleForm>] = &[
    Pass {
        name: "drop-empty",
        does: "removes clauses that call an empty relation",
        applies: |_| true,
        keeps: (),
        run: |form, _| empty::drop_empty(&mut form.program),
    },
    Pass {
        name: "unfold",
        does: "replaces a renaming by what it renames, unless that is a recursion by itself, and drops what larger clauses cover",
        applies: |_| true,
        keeps: (),
        run: |form, context| unfold::unfold(&mut form.program, context.deadline),
    },
    Pass {
        name: "merge-literals",
        does: "makes one clause of those that differ in a literal",
        applies: |_| true,
        keeps: (),
        run: |form, _| literals::merge_clauses(&mut form.program),
    },
    Pass {
        name: "deduplicate",
        does: "makes one relation of those with the same clauses",
        applies: |_| true,
        keeps: (),
        run: |form, _| deduplicate::deduplicate(&mut form.program),
    },
];

/// Factors calls out of clauses, and leaves more of them out.
pub(crate) const FACTOR: &[Pass<RoleForm>] = &[
    Pass {
        name: "merge-conditions",
        does: "makes one clause of those that differ only in a condition on the values of the head",
        applies: |context| context.factors,
        keeps: (),
        run: |form, _| conditions::merge_conditions(&mut form.program),
    },
    FACTOR_CALLS,
    Pass {
        name: "drop-contained",
        does: "drops clauses whose answers other clauses find anyway",
        applies: |_| true,
        keeps: (),
        run: |form, context| contained::drop_contained(&mut form.program, context.deadline),
    },
    FACTOR_CALLS,
    Pass {
        name: "drop-redundant",
        does: "drops calls that hold wherever the rest of their clause holds, for any facts",
        applies: |context| context.factors,
        keeps: (),
        run: |form, context| contained::drop_redundant_calls(&mut form.program, context.deadline),
    },
];

const DROP_UNREACHED: Pass<RoleForm> = Pass {
    name: "drop-unreached",
    does: "empties relations that the question does not reach",
    applies: |_| true,
    keeps: (),
    run: |form, _| empty::drop_unreached(&mut form.program),
};

const FACTOR_CALLS: Pass<RoleForm> = Pass {
    name: "factor-calls",
    does: "factors out the calls that several clauses of a relation make",
    applies: |context| context.factors,
    keeps: (),
    run: |form, _| factor::factor_calls(&mut form.program),
};

/// Makes roles data: only where the question asks about several.
pub(crate) const ROLES: &[Pass<RoleForm>] = &[
    DROP_UNREACHED,
    Pass {
        name: "roles-as-data",
        does: "makes one relation, with the role as a column, of those that differ in a role",
        applies: |_| true,
        keeps: (),
        run: |form, context| {
            form.shared = roles::reify(context.program, context.catalog, &mut form.program);
        },
    },
];

/// Makes recursion simpler.
pub(crate) const CLOSE: &[Pass<RoleForm>] = &[
    DROP_UNREACHED,
    Pass {
        name: "linearise",
        does: "makes transitivity linear",
        applies: |_| true,
        keeps: (),
        run: |form, _| linearise::linearise(&mut form.program),
    },
    Pass {
        name: "unite-recursions",
        does: "makes one recursion of those that take the same steps, where a rule asks for any of them",
        applies: |context| context.catalog.has_bound(),
        keeps: (),
        run: |form, context| unite::unite(&mut form.program, context.deadline),
    },
    Pass {
        name: "absorb",
        does: "removes a closure inside the same closure",
        applies: |_| true,
        keeps: (),
        run: |form, _| absorb::absorb(&mut form.program),
    },
    DROP_UNREACHED,
];

/// The forms of a program that are worth planning, best first; `observe` sees each of them after each pass.
///
/// # Errors
/// [`CompileError::Bug`]: what is wrong with the program that a pass made; [`CompileError::OutOfTime`] after
/// the deadline.
pub(crate) fn forms(
    program: Specialised,
    context: &Context<'_>,
    observe: &mut dyn FnMut(&'static Pass<RoleForm>, &RoleForm),
) -> Result<IdVec<RoleFormId, RoleForm>, CompileError> {
    let n_outputs = program.roots.first().map_or(0, |root| root.outputs.len());
    let check = |pass: &str, program: &Specialised| {
        verify::check(context.program, context.catalog, program, n_outputs)
            .map_err(|fault| CompileError::Bug(format!("after `{pass}`: {fault}")))
    };
    let mut run = |passes, form: &mut RoleForm, context: &Context<'_>| {
        pass::run(passes, form, context, &mut |pass, form| {
            check(pass.name, &form.program)?;
            observe(pass, form);
            Ok(())
        })
    };
    check("specialise", &program)?;
    let rules = rules(&program);
    let calls = SharedCalls::Repeated;
    let mut shrunk = RoleForm { program, shared: IndexSet::new(), roles: RolesAs::Names, calls, rules };
    run(SHRINK, &mut shrunk, context)?;
    let mut with_calls = Vec::new();
    for calls in [SharedCalls::Factored, SharedCalls::Repeated] {
        let factors = calls == SharedCalls::Factored;
        if factors && !context.factors {
            continue;
        }
        let mut form = RoleForm { calls, ..shrunk.clone() };
        run(FACTOR, &mut form, &Context { factors, ..*context })?;
        with_calls.push(form);
    }
    if let [factored, repeated] = with_calls.as_slice()
        && clauses(&factored.program).eq(clauses(&repeated.program))
    {
        with_calls.remove(0);
    }
    let (mut with_data, mut with_names) = (Vec::new(), Vec::new());
    for mut named in with_calls {
        if asks_for_literals(&named.program) {
            let mut as_data = RoleForm { roles: RolesAs::Data, ..named.clone() };
            run(ROLES, &mut as_data, context)?;
            run(CLOSE, &mut as_data, context)?;
            with_data.push(as_data);
        }
        run(CLOSE, &mut named, context)?;
        with_names.push(named);
    }
    Ok(with_data.into_iter().chain(with_names).collect())
}

/// The clauses of each relation.
fn clauses(program: &Specialised) -> impl Iterator<Item = &[Clause]> {
    program.relations.iter().map(|relation| relation.clauses.as_slice())
}

/// Whether the alternatives of the question differ in literals that they answer with, as actions do.
fn asks_for_literals(program: &Specialised) -> bool {
    let answers_literal =
        |root: &Root| root.outputs.iter().any(|output| matches!(output.term(), Some(Term::Const(_))));
    program.roots.iter().filter(|root| answers_literal(root)).nth(1).is_some()
}

/// The rules that clauses come from.
fn rules(program: &Specialised) -> IndexSet<RuleId> {
    let roots = program.roots.iter().map(|root| &root.clause);
    let clauses = program.relations.iter().flat_map(|relation| &relation.clauses);
    roots.chain(clauses).filter_map(|clause| clause.rule).collect()
}

#[cfg(test)]
mod tests {
    use super::{CLOSE, FACTOR, ROLES, SHRINK};

    /// [`super::RoleForm::passed`] knows a pass by its name.
    #[test]
    fn passes_before_the_forms_part_have_other_names_than_those_after() {
        let before = || SHRINK.iter().chain(FACTOR);
        for after in ROLES.iter().chain(CLOSE) {
            assert!(before().all(|pass| pass.name != after.name), "{}", after.name);
        }
    }
}
