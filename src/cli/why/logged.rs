//! Explains the decisions of a request that the decision log has.
//!
//! In: the log and the id of a request. Out: each of its decisions, explained by a service or from a data
//! folder with the policy version that made it, its time, and the current facts. Comparing the logged offset
//! with the current one shows whether anything was written since. Only the context facts in the log count. A
//! log has the decisions of all environments; only those of the environment that explains are explained,
//! because it answers with its facts.

use super::replay::Replay;
use super::{AskedWhy, tree};
use crate::cli::error::{CliError, LoggedError};
use crate::cli::facts_file::FactJson;
use crate::cli::output;
use crate::engine::{Fact, Value, WhyQuestion, builtin};
use crate::http::WhyOut;
use portcullis_compiler::why::{Arg, Atom};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// How many decisions of a request are explained; one about many resources has more.
const MOST_EXPLAINED: usize = 20;

/// What a line of the log says.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LoggedDecision {
    time: String,
    request_id: String,
    environment: String,
    key: Option<String>,
    policy: Option<u64>,
    /// `None` also in a line of an earlier release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy_digest: Option<String>,
    offset: Option<u64>,
    actor: Entity,
    action: String,
    resource: Entity,
    allowed: bool,
    /// Why an evaluation of AuthZEN was denied without being decided.
    #[serde(default)]
    error: Option<String>,
    /// Whether the log has only the beginning of an id.
    #[serde(default)]
    cut: bool,
    took_us: u64,
    #[serde(default)]
    context_facts: Vec<FactJson>,
    #[serde(default)]
    context_facts_left_out: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entity {
    #[serde(rename = "type")]
    ty: String,
    id: String,
}

/// A logged decision, and its explanation with the current facts.
#[derive(Debug, Serialize)]
pub(super) struct ExplainedDecision {
    decision: LoggedDecision,
    /// `None` if no policy decided (there was none, or the question was wrong), or if the log does not have
    /// the whole question.
    explanation: Option<WhyOut>,
    /// Whether facts or the policy were changed since; `None` if that is not known, too.
    changed_since: Option<bool>,
}

/// The decisions of a request, each explained.
pub(super) fn explained(
    replay: &mut Replay<'_>,
    log: &Path,
    request: &str,
) -> Result<Vec<ExplainedDecision>, CliError> {
    let mut other = None;
    let decisions = decisions(log, request, replay.environment(), &mut other)?;
    if decisions.is_empty() {
        return Err(match other {
            Some(decided_in) => replay.other_environment(request, decided_in).into(),
            None => LoggedError::UnknownRequest { log: log.into(), request: request.to_owned() }.into(),
        });
    }
    let n = decisions.len();
    if n > MOST_EXPLAINED {
        output::to_stderr(&format!(
            "the request has {n} decisions: the first {MOST_EXPLAINED} are explained"
        ));
    }
    let explain = |decision: LoggedDecision| {
        let Some(policy) = decision.policy.filter(|_| !decision.cut) else {
            return Ok(ExplainedDecision::without(decision));
        };
        let explanation = replay.explanation(decision.asked(), policy, decision.moment(log)?)?;
        let is_moved = Some(explanation.offset) != decision.offset;
        let has_changed = is_moved || decision.is_by_another(&explanation);
        let changed_since =
            (has_changed || !decision.is_answered_otherwise(&explanation)).then_some(has_changed);
        Ok(ExplainedDecision { decision, explanation: Some(explanation), changed_since })
    };
    decisions.into_iter().take(MOST_EXPLAINED).map(explain).collect()
}

/// The lines of a request in an environment, from the newest file that has any. Those that begin a file may
/// continue lines at the end of the older one. Clients choose ids of requests, so several environments may
/// have lines with the same id: `other` becomes the name of another environment that does.
fn decisions(
    log: &Path,
    request: &str,
    environment: &str,
    other: &mut Option<String>,
) -> Result<Vec<LoggedDecision>, CliError> {
    let mut decisions = Vec::new();
    for n in 0.. {
        let path = if n == 0 { log.to_owned() } else { PathBuf::from(format!("{}.{n}", log.display())) };
        let file = match File::open(&path) {
            Err(error) if n > 0 && error.kind() == std::io::ErrorKind::NotFound => break,
            opened => opened.map_err(|error| CliError::unreadable(&path, error))?,
        };
        let (mut found, begins) = in_file(file, &path, request)?;
        found.retain(|decision| {
            let is_own = decision.environment == environment;
            if !is_own {
                *other = Some(decision.environment.clone());
            }
            is_own
        });
        if found.is_empty() && !decisions.is_empty() {
            break;
        }
        found.append(&mut decisions);
        decisions = found;
        if !decisions.is_empty() && !begins {
            break;
        }
    }
    Ok(decisions)
}

