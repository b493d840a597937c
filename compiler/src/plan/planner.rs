//! The state of planning one question: its relations, which of them recurse, the tables made so far.

use super::approach::{Approach, Ends, Shares};
use super::asks::Asks;
use super::body::{Clause, Relation, Term};
use super::build::Build;
use super::error::PlanError;
use super::request::Request;
use super::scope::Enclosing;
use super::table_call::TableCall;
use crate::algebra::aliases::{TakenAliases, number_aliases};
use crate::algebra::prune;
use crate::algebra::{
    Alias, AnswerColumns, Expr, Plan, PlanAnswer, Range, Select, Table, TableBody, TableId, TableRef,
};
use crate::builtin::{HAS_PERMISSION, HAS_ROLE};
use crate::catalog::{Catalog, ColumnId, SourceId};
use crate::datalog::print::heading;
use crate::datalog::recursion::{MemberId, Recursion, take_apart};
use crate::datalog::{Adornment, Output, RelId, Root, Specialised};
use crate::deadline::Deadline;
use crate::id_vec::IdVec;
use crate::ir::{PredId, Program, RuleId};
use crate::limits;
use crate::question::{AnswerColumn, CompileError, QuestionVarId, Shape, ShapeDomain};
use crate::refusal::{Limit, Place, Refusal, RuleAtLimit, VarName};
use crate::rewrite::RoleForm;
use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// What a closure of a whole component holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlatClosures {
    /// The demanded rows, if the call has a demand.
    OfDemand,
    /// Everything, for all that read it: it is part of a closure of what is demanded.
    Whole,
}

/// The relations of one column that were closed, by what their closures start from.
#[derive(Debug, Default)]
pub(super) struct ClosureStarts {
    /// Values to which the question's values lead.
    pub(super) given: FxHashSet<RelId>,
    /// All rows of a table, so that they are closed from their exits.
    pub(super) anywhere: FxHashSet<RelId>,
}

/// The state of planning one question.
pub(super) struct Planner<'p> {
    pub(super) program: &'p Program,
    pub(super) catalog: &'p Catalog,
    /// The question's program.
    datalog: &'p Specialised,
    /// Its relations, and after them those made while planning.
    relations: IdVec<RelId, Relation>,
    /// For each relation the members of its recursive component.
    component_of: FxHashMap<RelId, Rc<[RelId]>>,
    pub(super) exits: FxHashMap<RelId, RelId>,
    /// For each relation that was closed flat, and the values that take the place of its columns, its
    /// closure.
    pub(super) flat: FxHashMap<(RelId, Vec<Option<Term>>), RelId>,
    /// What the flat closures hold that are planned now.
    pub(super) flat_closures: FlatClosures,
    pub(super) tables: Vec<Table>,
    /// Tables of relations that do not recurse, by relation and arguments. Without them, planning time
    /// doubles with each link of a chain whose relations read the next one twice.
    pub(super) produced: FxHashMap<TableCall, TableRef>,
    /// The calls that alternatives of a filter only test.
    pub(super) tested: Vec<TableCall>,
    /// The calls whose tables are read by alternatives of a filter that could also test the values at hand.
    pub(super) listed: FxHashSet<TableCall>,
    /// What the closures of one column start from.
    pub(super) starts: ClosureStarts,
    /// The relations that are closed as a whole, from whatever they could start.
    pub(super) whole: FxHashSet<RelId>,
    aliases: TakenAliases,
    /// How many branches were planned so far.
    pub(super) n_branches: usize,
    /// How many nested bodies are being planned.
    pub(super) depth: usize,
    /// Relations that many alternatives read, each for other roles.
    pub(super) shared: &'p IndexSet<RelId>,
    /// The results that become shared tables.
    pub(super) shares: Shares,
    /// From which end closures over stored facts start.
    pub(super) ends: Ends,
    /// The variable whose value is one of the caller's columns, if any.
    pub(super) column: Option<QuestionVarId>,
    /// Whether some closure over stored facts was asked for values that only the caller's database knows.
    pub(super) has_other_end: bool,
    /// Alternatives of the question that cannot be enumerated: what must hold for them, and why. `None`
    /// where the question asks for no values.
    pub(super) refused: Option<Vec<(Select, PlanError)>>,
    /// The variables whose values the question asks for.
    wanted: Vec<QuestionVarId>,
    /// What the question asks for.
    pub(super) asks: Asks,
    /// When it must end.
    pub(super) deadline: Deadline,
}

