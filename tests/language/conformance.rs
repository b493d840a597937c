//! Runs every literate fixture: one test for each heading of each page under `fixtures/conformance`.
//!
//! What a heading says must come out of the oracle, of the engine over stored facts in every way to ask, of
//! the engine with all facts in the request, of the statements on SQLite and on PostgreSQL, and of a real
//! server over HTTP; and the ways must agree with each other: a list holds exactly what single checks allow.
//! `sql:` lines are snapshots under `snapshots/sql`.
//!
//! ```text
//! cargo test --test language -- conformance::recursion       only the pages of one topic
//! ```

#![expect(clippy::unwrap_used, reason = "a panic is the failure of one trial")]

use libtest_mimic::{Failed, Trial};
use portcullis_compiler::ir::{Program, TypeId};
use portcullis_compiler::question::QuestionAtom;
use portcullis_testkit::fixture::{Answer, Case, Expected, Query, SqlSnapshot};
use portcullis_testkit::hosted::{FAULT, Hosted};
use portcullis_testkit::notation::{Cell, Fact, Value};
use portcullis_testkit::oracle::Oracle;
use portcullis_testkit::outcome::{Allow, Outcome, mentioned};
use portcullis_testkit::over_http::OverHttp;
use portcullis_testkit::pages::{self, Page};
use portcullis_testkit::statements::Statements;
use portcullis_testkit::{assertions, policy};
use std::collections::BTreeSet;
use std::path::Path;

/// The most facts that a request may carry.
const MOST_CONTEXT_FACTS: usize = 100;

/// A trial for each heading.
pub(crate) fn trials() -> Vec<Trial> {
    pages::trials("conformance", |_| true, |page, case| Run::of(page, case).finish())
}

/// One heading, on its way through every engine.
struct Run<'c> {
    page: &'c Page,
    case: &'c Case,
    complaints: Vec<String>,
}

impl<'c> Run<'c> {
    fn of(page: &'c Page, case: &'c Case) -> Self {
        let mut run = Self { page, case, complaints: Vec::new() };
        if let Some(program) = run.upload() {
            run.storable();
            run.oracle(&program);
            run.engine(&program);
            run.engine_on_postgres(&program);
            run.databases(&program);
            run.server();
            case.snapshots.iter().for_each(|snapshot| run.snapshot(&program, snapshot));
        }
        run
    }

    fn finish(self) -> Result<(), Failed> {
        if self.complaints.is_empty() {
            return Ok(());
        }
        Err(format!("{}\n{}", self.page.file.display(), self.complaints.join("\n")).into())
    }

    fn complain(&mut self, who: &str, what: &str, expected: &Outcome, found: &str) {
        self.complaints.push(format!("{what}\n  expected {expected}\n  {who}: {found}"));
    }

    /// The program, if the policy is accepted; the policy's own tests are judged by the oracle and the
    /// engine.
    fn upload(&mut self) -> Option<Program> {
        let expected = self.case.upload.clone().unwrap_or(Expected::Is(()));
        let checked = policy::program(&self.case.policy);
        let judged = checked.as_ref().map_err(Clone::clone).and_then(|program| {
            let failing = assertions::failing(program, portcullis::engine::unix_time());
            if failing.is_empty() { Ok(()) } else { Err(failing.join("\n")) }
        });
        let engine = Hosted::new(&self.case.policy).map(|_| ());
        for (who, found) in [("oracle", judged), ("engine", engine)] {
            match (&expected, found) {
                (Expected::Is(()), Err(message)) => {
                    self.complaints.push(format!("{who} refuses the policy: {message}"));
                }
                (Expected::Refused(part), Err(message)) if !message.contains(&**part) => {
                    self.complaints.push(format!("{who} refuses without `{part}`: {message}"));
                }
                (Expected::Refused(_), Ok(())) => self.complaints.push(format!("{who} accepts the policy")),
                (Expected::Is(()), Ok(())) | (Expected::Refused(_), Err(_)) => {}
            }
        }
        checked.ok().filter(|_| expected == Expected::Is(()) && self.complaints.is_empty())
    }

    /// `accepts:` and `refuses:` lines, of stored facts and of context facts alike.
    fn storable(&mut self) {
        for (fact, accepted) in &self.case.storable {
            let hosted = Hosted::new(&self.case.policy).unwrap();
            let found = hosted.store(std::slice::from_ref(fact));
            let is_fine = match &found {
                Ok(()) => *accepted,
                Err(message) => !accepted && message.contains("not used in policy"),
            };
            if !is_fine {
                self.complaints.push(format!("{fact}\n  accepted: {accepted}\n  engine: {found:?}"));
            }
        }
    }