/// The lines of a request in a file, and whether the first line is one of them.
fn in_file(file: File, path: &Path, request: &str) -> Result<(Vec<LoggedDecision>, bool), CliError> {
    // The id with the quotes and escapes of JSON, as the log has it.
    let written = json!(request).to_string();
    let mut found = Vec::new();
    let mut begins = false;
    for (at, line) in BufReader::new(file).split(b'\n').enumerate() {
        let line = line.map_err(|error| CliError::unreadable(path, error))?;
        // A killed service may leave a part of a character.
        let Ok(line) = String::from_utf8(line) else { continue };
        // Most lines are of other requests.
        if !line.contains(&written) {
            continue;
        }
        let decision: LoggedDecision = match serde_json::from_str(&line) {
            Ok(decision) => decision,
            // A part of a line, which a killed service left.
            Err(error) if error.is_eof() => continue,
            Err(error) => return Err(LoggedError::Line { log: path.into(), error }.into()),
        };
        if decision.request_id == request {
            begins |= at == 0;
            found.push(decision);
        }
    }
    Ok((found, begins))
}

impl LoggedDecision {
    /// Its time in seconds since the epoch, for rules that compare with it.
    fn moment(&self, log: &Path) -> Result<i64, CliError> {
        let time = OffsetDateTime::parse(&self.time, &Rfc3339);
        let unreadable = |_| LoggedError::Time { log: log.into(), time: self.time.clone() };
        Ok(time.map_err(unreadable)?.unix_timestamp())
    }

    /// What was asked.
    fn asked(&self) -> AskedWhy {
        let value = |entity: &Entity| Value { ty: entity.ty.clone(), id: entity.id.clone() };
        let question = WhyQuestion::Authorize {
            actor: value(&self.actor),
            action: self.action.clone(),
            resource: value(&self.resource),
        };
        AskedWhy { question, context: self.context_facts.iter().cloned().map(Fact::from).collect() }
    }

    /// Whether the version of the policy is now the number of another policy.
    fn is_by_another(&self, explanation: &WhyOut) -> bool {
        let digests = self.policy_digest.as_ref().zip(explanation.policy_digest.as_ref());
        digests.is_some_and(|(then, now)| then != now)
    }

    /// Whether the answer is another one now, to the whole question.
    fn is_answered_otherwise(&self, explanation: &WhyOut) -> bool {
        self.context_facts_left_out == 0 && self.allowed != explanation.allowed
    }

    fn question(&self) -> String {
        let Self { actor, action, resource, .. } = self;
        let arg = |ty: &str, id: &str| Arg { ty: Some(ty.to_owned()), id: Some(id.to_owned()) };
        let args = vec![
            arg(&actor.ty, &actor.id),
            arg(portcullis_compiler::primitive::STRING, action),
            arg(&resource.ty, &resource.id),
        ];
        Atom { predicate: builtin::ALLOW.to_owned(), args }.to_string()
    }
}

impl ExplainedDecision {
    /// A decision that cannot be explained.
    fn without(decision: LoggedDecision) -> Self {
        Self { decision, explanation: None, changed_since: None }
    }