impl<'p> Planner<'p> {
    /// Finds the recursive components of a program.
    pub(super) fn new(request: &Request<'p>, form: &'p RoleForm, approach: Approach) -> Self {
        let Request { program, catalog, deadline, .. } = *request;
        let RoleForm { program: datalog, shared, .. } = form;
        let Approach { shares, ends, column, .. } = approach;
        let mut component_of = FxHashMap::default();
        for component in datalog.strata().into_iter().filter(|component| component.recursive) {
            let members: Rc<[RelId]> = component.nodes.into_iter().map(RelId::from_index).collect();
            component_of.extend(members.iter().map(|member| (*member, Rc::clone(&members))));
        }
        Self {
            program,
            catalog,
            datalog,
            relations: datalog.relations.iter().map(Relation::from).collect(),
            component_of,
            exits: FxHashMap::default(),
            flat: FxHashMap::default(),
            flat_closures: FlatClosures::OfDemand,
            tables: Vec::new(),
            produced: FxHashMap::default(),
            tested: Vec::new(),
            listed: FxHashSet::default(),
            starts: ClosureStarts::default(),
            whole: FxHashSet::default(),
            aliases: TakenAliases::default(),
            n_branches: 0,
            depth: 0,
            refused: None,
            wanted: Vec::new(),
            shared,
            shares,
            ends,
            column,
            has_other_end: false,
            asks: Asks::of(datalog, catalog),
            deadline,
        }
    }

    /// The clauses of a relation.
    pub(super) fn clauses(&self, rel: RelId) -> &[Clause] {
        &self.relations[rel].clauses
    }

    /// The predicate that a relation specialises.
    pub(super) fn pred(&self, rel: RelId) -> PredId {
        self.relations[rel].pred
    }

    /// Whether the relation takes part in recursion.
    pub(super) fn is_recursive(&self, rel: RelId) -> bool {
        self.component_of.contains_key(&rel)
    }

    /// Takes the component of a relation apart, with a relation for each member's exits.
    pub(super) fn recursion(&mut self, rel: RelId) -> Result<(Recursion, IdVec<MemberId, RelId>), PlanError> {
        let members = self.component_of.get(&rel);
        let members = members.ok_or(PlanError::Bug("a recursive relation without a component"))?;
        let recursion = take_apart(self.datalog, members);
        let mut exits = IdVec::new();
        for (member, exit) in recursion.members.iter().zip(&recursion.exits) {
            let known = self.exits.get(member).copied();
            let exit = known.unwrap_or_else(|| self.relations.push(exit.into()));
            self.exits.insert(*member, exit);
            exits.push(exit);
        }
        Ok((recursion, exits))
    }

    /// Whether a relation of the catalog says who holds what on a resource, actor first.
    pub(super) fn is_role(&self, source: SourceId) -> bool {
        matches!(self.catalog.relations[source].predicate.as_str(), HAS_ROLE | HAS_PERMISSION)
    }

    /// For each column: do the clauses only test it?
    pub(super) fn tested_columns(&self, rel: RelId) -> impl Iterator<Item = bool> {
        self.columns(rel).map(Adornment::is_tested)
    }

    /// The columns of a relation.
    pub(super) fn columns(&self, rel: RelId) -> impl Iterator<Item = Adornment> {
        self.relations[rel].adornments.iter().copied().filter(|adornment| adornment.has_column())
    }

    /// A relation like another one, of other clauses; it is not recursive.
    pub(super) fn relation_like(&mut self, pattern: RelId, clauses: Vec<Clause>) -> RelId {
        let Relation { pred, adornments, .. } = &self.relations[pattern];
        let relation = Relation { pred: *pred, adornments: adornments.clone(), clauses };
        self.relations.push(relation)
    }

