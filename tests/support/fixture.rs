//! Reads a literate conformance fixture: a Markdown page whose every heading is a test.
//!
//! In: the text of `fixtures/conformance/<topic>/<case>.md`. Out: its [`Case`]s. A page has a title, at
//! least a sentence, a `policy` block and perhaps a `facts` block; then headings, each with at least a
//! sentence of why, perhaps blocks, and something to check:
//!
//! ````text
//! ```policy +   more policy, for this heading only         ```facts +   more stored facts
//! ```context    facts that come with each request
//! ```local      facts that the caller's tables hold: ```schema makes these, ```bindings is their document
//! | query | answer |             yes, no, nothing, `Doc:memo, Doc:plan`, `*`, or `refused: part of the message`
//! | ----- | ------ |
//! sql: allow(User:ada, "read", Doc:?) for sqlite, postgresql         the statement is a snapshot
//! accepts: has_role(User:ada, "member", Org:acme)                    the fact may be stored, or
//! refuses: has_role(User:ada, "steward", Org:acme)                   it may not
//! upload: accepted                                                   what POST /policy says, or
//! upload: refused: part of the message
//! ````
//!
//! The reader is strict, for a line it misread would be a test that never runs: prose ends where the first
//! block, table or check begins, a line that looks like a check but is not one is an error, and so is a
//! heading that checks nothing.

#[cfg(test)]
mod tests;

use super::notation::{self, Cell, Fact};
use super::refusal::NoAnswer;
use portcullis_compiler::question::{Domain, Question};
use std::collections::BTreeSet;

/// One heading of a page, with all that it shares with the others.
#[derive(Clone, Debug)]
pub struct Case {
    /// The heading.
    pub name: String,
    /// The whole policy.
    pub policy: String,
    /// The stored facts, and the local ones.
    pub facts: Vec<Fact>,
    /// The caller's tables, if the page has its own.
    pub written: Written,
    /// The facts of each request.
    pub context: Vec<Fact>,
    /// The rows of the tables.
    pub queries: Vec<Query>,
    /// The statements to take snapshots of, numbered through the page.
    pub snapshots: Vec<SqlSnapshot>,
    /// Facts that may or may not be stored.
    pub storable: Vec<(Fact, bool)>,
    /// What the upload of the policy must say, if the page asks; otherwise it must be accepted.
    pub upload: Option<Expected<()>>,
}

/// A caller's tables as a page writes them.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// What the rows mean.
    pub local: Vec<Fact>,
    /// The statements that make the tables, for every database.
    pub schema: String,
    /// The data-bindings document, without a dialect.
    pub bindings: String,
}

/// One row of a table.
#[derive(Clone, Debug)]
pub struct Query {
    /// As it is written.
    pub text: String,
    /// What is asked.
    pub question: Question,
    /// What must come out.
    pub answer: Expected<Answer>,
}

/// An outcome, or a refusal whose message contains a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected<T> {
    /// This.
    Is(T),
    /// A message with this text.
    Refused(NoAnswer),
}

/// What a question answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Of a question that wants nothing.
    Decision(bool),
    /// Of a question that wants values.
    Rows(BTreeSet<Vec<Cell>>),
}

/// A statement to take a snapshot of.
#[derive(Clone, Debug)]
pub struct SqlSnapshot {
    /// Counts the page's snapshots from 1.
    pub number: usize,
    /// As it is written.
    pub text: String,
    /// What is asked.
    pub question: Question,
    /// For which dialects.
    pub dialects: Vec<String>,
}

/// Reads a page; the error names the line.
pub fn parse(text: &str) -> Result<Vec<Case>, String> {
    let mut page = Page::default();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let at = |message: String| format!("line {}: {message}", number + 1);
        if let Some(kind) = line.strip_prefix("```") {
            let mut block = String::new();
            loop {
                match lines.next() {
                    Some((_, "```")) => break,
                    Some((_, inner)) => block.extend([inner, "\n"]),
                    None => return Err(at("the block does not end".into())),
                }
            }
            page.block(kind, &block).map_err(at)?;
        } else {
            page.line(line).map_err(at)?;
        }
    }
    page.finish()
}

#[derive(Default)]
struct Page {
    has_title: bool,
    /// The shared part; its name is empty.
    shared: Option<Section>,
    sections: Vec<Section>,
    n_snapshots: usize,
}

struct Section {
    case: Case,
    prose: String,
    /// Whether a block, a table or a check has ended the prose.
    has_begun: bool,
    table: Table,
}