    /// For people.
    pub(super) fn text(&self, colours: bool) -> String {
        let Self { decision, explanation, .. } = self;
        let then = if decision.allowed { "allowed" } else { "denied" };
        let (time, question) = (&decision.time, decision.question());
        let Some((explanation, policy)) = explanation.as_ref().zip(decision.policy) else {
            let reason = match &decision.error {
                Some(error) => error,
                None if decision.cut => {
                    "the log has only the beginning of an id, so this cannot be explained"
                }
                None => "there was no policy, so nothing was allowed",
            };
            return format!("{then} at {time}: {reason}\n\n{question}\n");
        };
        let mut text = format!("{then} at {time}, by policy {policy}\n");
        // Context facts that the log leaves out counted when the decision was made.
        let is_whole = decision.context_facts_left_out == 0;
        // Writing to a String cannot fail.
        let moved = decision.offset.filter(|offset| *offset != explanation.offset);
        let is_by_another = decision.is_by_another(explanation);
        let _ = match moved {
            _ if is_by_another => writeln!(
                text,
                "Policy {policy} is another one now: the environment was made again or restored. The explanation uses its current policy {policy} and its current facts."
            ),
            None if decision.is_answered_otherwise(explanation) => writeln!(
                text,
                "The offset is still {}, but the answer is another one: a rule asks for the time, or the environment was made again or restored.",
                explanation.offset
            ),
            None => writeln!(text, "Nothing has been written since."),
            Some(then) => writeln!(
                text,
                "Facts or the policy have changed since (offset {then}, now {}); the explanation uses the current facts.",
                explanation.offset
            ),
        };
        if decision.context_facts_left_out > 0 {
            let n = decision.context_facts_left_out;
            let _ = writeln!(
                text,
                "The log leaves out {n} of the request's context facts, so they do not count here."
            );
        }
        if explanation.allowed != decision.allowed {
            let without = if is_by_another {
                "With this policy"
            } else if is_whole {
                "With the current facts"
            } else {
                "Without them, or with the current facts,"
            };
            let _ = writeln!(text, "{without} the answer is different.");
        }
        text.push('\n');
        text.push_str(&tree::text(&question, explanation, colours));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(request: &str, id: &str) -> String {
        let (actor, resource) = (json!({ "type": "User", "id": "ada" }), json!({ "type": "Repo", "id": id }));
        let line = json!({
            "time": "now", "request_id": request, "environment": "a", "key": null, "policy": 1, "offset": 2,
            "actor": actor, "action": "read", "resource": resource, "allowed": true, "took_us": 9,
        });
        format!("{line}\n")
    }

    #[test]
    fn a_decision_is_explained_at_its_time() {
        let at = |time: &str| {
            let decision: LoggedDecision = serde_json::from_str(&line("r", "1")).unwrap();
            LoggedDecision { time: time.to_owned(), ..decision }.moment(Path::new("decisions.log"))
        };
        assert_eq!(at("2023-11-14T22:13:20.999999Z").unwrap(), 1_700_000_000);
        assert!(at("now").unwrap_err().to_string().contains("`now`, which is not a time"));
    }

    #[test]
    fn another_environment_does_not_hide_a_decision() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("decisions.log");
        std::fs::write(&log, line("r", "2").replace(r#""environment":"a""#, r#""environment":"b""#)).unwrap();
        std::fs::write(folder.path().join("decisions.log.1"), line("r", "1")).unwrap();
        let found = |environment: &str| {
            let mut other = None;
            let decisions = decisions(&log, "r", environment, &mut other).unwrap();
            let ids: Vec<String> = decisions.into_iter().map(|decision| decision.resource.id).collect();
            (ids, other)
        };
        assert_eq!(found("a"), (vec!["1".to_owned()], Some("b".to_owned())));
        assert_eq!(found("b").0, ["2"]);
        assert!(found("c").0.is_empty() && found("c").1.is_some());
    }

    #[test]
    fn a_hostile_id_is_printed_on_one_line() {
        let decision: LoggedDecision = serde_json::from_str(&line("r", "1")).unwrap();
        let id = "x\u{1b}[2J\nyes: allow(".to_owned();
        let actor = Entity { ty: "User".to_owned(), id };
        let question = LoggedDecision { actor, ..decision }.question();
        assert!(!question.contains(['\n', '\u{1b}']), "{question:?}");
    }

    #[test]
    fn lines_of_a_request_are_found_across_files() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("decisions.log");
        let write = |name: &str, lines: &[(&str, &str)]| {
            let text: String = lines.iter().map(|(request, id)| line(request, id)).collect();
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        write("decisions.log", &[("split", "3"), ("other", "4"), ("whole", "5")]);
        write("decisions.log.1", &[("whole", "0"), ("x", "1"), ("split", "2")]);
        write("decisions.log.2", &[("split", "0"), (r#"a"b\c"#, "1")]);
        let part = line("whole", "6").replace("}\n", "");
        let with_part = std::fs::read_to_string(&log).unwrap() + &part + "\n" + &part + "é";
        // Without the second byte of `é`.
        std::fs::write(&log, &with_part.as_bytes()[..with_part.len() - 1]).unwrap();
        let found = |request: &str| -> Vec<String> {
            let found = decisions(&log, request, "a", &mut None).unwrap();
            found.into_iter().map(|decision| decision.resource.id).collect()
        };
        assert_eq!(found("split"), ["2", "3"]);
        assert_eq!(found("whole"), ["5"]);
        assert_eq!(found(r#"a"b\c"#), ["1"]);
        assert_eq!(found("none"), [""; 0]);
    }
}
