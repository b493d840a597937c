//! From which end a closure over stored facts starts.
//!
//! In a local check the store answers everything that does not depend on the caller's rows. Suppose folders
//! are stored and documents are local. A walk up from a document's folder depends on a local row, so all
//! stored folders would have to be embedded. The folders that the actor may see do not. So where a whole
//! relation is stored, a plan may treat values that only the caller's database knows as unbound: the closure
//! then starts from the question's values, and the caller's values select from it.

use super::super::approach::Ends;
use super::super::body::Goal;
use super::super::planner::Planner;
use super::super::scope::Enclosing;
use crate::algebra::{Expr, FromKind, Select, TableId, TableRef};
use crate::catalog::RelationSource;
use crate::datalog::RelId;
use rustc_hash::FxHashSet;

/// The relations and tables that one search for the caller's rows has visited. The search stops at the first
/// such row, so whatever it has passed is stored. Visiting each once keeps the search linear: tables may read
/// the one before them several times.
#[derive(Default)]
struct StoredSearch {
    relations: FxHashSet<RelId>,
    tables: FxHashSet<TableId>,
}

impl Planner<'_> {
    /// Whether a value that a call is asked for counts as unbound, since only the caller's database knows it.
    /// Records that there is such a value.
    pub(in super::super) fn is_hidden(
        &mut self,
        scope: &Enclosing<'_>,
        select: &Select,
        rel: RelId,
        expr: Expr,
    ) -> bool {
        if self.answered_column().is_some_and(|column| expr == Expr::Given(column)) {
            // A table is made once for all rows, so the value of the current row counts as unbound.
            return true;
        }
        if !self.is_callers(scope, select, expr) || !self.is_stored(rel, &mut StoredSearch::default()) {
            return false;
        }
        self.has_other_end = true;
        self.ends != Ends::Demanded
    }

    /// Whether only the caller's database knows a value.
    fn is_callers(&self, scope: &Enclosing<'_>, select: &Select, expr: Expr) -> bool {
        if let (Expr::Given(var), Ends::Stored) = (expr, self.ends) {
            return self.column == Some(var);
        }
        let mut seen = StoredSearch::default();
        !expr.is_static()
            && scope
                .demand(select, vec![expr].into())
                .from
                .iter()
                .any(|from| !self.is_stored_source(from.kind, &mut seen))
    }

    /// Whether a relation depends on stored facts alone.
    fn is_stored(&self, rel: RelId, seen: &mut StoredSearch) -> bool {
        let is_stored = |goal: &Goal, seen: &mut StoredSearch| match goal {
            Goal::Scan { source, .. } => self.is_stored_source(FromKind::Source(*source), seen),
            Goal::Call { rel, .. } => self.is_stored(*rel, seen),
            Goal::Rows { table, .. } => self.is_stored_source(FromKind::Table(*table), seen),
            Goal::Values { .. } | Goal::Compare { .. } => true,
        };
        let goals = || self.clauses(rel).iter().flat_map(|clause| &clause.goals);
        !seen.relations.insert(rel) || goals().all(|goal| is_stored(goal, seen))
    }

    fn is_stored_source(&self, kind: FromKind, seen: &mut StoredSearch) -> bool {
        match kind {
            FromKind::Source(source) => {
                !matches!(self.catalog.relations[source].source, RelationSource::Bound { .. })
            }
            // A step is of the table that it is in.
            FromKind::Values(_) | FromKind::Table(TableRef::Itself) => true,
            FromKind::Table(TableRef::Table(table)) => {
                let mut selects = table.of(&self.tables).body.selects();
                !seen.tables.insert(table) || selects.all(|select| self.reads_stored(select, seen))
            }
            FromKind::Embedded(_) | FromKind::Row { .. } | FromKind::Again { .. } => false,
        }
    }

    fn reads_stored(&self, select: &Select, seen: &mut StoredSearch) -> bool {
        select.from.iter().all(|from| self.is_stored_source(from.kind, seen))
            && select.branches().all(|branch| self.reads_stored(branch, seen))
    }
}