    fn oracle(&mut self, program: &Program) {
        let facts = self.all_facts();
        let values: Vec<Value> =
            self.case.queries.iter().flat_map(|query| mentioned(&query.question)).collect();
        let oracle = Oracle::new(program, &facts, &values, portcullis::engine::unix_time());
        for Query { text, question, answer } in &self.case.queries {
            let agrees = match answer {
                Expected::Is(Answer::Decision(decision)) => *decision == oracle.decision(question),
                Expected::Is(Answer::Rows(rows)) => oracle.agrees(question, rows),
                Expected::Refused(_) => true,
            };
            if !agrees {
                let found = match oracle.answers(question).map(Answer::Rows) {
                    Some(rows) => rows.to_string(),
                    None => format!("not rows: {:?}", oracle.values(question)),
                };
                self.complain("oracle", text, answer, &found);
            }
        }
    }

    /// Asks the engine with the facts stored, and with all facts in the request.
    fn engine(&mut self, program: &Program) {
        let stored = Hosted::new(&self.case.policy).unwrap();
        if let Err(message) = stored.store(&self.case.facts) {
            self.complaints.push(format!("the facts cannot be stored: {message}"));
            return;
        }
        self.ask_all("engine, stored", &stored, &self.case.context);
        self.cross(program, &stored);
        let facts = self.all_facts();
        if facts.len() <= MOST_CONTEXT_FACTS {
            let empty = Hosted::new(&self.case.policy).unwrap();
            self.ask_all("engine, facts in the request", &empty, &facts);
        }
    }

    /// The same with a store on PostgreSQL.
    fn engine_on_postgres(&mut self, program: &Program) {
        let hosted = Hosted::on_postgres(&self.case.policy).unwrap();
        let facts = self.all_facts();
        if facts.len() <= MOST_CONTEXT_FACTS {
            self.ask_all("engine on PostgreSQL, facts in the request", &hosted, &facts);
        }
        hosted.store(&self.case.facts).unwrap();
        self.ask_all("engine on PostgreSQL, stored", &hosted, &self.case.context);
        self.cross(program, &hosted);
    }

    /// Runs the statements themselves where an application would. The service refuses what the policy never
    /// heard of before it asks the compiler.
    fn databases(&mut self, program: &Program) {
        let returned = match Statements::new(program, &self.all_facts(), portcullis::engine::unix_time()) {
            Ok(returned) => returned,
            Err(message) => return self.complaints.push(message),
        };
        let is_known = |atom: &QuestionAtom| program.predicate_id(&atom.predicate, atom.args.len()).is_some();
        for Query { text, question, answer } in &self.case.queries {
            if !question.atoms.iter().all(is_known) {
                continue;
            }
            for (way, found) in returned.ask_every_way(question) {
                if !is_expected(answer, &found) {
                    self.complain(way, text, answer, &found.to_string());
                }
            }
        }
    }

    fn ask_all(&mut self, who: &str, hosted: &Hosted, context: &[Fact]) {
        for Query { text, question, answer } in &self.case.queries {
            for (way, found) in hosted.ask_every_way(question, context) {
                if !is_expected(answer, &found) {
                    self.complain(&format!("{who}, {way}"), text, answer, &found.to_string());
                }
            }
        }
    }

    /// A check, a filter, a list, the actions and the actors say the same of one actor, action and resource.
    fn cross(&mut self, program: &Program, hosted: &Hosted) {
        let context = &self.case.context;
        // On the wire an id that is a star cannot be told from a wildcard.
        if self.all_facts().iter().flat_map(|fact| &fact.args).any(|value| value.id == "*") {
            return;
        }
        for Query { text, question, answer } in &self.case.queries {
            let Some(allow) = Allow::of(question) else { continue };
            for (actor, action, resource) in self.triples(program, &allow) {
                let check = Allow::Authorize(actor.clone(), action.clone(), resource.clone());
                let Outcome::Is(Answer::Decision(allowed)) = hosted.ask_allow(&check, context) else {
                    self.complain("engine", text, answer, "a check was refused");
                    continue;
                };
                let list = hosted
                    .ask_allow(&Allow::List(actor.clone(), action.clone(), resource.ty.clone()), context);
                let actions = hosted.ask_allow(&Allow::Actions(actor.clone(), resource.clone()), context);
                let twice = [resource.clone(), resource.clone()];
                let passed = hosted.filter(&actor, &action, &twice, context);
                let passes = Ok(if allowed { twice.to_vec() } else { Vec::new() });
                let who =
                    |ty| hosted.ask_allow(&Allow::Subjects(ty, action.clone(), resource.clone()), context);
                let (subjects, of_type) = (who(None), who(Some(actor.ty.clone())));
                if !says(&list, &resource, allowed)
                    || !says(&subjects, &actor, allowed)
                    || !says(&of_type, &actor, allowed)
                    || !says(&actions, &Value::new("String", &action), allowed)
                    || passed != passes
                {
                    let found = format!(
                        "allow({actor}, {action:?}, {resource}) is {allowed}, the list {list}, the actions {actions}, the actors {subjects} and {of_type}, the filter {passed:?}"
                    );
                    self.complain("engine", text, answer, &found);
                }
            }
        }
    }

