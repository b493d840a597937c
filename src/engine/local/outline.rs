//! The parts of a text, in words: the sets that it makes and why, what it looks up for each row, and which
//! parts are slow, with what would help.

use super::{LocalProbe, LocalSet, LocalSlow};
use portcullis_compiler::bindings::{Binding, BindingArg, Bindings, RowTable, SqlName};
use portcullis_compiler::catalog::ColumnId;
use portcullis_compiler::local::{
    BoundColumn, CastReason, Outline, Probe, Reads, SetKind, SetMade, SlowPart, Start,
};

/// Says what the parts of a text are, by the names in the document.
pub(super) struct Words<'w> {
    pub(super) bindings: &'w Bindings,
}

impl Words<'_> {
    pub(super) fn sets(&self, outline: &Outline) -> Vec<LocalSet> {
        outline.sets.iter().map(|set| self.set(set)).collect()
    }

    fn set(&self, SetMade { name, kind, start, reads }: &SetMade) -> LocalSet {
        let kind_name = match kind {
            SetKind::Recursion | SetKind::WholeState => "recursion",
            SetKind::Table { .. } => "table",
            SetKind::Row => "row",
            SetKind::Array => "array",
            SetKind::Subquery => "subquery",
        };
        let bound = match start {
            Start::Values => "starts from values of the question or of stored facts",
            Start::Row => "depends on a row of the query around it, and is made again for each",
            Start::Nowhere => "is not restricted by any value, and is as large as what it reads",
        };
        let why = match kind {
            SetKind::Recursion => {
                "the rule is recursive: each step adds what follows from the last one".to_owned()
            }
            SetKind::WholeState => {
                "the rule is recursive, and one step needs several earlier results: each reads all of them"
                    .to_owned()
            }
            SetKind::Table { n_readings: 1 } => "the plan joins it in one place".to_owned(),
            SetKind::Table { n_readings } => format!("it is read in {n_readings} places"),
            SetKind::Row => "keys lead to at most one row".to_owned(),
            SetKind::Array => "it is made once, and an index can look its values up".to_owned(),
            SetKind::Subquery => "it is made once, and each row's value is looked up in it".to_owned(),
        };
        LocalSet {
            name: name.as_ref().map(|(name, _)| name.clone()),
            holds: name.as_ref().map(|(_, holds)| holds.clone()).filter(|holds| !holds.is_empty()),
            kind: kind_name,
            why: format!("{why}; it {bound}"),
            reads: self.reads(reads),
        }
    }

    pub(super) fn probes(&self, outline: &Outline) -> Vec<LocalProbe> {
        let probe = |Probe { reads, by }: &Probe| LocalProbe {
            reads: self.reads(reads),
            by: by.iter().map(|column| self.column(*column)).collect(),
        };
        outline.probes.iter().map(probe).collect()
    }

    pub(super) fn slow(&self, outline: &Outline) -> Vec<LocalSlow> {
        let is_row =
            |part: &SlowPart| !matches!(part, SlowPart::NoPromise { .. } | SlowPart::OtherColumn { .. });
        let tests_rows = outline.slow.iter().all(is_row);
        let mut said: Vec<LocalSlow> = Vec::new();
        for part in outline.slow.iter().map(|part| self.slow_part(part, tests_rows)) {
            // Columns of several bound queries may be one column of a table.
            if !said.contains(&part) {
                said.push(part);
            }
        }
        said
    }

    /// A part in words. If the filter does not test the row by its own columns, that is the remedy for its
    /// sets.
    fn slow_part(&self, part: &SlowPart, tests_rows: bool) -> LocalSlow {
        let (what, help) = match part {
            SlowPart::Cast { column, ty, reason } => self.cast(*column, ty, reason),
            SlowPart::Unbounded(reads) => {
                let what = format!(
                    "a set that no value of the question restricts: it is as large as {}",
                    self.named(reads)
                );
                let help = "let the rule start from the actor or the resource";
                (what, tests_rows.then(|| help.to_owned()))
            }
            SlowPart::Unled(reads) => {
                let what = format!(
                    "a full scan for each row, since no equality restricts it: it reads all of {} each time",
                    self.named(reads)
                );
                (what, Some("add an equality with the row to the rule".to_owned()))
            }
            SlowPart::EachRow(reads) => {
                let what = format!(
                    "an alternative whose rows no index finds: every row that your query looks at is tested, with {}",
                    self.named(reads)
                );
                let help = "restrict the rows in your own query, or let the rule start from the actor";
                (what, Some(help.to_owned()))
            }
            SlowPart::EveryRow(reads) => {
                let named = self.named(reads);
                let by = if named.is_empty() { named } else { format!(", which {named} decides") };
                let what = format!(
                    "an alternative that lets every row pass or none{by}: no index serves it beside the other \
                     alternatives, so every row that your query looks at is tested"
                );
                let help = "check that first; where the answer is no, list by a permission without this rule";
                (what, Some(help.to_owned()))
            }
            SlowPart::OwnRows { table } => {
                let what =
                    format!("the ids in `{table}` are all listed first, even for a page or a single row");
                let help = "put the condition on these ids into the rules that give the permission";
                (what, Some(help.to_owned()))
            }
            SlowPart::Composite { binding, table } => {
                let key = &self.bindings.facts[*binding].key;
                let what = format!(
                    "`{key}` has a query that is more than columns of `{table}`, so the filter runs it again"
                );
                let help =
                    format!("select only columns of `{table}` there, and bind the rest as a fact of its own");
                (what, Some(help))
            }
            SlowPart::TestedRecursion { table } => {
                let what = format!(
                    "a test of each row that reads the recursion `{table}`: the database cannot join it with the rows"
                );
                let help = "let the recursive condition share one variable with the rest of the rule";
                (what, Some(help.to_owned()))
            }
            SlowPart::WholeState { table } => {
                let what = format!(
                    "each step of the recursion `{table}` reads everything that was found before, so its time grows \
                     with the square of the result"
                );
                (what, Some("write the rule with one recursive condition, if that means the same".to_owned()))
            }
            SlowPart::NoPromise { ty } => {
                let what = format!(
                    "the filter looks its column up in the set of all ids of {ty} that pass, instead of testing each \
                     row by its own columns"
                );
                (what, Some(self.promise(ty)))
            }
            SlowPart::OtherColumn { ty, promised, is_of_row: _ } => {
                let what = format!(
                    "the filter's column is not written as `{promised}`, so the promise `tables: {ty}: {promised}` is \
                     not used on the row: the table is asked first, and the column is looked up among its ids"
                );
                let help = format!(
                    "ask for the column `{promised}`, or, if your query reads the table under an alias, add the alias \
                     under `aliases`"
                );
                (what, Some(help))
            }
            SlowPart::RowTest { is_qualified } => {
                let what =
                    "each row is decided by a query of its own, since the ids that pass cannot be listed";
                let help = "name the column with its table, as in `issues.id`";
                (what.to_owned(), (!is_qualified).then(|| help.to_owned()))
            }
        };
        LocalSlow { what, help, is_of_rule: part.is_of_rule() }
    }

    fn cast(&self, column: Option<BoundColumn>, ty: &str, reason: &CastReason) -> (String, Option<String>) {
        let column = match column {
            Some(column) => format!("`{}`", self.column(column)),
            None => "the filter's column".to_owned(),
        };
        let what = |why: &str| {
            format!("{column} is compared through a cast to text, so its index is not used: {why}")
        };
        match reason {
            CastReason::Undeclared => {
                let help = format!("add the SQL type of the ids of {ty} under `sql_types`");
                (what(&format!("`sql_types` has no entry for `{ty}`")), Some(help))
            }
            CastReason::Opaque { declared } => {
                let help = "store the ids as integers, uuids or text, and declare that type".to_owned();
                (what(&format!("values of `{declared}` are compared as text")), Some(help))
            }
            CastReason::Mixed => {
                let help = format!("give all columns with ids of {ty} one type");
                (what("it is compared with ids of another type"), Some(help))
            }
        }
    }

    /// The entry that promises the table of a type: the column that bound queries select most often as the
    /// first one.
    fn promise(&self, ty: &str) -> String {
        let mut found: Vec<(RowTable, usize)> = Vec::new();
        for binding in &self.bindings.facts {
            let is_of_type = matches!(binding.args.first(), Some(BindingArg::Column { ty: of }) if of == ty);
            let Some(plain) = binding.query.plain.as_ref().filter(|_| is_of_type) else { continue };
            let Some(column) = plain.name(ColumnId::FIRST) else { continue };
            let row = RowTable { table: plain.table.clone(), column: column.clone() };
            match found.iter_mut().find(|(known, _)| *known == row) {
                Some((_, times)) => *times += 1,
                None => found.push((row, 1)),
            }
        }
        match found.into_iter().rev().max_by_key(|(_, times)| *times) {
            Some((RowTable { table, column }, _)) => {
                let place = format!("{}.{column}", SqlName::path(&table));
                format!("if `{place}` is unique and never NULL, add `{ty}: {place}` under `tables`")
            }
            None => format!("add the unique column with the ids of {ty} under `tables`"),
        }
    }

    /// What a part reads: the keys of bound facts, and the text's own tables.
    fn reads(&self, reads: &Reads) -> Vec<String> {
        let Reads { bindings, tables, has_values } = reads;
        let keys = bindings.iter().map(|binding| &self.bindings.facts[*binding]);
        let values = has_values.then(|| "stored facts".to_owned());
        keys.map(|binding| binding.key.clone()).chain(tables.iter().cloned()).chain(values).collect()
    }

    fn named(&self, reads: &Reads) -> String {
        let names: Vec<String> = self.reads(reads).iter().map(|name| format!("`{name}`")).collect();
        names.join(" and ")
    }

    /// The name of a bound column.
    fn column(&self, BoundColumn { binding, column }: BoundColumn) -> String {
        let Binding { query, key, .. } = &self.bindings.facts[binding];
        match query.plain.as_ref().and_then(|plain| Some((plain, plain.name(column)?))) {
            Some((plain, name)) => {
                format!("{}.{name}", SqlName::path(&plain.table))
            }
            None => format!("column {} of {key}", column.index() + 1),
        }
    }
}
