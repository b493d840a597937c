//! A file of questions: what is asked, the statement around the filter, and the expert's SQL.
//!
//! It is SQL, so that a person and an editor can read it. Lines that start with `---` divide it:
//!
//! | line | what follows |
//! | --- | --- |
//! | `--- ask list ACTION TYPE over COLUMN` | cases and statements of a list |
//! | `--- ask check ACTION TYPE ID` | cases and the expert's statement of a check |
//! | `--- ask actions TYPE ID` | the same of the question which actions are allowed |
//! | `--- case NAME user=1 task=7` | nothing: who asks, and the values of `:user` and `:task` |
//! | `--- statement NAME` | a statement of the application with `:filter` where the filter goes |
//! | `--- filter` | what an expert writes instead of `:filter`, in every statement of the file |
//! | `--- expert` | the expert's answer to a check, or to the question for actions |
//! | `--- expert NAME` | the expert's own form of the statement of that name |
//! | `--- include FILE` | nothing: the file is read here |

use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The type of everybody who asks.
const ACTOR_TYPE: &str = "User";

/// Longest text for a check or for actions, and for a filter.
const MOST_BYTES: (usize, usize) = (4 << 10, 6 << 10);

/// A question of one case, with both statements around it.
#[derive(Debug)]
pub struct Question {
    /// The file, the statement and the case.
    pub name: String,
    actor: String,
    ask: Ask,
    /// The application's statement, `:filter` for the text that the service returns.
    statement: String,
    /// The expert's statement.
    pub expert: String,
}

/// What is asked about the actor.
#[derive(Clone, Debug)]
enum Ask {
    List { action: String, resource_type: String, column: String },
    Check { action: String, resource_type: String, id: String },
    Actions { resource_type: String, id: String },
}

/// A case: its name, and the values of the variables.
type Case = (String, BTreeMap<String, String>);

/// What follows an `ask`, up to the next.
struct Group {
    ask: String,
    cases: Vec<Case>,
    /// Statements of the application by name; one without a name for a check.
    statements: Vec<(String, String)>,
    experts: BTreeMap<String, String>,
}

impl Question {
    /// Every question of a file.
    pub fn read(file: &Path) -> Vec<Self> {
        let mut groups: Vec<Group> = Vec::new();
        let mut filter = None;
        for (head, body) in sections(file) {
            let (word, rest) = head.split_once(' ').unwrap_or((&head, ""));
            match (word, groups.last_mut()) {
                ("ask", _) => groups.push(Group::new(rest)),
                ("filter", _) => filter = Some(format!("(\n{body}\n)")),
                ("case", Some(group)) => group.cases.push(case(rest)),
                ("statement", Some(group)) => group.statements.push((rest.to_owned(), body)),
                ("expert", Some(group)) => {
                    group.experts.insert(rest.to_owned(), body);
                }
                _ => panic!("{}: `--- {head}` cannot stand here", file.display()),
            }
        }
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let mut questions = Vec::new();
        for group in groups {
            let before = questions.len();
            questions.extend(group.questions(stem, filter.as_deref()));
            assert!(questions.len() > before, "{}: `{}` asks nothing", file.display(), group.ask);
        }
        questions
    }

    /// The endpoint that answers with SQL, and the body for it.
    pub fn request(&self, bindings: &str) -> (&'static str, Json) {
        let actor = json!({ "actor_type": ACTOR_TYPE, "actor_id": self.actor });
        let mut body = json!({ "query": actor, "data_bindings": bindings });
        let mut put = |name: &str, value: &str| body["query"][name] = value.into();
        let path = match &self.ask {
            Ask::List { action, resource_type, column } => {
                put("action", action);
                put("resource_type", resource_type);
                body["column"] = column.as_str().into();
                "/api/list_query"
            }
            Ask::Check { action, resource_type, id } => {
                put("action", action);
                put("resource_type", resource_type);
                put("resource_id", id);
                "/api/authorize_query"
            }
            Ask::Actions { resource_type, id } => {
                put("resource_type", resource_type);
                put("resource_id", id);
                "/api/actions_query"
            }
        };
        (path, body)
    }