/// Where in a table the reader is.
#[derive(PartialEq, Eq)]
enum Table {
    Outside,
    Head,
    Rule,
    Rows,
}

impl Table {
    fn is_unfinished(&self) -> bool {
        matches!(self, Self::Head | Self::Rule)
    }
}

impl Section {
    fn of(case: Case) -> Self {
        Self { case, prose: String::new(), has_begun: false, table: Table::Outside }
    }

    fn end(&self) -> Result<(), String> {
        let name = &self.case.name;
        if self.table.is_unfinished() {
            return Err(format!("`{name}`: a table without rows"));
        }
        if self.prose.trim().ends_with(['.', ':', '?', '!']) {
            Ok(())
        } else {
            Err(format!("`{name}` does not say why: a sentence must stand before anything else"))
        }
    }
}

impl Page {
    fn block(&mut self, kind: &str, text: &str) -> Result<(), String> {
        let is_shared = self.sections.is_empty();
        let section = self.current()?;
        section.has_begun = true;
        let case = &mut section.case;
        match kind {
            "policy" if is_shared && case.policy.is_empty() => text.clone_into(&mut case.policy),
            "policy +" if !is_shared => case.policy.push_str(text),
            "facts" if is_shared && case.facts.is_empty() => case.facts = facts(text)?,
            "facts +" if !is_shared => case.facts.extend(facts(text)?),
            "context" if case.context.is_empty() => case.context = facts(text)?,
            "local" if is_shared && case.written.local.is_empty() => case.written.local = facts(text)?,
            "schema" if is_shared => text.clone_into(&mut case.written.schema),
            "bindings" if is_shared => text.clone_into(&mut case.written.bindings),
            other => return Err(format!("a block `{other}` cannot stand here")),
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(title) = line.strip_prefix("# ") {
            let is_first = !std::mem::replace(&mut self.has_title, true);
            return if is_first { self.begin(title) } else { Err("a second title".into()) };
        }
        if let Some(heading) = line.strip_prefix("## ") {
            return self.begin(heading);
        }
        if line.starts_with('#') {
            return Err("only `#` and `##` head a part".into());
        }
        if line.starts_with('|') {
            return self.table_row(line);
        }
        let section = self.current()?;
        if section.table.is_unfinished() {
            return Err("a table without rows".into());
        }
        section.table = Table::Outside;
        if line.trim().is_empty() {
            return Ok(());
        }
        match line.split_once(": ").filter(|(word, _)| word.chars().all(|c| c.is_ascii_lowercase())) {
            Some((word, rest)) => self.check(word, rest),
            None if section.has_begun => Err("prose stands before the blocks and tables".into()),
            None => {
                section.prose.extend([line, "\n"]);
                Ok(())
            }
        }
    }

    fn begin(&mut self, heading: &str) -> Result<(), String> {
        let Some(shared) = &self.shared else {
            if !self.has_title {
                return Err("a page begins with its title".into());
            }
            self.shared = Some(Section::of(Case {
                name: heading.to_owned(),
                policy: String::new(),
                facts: Vec::new(),
                written: Written::default(),
                context: Vec::new(),
                queries: Vec::new(),
                snapshots: Vec::new(),
                storable: Vec::new(),
                upload: None,
            }));
            return Ok(());
        };
        self.sections.last().unwrap_or(shared).end()?;
        if shared.case.policy.is_empty() {
            return Err("the policy stands before the first heading".into());
        }
        if self.sections.iter().any(|section| section.case.name == heading) {
            return Err(format!("two headings are `{heading}`"));
        }
        self.sections.push(Section::of(Case { name: heading.to_owned(), ..shared.case.clone() }));
        Ok(())
    }

    fn table_row(&mut self, line: &str) -> Result<(), String> {
        let section = self.heading()?;
        section.has_begun = true;
        let cells = cells(line)?;
        let [left, right] = cells.as_slice() else { return Err("a row has two cells".into()) };
        match section.table {
            Table::Outside if left == "query" && right == "answer" => section.table = Table::Head,
            Table::Outside => return Err("a table begins with `| query | answer |`".into()),
            Table::Head if [left, right].iter().all(|cell| cell.starts_with("---")) => {
                section.table = Table::Rule;
            }
            Table::Head => return Err("a line `| --- | --- |` stands under the table's head".into()),
            Table::Rule | Table::Rows => {
                section.table = Table::Rows;
                let question = notation::question(left)?;
                let answer = answer(&question, right)?;
                section.case.queries.push(Query { text: left.clone(), question, answer });
            }
        }
        Ok(())
    }

    fn check(&mut self, word: &str, rest: &str) -> Result<(), String> {
        let number = self.n_snapshots + 1;
        let section = self.heading()?;
        section.has_begun = true;
        match word {
            "accepts" | "refuses" => section.case.storable.push((notation::fact(rest)?, word == "accepts")),
            "upload" => {
                let outcome = match rest.strip_prefix("refused: ") {
                    Some(message) => Expected::Refused(message.to_owned().into()),
                    None if rest == "accepted" => Expected::Is(()),
                    None => return Err("an upload is `accepted` or `refused: part of the message`".into()),
                };
                section.case.upload = Some(outcome);
            }
            "sql" => {
                let (text, dialects) = rest.rsplit_once(" for ").ok_or("for which dialects?")?;
                let question = notation::question(text)?;
                let dialects = dialects.split(", ").map(str::to_owned).collect();
                section.case.snapshots.push(SqlSnapshot {
                    number,
                    text: text.to_owned(),
                    question,
                    dialects,
                });
                self.n_snapshots = number;
            }
            other => return Err(format!("`{other}:` is not a check")),
        }
        Ok(())
    }

    fn current(&mut self) -> Result<&mut Section, String> {
        self.sections.last_mut().or(self.shared.as_mut()).ok_or_else(|| "a page begins with its title".into())
    }

    fn heading(&mut self) -> Result<&mut Section, String> {
        self.sections.last_mut().ok_or_else(|| "a check stands under a heading".into())
    }

    fn finish(self) -> Result<Vec<Case>, String> {
        let last = self.sections.last().ok_or("the page has no heading: it tests nothing")?;
        last.end()?;
        let checks_nothing = |case: &&Case| {
            let Case { queries, snapshots, storable, upload, .. } = case;
            queries.is_empty() && snapshots.is_empty() && storable.is_empty() && upload.is_none()
        };
        let mut cases: Vec<Case> = self.sections.into_iter().map(|section| section.case).collect();
        for case in &mut cases {
            case.facts.extend(case.written.local.iter().cloned());
        }
        match cases.iter().find(checks_nothing) {
            Some(case) => Err(format!("`{}` checks nothing", case.name)),
            None => Ok(cases),
        }
    }
}

fn facts(block: &str) -> Result<Vec<Fact>, String> {
    block.lines().filter(|line| !line.trim().is_empty()).map(notation::fact).collect()
}

/// The cells of a table's row; `\|` is a bar inside one.
fn cells(line: &str) -> Result<Vec<String>, String> {
    let masked = line.trim().replace("\\|", "\u{1}");
    let inner =
        masked.strip_prefix('|').and_then(|rest| rest.strip_suffix('|')).ok_or("a row ends with `|`")?;
    Ok(inner.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect())
}

fn answer(question: &Question, text: &str) -> Result<Expected<Answer>, String> {
    let asked: Vec<Option<&str>> = question
        .vars
        .iter()
        .filter(|var| matches!(var.domain, Domain::Wanted | Domain::GivenOneOf(_)))
        .map(|var| var.ty.as_deref())
        .collect();
    if let Some(message) = text.strip_prefix("refused: ") {
        return Ok(Expected::Refused(message.to_owned().into()));
    }
    match text {
        "yes" | "no" if asked.is_empty() => return Ok(Expected::Is(Answer::Decision(text == "yes"))),
        "nothing" if !asked.is_empty() => return Ok(Expected::Is(Answer::Rows(BTreeSet::new()))),
        _ if asked.is_empty() => return Err("the answer is `yes` or `no`, nothing is wanted".into()),
        _ => {}
    }
    let mut rows = BTreeSet::new();
    for row in notation::rows(text)? {
        if row.len() != asked.len() {
            return Err(format!("the question wants {} values, a row has {}", asked.len(), row.len()));
        }
        let typed = |(cell, ty): (Cell, Option<&str>)| match (cell, ty) {
            (Cell::Any, Some(ty)) => Cell::AnyOf(ty.to_owned()),
            (cell, _) => cell,
        };
        if !rows.insert(row.into_iter().zip(asked.iter().copied()).map(typed).collect()) {
            return Err("a row occurs twice in the answer".into());
        }
    }
    Ok(Expected::Is(Answer::Rows(rows)))
}