    /// Tries to plan in one way. If that fails, the tables that it made are forgotten. The branches that it
    /// planned still count, since their number limits the work; relations without a caller do no harm.
    pub(super) fn attempt<T>(
        &mut self,
        way: impl FnOnce(&mut Self) -> Result<T, PlanError>,
    ) -> Result<T, PlanError> {
        let first = self.tables.len();
        let made = way(self);
        if made.is_err() {
            self.tables.truncate(first);
            self.flat.clear();
            self.produced.retain(|_, table| matches!(table, TableRef::Table(table) if table.index() < first));
        }
        made
    }

    /// An alias that no other source has.
    pub(super) fn alias(&mut self) -> Alias {
        self.aliases.take()
    }

    /// Adds a table, or finds one with the same rows.
    pub(super) fn add_table(
        &mut self,
        rel: RelId,
        purpose: &str,
        n_columns: usize,
        mut body: TableBody,
    ) -> TableRef {
        number_aliases(body.selects_mut());
        let is_same = |table: &Table| table.n_columns == n_columns && table.body == body;
        if let Some(known) = self.tables.iter().position(is_same) {
            return TableRef::Table(TableId::from_index(known));
        }
        let Relation { pred, adornments, .. } = &self.relations[rel];
        let predicate = &self.program.predicate(*pred).name;
        // PostgreSQL takes no capital letter without quotes.
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let readable: String =
            predicate.chars().filter(is_plain).take(20).map(|c| c.to_ascii_lowercase()).collect();
        let number = self.tables.len() + 1;
        let described = heading(self.program, *pred, adornments);
        let comment = if purpose.is_empty() { described } else { format!("{described}: {purpose}") };
        let id = TableId::after(&self.tables);
        self.tables.push(Table::new(format!("pc{number}_{readable}"), comment, n_columns, body));
        TableRef::Table(id)
    }

    /// Plans the question's alternatives over the relations.
    pub(super) fn answer(&mut self, shape: &Shape, roots: &[Root]) -> Result<PlanAnswer, CompileError> {
        let columns = columns(shape);
        let vars = shape.vars.enumerate();
        self.wanted = vars.filter(|(_, var)| var.domain == ShapeDomain::Wanted).map(|(var, _)| var).collect();
        let mut selects: Vec<Select> = Vec::new();
        self.refused = (!columns.is_empty()).then(Vec::new);
        for root in roots {
            let mut build = Build::default();
            let mut clause = Clause::from(&root.clause);
            clause.head = root.outputs.iter().filter_map(Output::term).map(Term::from).collect();
            let outputs: Vec<Term> =
                clause.head.iter().map(|term| build.new_var(clause.name(*term))).collect();
            build.inline(&clause, &outputs);
            build.of_column = self.of_column(shape, root, &outputs);
            build.output = outputs;
            let planned = self.selects(&Enclosing::TOP, build).map_err(|error| self.refusal(error))?;
            for mut select in planned {
                select.output = super::answer::row(shape, root, select.output)?;
                if !selects.contains(&select) {
                    selects.push(select);
                }
            }
        }
        if columns.is_empty() {
            selects.sort_by_key(Select::cost);
            return Ok(PlanAnswer::Decision(selects));
        }
        let range = if shape.paged { Range::Page } else { Range::All };
        let columns = AnswerColumns::OfQuestion(columns);
        Ok(PlanAnswer::Rows { selects, columns, range })
    }

    /// The term that has the values of the caller's column, and the value that a row gives it.
    fn of_column(&self, shape: &Shape, root: &Root, outputs: &[Term]) -> Option<(Term, Expr)> {
        let column = self.answered_column()?;
        let mut terms = outputs.iter().copied();
        let answered = shape.vars.enumerate().filter(|(_, var)| match var.domain {
            ShapeDomain::Wanted | ShapeDomain::GivenOneOf => true,
            ShapeDomain::Literal(_) | ShapeDomain::Given | ShapeDomain::Ignored => false,
        });
        let mut of_vars = answered.zip(&root.outputs).map(|((var, _), output)| {
            let term = output.term().and_then(|_| terms.next());
            (var, term)
        });
        let (_, term) = of_vars.find(|(var, _)| *var == column)?;
        term.map(|term| (term, Expr::Given(column)))
    }