    /// The application's statement around the SQL that the service returned.
    pub fn around(&self, sql: &str) -> String {
        self.statement.replace(":filter", sql)
    }

    /// Whether the order of the rows is part of the answer.
    pub fn is_ordered(&self) -> bool {
        self.statement.contains("ORDER BY")
    }

    /// How long the service's text may be.
    pub fn most_bytes(&self) -> usize {
        match self.ask {
            Ask::Check { .. } | Ask::Actions { .. } => MOST_BYTES.0,
            Ask::List { .. } => MOST_BYTES.1,
        }
    }
}

impl Group {
    fn new(ask: &str) -> Self {
        let is_list = ask.starts_with("list");
        // The answer to anything but a list is a statement by itself.
        let statements = if is_list { Vec::new() } else { vec![(String::new(), ":filter".to_owned())] };
        Self { ask: ask.to_owned(), cases: Vec::new(), statements, experts: BTreeMap::new() }
    }

    /// A question for each statement and case.
    fn questions(&self, file: &str, filter: Option<&str>) -> Vec<Question> {
        let mut questions = Vec::new();
        for (statement_name, statement) in &self.statements {
            let own = self.experts.get(statement_name);
            let expert = own.unwrap_or(statement);
            assert!(own.is_some() || filter.is_some(), "{file}: no expert answers {statement_name}");
            let expert = filter.map_or_else(|| expert.clone(), |filter| expert.replace(":filter", filter));
            for (case_name, values) in &self.cases {
                let fill = |text: &str| fill(text, values);
                let ask = Ask::read(&fill(&self.ask));
                let what = match &ask {
                    Ask::List { .. } => statement_name.clone(),
                    Ask::Check { action, .. } => format!("check {action}"),
                    Ask::Actions { .. } => "actions".to_owned(),
                };
                questions.push(Question {
                    name: format!("{file}: {what}, {case_name}"),
                    actor: values["user"].clone(),
                    ask,
                    statement: fill(statement),
                    expert: fill(&expert),
                });
            }
        }
        questions
    }
}

impl Ask {
    fn read(text: &str) -> Self {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["list", action, resource_type, "over", column] => Self::List {
                action: (*action).to_owned(),
                resource_type: (*resource_type).to_owned(),
                column: (*column).to_owned(),
            },
            ["check", action, resource_type, id] => Self::Check {
                action: (*action).to_owned(),
                resource_type: (*resource_type).to_owned(),
                id: (*id).to_owned(),
            },
            ["actions", resource_type, id] => {
                Self::Actions { resource_type: (*resource_type).to_owned(), id: (*id).to_owned() }
            }
            _ => panic!("`--- ask {text}` is not a question"),
        }
    }
}

/// The sections of a file: the title after each `---`, and the lines below it without comments.
fn sections(file: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("--- include ") {
            found.extend(sections(&file.with_file_name(name)));
        } else if let Some(head) = line.strip_prefix("--- ") {
            found.push((head.to_owned(), String::new()));
        } else if let Some((_, body)) = found.last_mut()
            && !line.trim_start().starts_with("--")
            && !line.is_empty()
        {
            let line = line.trim_end_matches(';');
            let separator = if body.is_empty() { "" } else { "\n" };
            body.extend([separator, line]);
        }
    }
    found
}

/// Reads `NAME variable=value variable=value`.
fn case(text: &str) -> Case {
    let mut words = text.split(' ');
    let name = words.next().unwrap().to_owned();
    let values = words.map(|word| word.split_once('=').unwrap());
    (name, values.map(|(variable, value)| (variable.to_owned(), value.to_owned())).collect())
}

/// The text with values for variables; of two names the longer one is meant.
fn fill(text: &str, values: &BTreeMap<String, String>) -> String {
    // In reverse order, a name comes before its own beginning.
    let names = values.iter().rev();
    names.fold(text.to_owned(), |text, (name, value)| text.replace(&format!(":{name}"), value))
}
