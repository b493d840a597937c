//! The questions: who asks what, the expert's answer, and the request that makes the service's.

use serde_json::{Value as Json, json};

/// The actors that actors.sql makes.
const LIGHT: u32 = 1_000_001;
const MEDIUM: u32 = 1_000_002;
const HEAVY: u32 = 1_000_003;
const BANNED: u32 = 1_000_004;
const OUTSIDER: u32 = 1_000_005;

/// The issues that actors.sql makes.
const DEEP: u32 = 2_000_001;
const OWN: u32 = 2_000_002;
const IN_GROUP_FOLDER: u32 = 2_000_003;

/// The bindings of the example.
const BINDINGS: &str = include_str!("../../../docs/local-checks/bindings.yaml");

/// The newest fifty issues that the actor may close: the list, sorted. If the actor may close few issues, it
/// is answered at once, who may close fifty thousand pays for all of them. Walking by date and testing each
/// issue would be the reverse, a few milliseconds for the latter and seconds for an actor with few issues;
/// one query serves both.
const PAGE_CLOSE: &str = concat!(
    include_str!("../../../benches/local/expert/list_issues.sql"),
    "ORDER BY i.created_at DESC\nLIMIT 50\n"
);

/// A question with its expert query.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// What the table calls it.
    pub name: &'static str,
    /// The actor.
    pub actor: u32,
    /// What is asked.
    pub ask: Ask,
    /// What the expert query is called.
    pub file: &'static str,
    /// The expert query.
    expert: &'static str,
}

/// What is asked about an actor.
#[derive(Clone, Copy, Debug)]
pub enum Ask {
    /// May the actor do this to the issue?
    Check {
        /// To do what,
        action: &'static str,
        /// to which issue;
        issue: u32,
        /// the right answer.
        allowed: bool,
    },
    /// What may the actor do with the issue?
    Actions {
        /// With this one.
        issue: u32,
    },
    /// Which rows may the actor do this to?
    List {
        /// To do what,
        action: &'static str,
        /// to the rows of which table.
        table: Table,
    },
    /// Which are the newest fifty issues to which the actor may do this?
    Page {
        /// To do this.
        action: &'static str,
    },
}

/// A table whose rows are listed.
#[derive(Clone, Copy, Debug)]
pub enum Table {
    /// Of repositories.
    Repositories,
    /// Of issues.
    Issues,
}

impl Table {
    fn resource_type(self) -> &'static str {
        match self {
            Self::Repositories => "Repository",
            Self::Issues => "Issue",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Repositories => "repositories",
            Self::Issues => "issues",
        }
    }
}

impl Question {
    /// Every question, in the order of the table.
    pub fn all() -> Vec<Self> {
        let check = |name, actor, action, issue, allowed| {
            let (file, expert) = match action {
                "read" => {
                    ("authorize_read", include_str!("../../../benches/local/expert/authorize_read.sql"))
                }
                _ => ("authorize_close", include_str!("../../../benches/local/expert/authorize_close.sql")),
            };
            Self { name, actor, ask: Ask::Check { action, issue, allowed }, file, expert }
        };
        let actions = |name, actor, issue| Self {
            name,
            actor,
            ask: Ask::Actions { issue },
            file: "actions_issue",
            expert: include_str!("../../../benches/local/expert/actions_issue.sql"),
        };
        let repositories = |name, actor| Self {
            name,
            actor,
            ask: Ask::List { action: "write", table: Table::Repositories },
            file: "list_repositories",
            expert: include_str!("../../../benches/local/expert/list_repositories.sql"),
        };
        let issues = |name, actor| Self {
            name,
            actor,
            ask: Ask::List { action: "close", table: Table::Issues },
            file: "list_issues",
            expert: include_str!("../../../benches/local/expert/list_issues.sql"),
        };
        let page = |name, actor, action| {
            let (file, expert) = match action {
                "read" => ("page_read", include_str!("../../../benches/local/expert/page_read.sql")),
                _ => ("page_close", PAGE_CLOSE),
            };
            Self { name, actor, ask: Ask::Page { action }, file, expert }
        };
        vec![
            check("check: own issue", LIGHT, "close", OWN, true),
            check("check: organization, 8 folders up", HEAVY, "close", DEEP, true),
            check("check: folder of a group's group", LIGHT, "close", IN_GROUP_FOLDER, true),
            check("check: denied", OUTSIDER, "read", DEEP, false),
            check("check: banned", BANNED, "close", DEEP, false),
            actions("actions: maintainer", HEAVY, DEEP),
            actions("actions: creator", LIGHT, OWN),
            repositories("list: 10 repositories", LIGHT),
            repositories("list: 1,000 repositories", MEDIUM),
            repositories("list: 10,000 repositories", HEAVY),
            issues("list: 50 issues", LIGHT),
            issues("list: 5,000 issues", MEDIUM),
            issues("list: 50,000 issues", HEAVY),
            page("newest 50 to close: light", LIGHT, "close"),
            page("newest 50 to close: medium", MEDIUM, "close"),
            page("newest 50 to close: heavy", HEAVY, "close"),
            page("newest 50 to read: light", LIGHT, "read"),
            page("newest 50 to read: medium", MEDIUM, "read"),
            page("newest 50 to read: heavy", HEAVY, "read"),
        ]
    }

    /// The expert's statement.
    pub fn expert_sql(&self) -> String {
        self.fill(self.expert)
    }

    /// A statement in which `:actor` and `:issue` are replaced by the question's.
    pub fn fill(&self, text: &str) -> String {
        let issue = match self.ask {
            Ask::Check { issue, .. } | Ask::Actions { issue } => issue,
            Ask::List { .. } | Ask::Page { .. } => 0,
        };
        text.replace(":actor", &self.actor.to_string()).replace(":issue", &issue.to_string())
    }

    /// The endpoint that answers this question with SQL, and the body for it.
    pub fn request(&self) -> (&'static str, Json) {
        let mut query = json!({ "actor_type": "User", "actor_id": self.actor.to_string() });
        let mut put = |name: &str, value: &str| query[name] = value.into();
        let (path, column) = match self.ask {
            Ask::Check { action, issue, .. } => {
                put("action", action);
                put("resource_type", "Issue");
                put("resource_id", &issue.to_string());
                ("/authorize_query", None)
            }
            Ask::Actions { issue } => {
                put("resource_type", "Issue");
                put("resource_id", &issue.to_string());
                ("/actions_query", None)
            }
            Ask::List { action, table } => {
                put("action", action);
                put("resource_type", table.resource_type());
                ("/list_query", Some(format!("{}.id", table.name())))
            }
            Ask::Page { action } => {
                put("action", action);
                put("resource_type", "Issue");
                ("/list_query", Some("issues.id".to_owned()))
            }
        };
        let mut body = json!({ "query": query, "data_bindings": BINDINGS });
        if let Some(column) = column {
            body["column"] = column.into();
        }
        (path, body)
    }

    /// The application's statement around the SQL that the service returned.
    pub fn around(&self, sql: &str) -> String {
        match self.ask {
            Ask::Check { .. } | Ask::Actions { .. } => sql.to_owned(),
            Ask::List { table, .. } => format!("SELECT id FROM {} WHERE {sql}", table.name()),
            Ask::Page { .. } => {
                format!("SELECT id FROM issues WHERE {sql} ORDER BY created_at DESC LIMIT 50")
            }
        }
    }
}