    /// The variable whose values the question asks for, and each row gives.
    pub(super) fn answered_column(&self) -> Option<QuestionVarId> {
        self.column.filter(|column| self.wanted.contains(column))
    }

    /// Whether a table, which is made once for all rows, depends on the value that each row gives.
    pub(super) fn tables_depend_on_row(&self) -> bool {
        let Some(column) = self.answered_column() else { return false };
        let mut found = false;
        let selects = self.tables.iter().flat_map(|table| table.body.selects());
        selects.for_each(|select| select.for_each_expr(&mut |expr| found |= expr == Expr::Given(column)));
        found
    }

    /// The plan that decides whether some alternative cannot be enumerated, and why it cannot.
    ///
    /// # Errors
    /// The refusal itself, if an alternative that cannot be enumerated holds unconditionally.
    pub(super) fn take_refusal(&mut self) -> Result<Option<(Plan, Refusal)>, CompileError> {
        let refused = self.refused.take().unwrap_or_default();
        let Some((_, error)) = refused.first() else { return Ok(None) };
        let refusal = self.refusal(error.clone());
        let always = refused.iter().any(|(select, _)| select.from.is_empty() && select.filter.is_empty());
        match refusal {
            CompileError::Refused(refusal) if !always => {
                let answer = PlanAnswer::Decision(refused.into_iter().map(|(select, _)| select).collect());
                let plan = prune(Plan::new(self.tables.clone(), answer));
                Ok(Some((plan, refusal)))
            }
            error => Err(error),
        }
    }

    /// The plan with the tables that it needs.
    pub(super) fn into_plan(self, answer: PlanAnswer) -> Plan {
        prune(Plan::new(self.tables, answer))
    }

    /// The refusal that a planning error means for the caller.
    pub(super) fn refusal(&self, error: PlanError) -> CompileError {
        let wanted = || self.wanted.clone();
        match error {
            PlanError::Unbound { var, rule, denied } => {
                let (rule, denied) = match (&var, denied) {
                    (VarName::OfQuestion(_) | VarName::Made(_), Some(denied)) => self.denying(rule, denied),
                    (_, denied) => (rule, denied),
                };
                let rule = self.place(rule);
                CompileError::Refused(Refusal::NotEnumerable { var, rule, denied, wanted: wanted() })
            }
            PlanError::Unseeded { pred, var, rule } => CompileError::Refused(Refusal::Unseeded {
                predicate: self.program.predicate(pred).name.clone(),
                var,
                rule: self.place(rule),
                wanted: wanted(),
            }),
            PlanError::TooLarge { rule } => {
                let limit = Limit::Alternatives {
                    of_condition: limits::SELECTS,
                    in_all: limits::BRANCHES,
                    tables: limits::TABLES,
                };
                let rule = self.place(rule).map(RuleAtLimit::Reached);
                CompileError::Refused(Refusal::TooLarge { limit, rule })
            }
            PlanError::OutOfTime(out_of_time) => out_of_time.into(),
            PlanError::Bug(text) => CompileError::Bug(text.into()),
        }
    }

    /// The position of a rule.
    fn place(&self, rule: Option<RuleId>) -> Option<Place> {
        Place::of_rule(&self.program.source, self.program.rules[rule?].span)
    }
}

/// The columns of the answer to a shape.
fn columns(shape: &Shape) -> IdVec<ColumnId, AnswerColumn> {
    let columns = shape.vars.enumerate().flat_map(|(id, var)| match var.domain {
        ShapeDomain::Wanted if var.ty.is_none() => vec![AnswerColumn::Type(id), AnswerColumn::Id(id)],
        ShapeDomain::Wanted | ShapeDomain::GivenOneOf => vec![AnswerColumn::Id(id)],
        ShapeDomain::Literal(_) | ShapeDomain::Given | ShapeDomain::Ignored => Vec::new(),
    });
    columns.collect()
}