    /// The checks that a question is made of: its own, or those of each value that might be in the list.
    fn triples(&self, program: &Program, allow: &Allow) -> Vec<(Value, String, Value)> {
        let facts = self.all_facts();
        let known = facts.iter().flat_map(|fact| fact.args.clone());
        match allow {
            Allow::Authorize(actor, action, resource) => {
                vec![(actor.clone(), action.clone(), resource.clone())]
            }
            Allow::List(actor, action, ty) => {
                let resources: BTreeSet<Value> = known.filter(|value| value.ty == *ty).collect();
                resources.into_iter().map(|resource| (actor.clone(), action.clone(), resource)).collect()
            }
            Allow::Actions(actor, resource) => {
                let literals = program.constants.iter();
                let texts =
                    literals.filter(|literal| literal.ty == TypeId::STRING && !literal.text.is_empty());
                texts.map(|literal| (actor.clone(), literal.text.clone(), resource.clone())).collect()
            }
            Allow::Subjects(ty, action, resource) => {
                let actors: BTreeSet<Value> =
                    known.filter(|value| ty.as_ref().is_none_or(|ty| value.ty == *ty)).collect();
                actors.into_iter().map(|actor| (actor, action.clone(), resource.clone())).collect()
            }
        }
    }

    fn server(&mut self) {
        let asked = self.case.queries.iter().filter_map(|query| Some((query, Allow::of(&query.question)?)));
        let asked: Vec<(&Query, Allow)> = asked.collect();
        if asked.is_empty() {
            return;
        }
        let server = match OverHttp::new(&self.case.policy, &self.case.facts) {
            Ok(server) => server,
            Err(message) => {
                self.complaints.push(format!("the server refuses policy or facts: {message}"));
                return;
            }
        };
        for (Query { text, answer, .. }, allow) in asked {
            let found = server.ask(&allow, &self.case.context);
            if !is_expected(answer, &found) {
                self.complain("server", text, answer, &found.to_string());
            }
        }
    }

    fn snapshot(&mut self, program: &Program, snapshot: &SqlSnapshot) {
        let SqlSnapshot { number, text, question, dialects } = snapshot;
        let catalog = policy::tables(&self.all_facts());
        for dialect in dialects {
            let compiled = portcullis_compiler::compile_text(
                program,
                &catalog,
                question,
                dialect.parse().unwrap(),
                1_700_000_000,
            );
            let sql = match compiled {
                Ok(statement) => statement.sql,
                Err(error) => {
                    self.complaints.push(format!("{text} for {dialect}: {error:?}"));
                    continue;
                }
            };
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots/sql"));
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings.set_description(text.as_str());
            settings.set_input_file(&self.page.file);
            let name = format!("{}__{number}__{dialect}", self.page.name.replace('/', "__"));
            settings.bind(|| insta::assert_snapshot!(name, sql));
        }
    }

    fn all_facts(&self) -> Vec<Fact> {
        self.case.facts.iter().chain(&self.case.context).cloned().collect()
    }
}

/// Whether an outcome is the expected one; of a refusal the page names a part.
fn is_expected(expected: &Outcome, found: &Outcome) -> bool {
    match (expected, found) {
        (Expected::Refused(part), Expected::Refused(message)) => {
            !message.starts_with(FAULT) && message.contains(&**part)
        }
        (Expected::Is(expected), Expected::Is(found)) => expected == found,
        (Expected::Is(_), Expected::Refused(_)) | (Expected::Refused(_), Expected::Is(_)) => false,
    }
}

/// Whether an enumeration says of a value what a check said. One that cannot enumerate says nothing.
fn says(enumeration: &Outcome, value: &Value, allowed: bool) -> bool {
    let Outcome::Is(Answer::Rows(rows)) = enumeration else { return true };
    let cell = Cell::Value(value.clone());
    rows.iter().any(|row| Cell::row_covers(row, std::slice::from_ref(&cell))) == allowed
}
