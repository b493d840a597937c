//! Writes the explanations: as text with the marked steps indented, or as JSON.

use super::never::NeverReason;
use super::questions::{Form, PermissionQuestion};
use super::step::{DatabasePlan, Measured, Step, counted};
use super::{ExplainedStatement, Explanations, PlanOutcome};
use serde_json::{Value, json};
use std::fmt::Write;

impl Explanations {
    /// The explanations as text, the summary last.
    pub(in crate::cli::bindings) fn text(&self) -> String {
        let mut text = String::new();
        for explained in self.statements.iter().filter(|explained| explained.is_shown()) {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n{}\n", explained.text());
        }
        let _ = write!(text, "\n{}", self.summary());
        text
    }

    /// The explanations as JSON.
    pub(in crate::cli::bindings) fn json(&self) -> Value {
        let id = |sample: &super::sample::Sample| json!({ "type": sample.ty, "id": sample.id, "last": sample.last, "read_from": sample.read_from });
        let help = |(help, n): (String, usize)| json!({ "help": help, "statements": n });
        json!({
            "ids": self.samples.values().map(id).collect::<Vec<_>>(),
            "statements": self.statements.iter().map(ExplainedStatement::json).collect::<Vec<_>>(),
            "help": self.helps().into_iter().map(help).collect::<Vec<_>>(),
        })
    }
}

impl ExplainedStatement {
    pub(super) fn plan(&self) -> Option<&DatabasePlan> {
        match &self.outcome {
            PlanOutcome::Planned { plan, .. } => Some(plan),
            PlanOutcome::Never { .. }
            | PlanOutcome::Refused { .. }
            | PlanOutcome::NoRows { .. }
            | PlanOutcome::Failed { .. } => None,
        }
    }

    /// Whether the text shows it: all checks and lists, and others if they are slow or have no plan.
    fn is_shown(&self) -> bool {
        match self.asked.form {
            Form::Check | Form::List => !self.is_never(),
            Form::Subjects | Form::Actions => self.is_slow() || self.has_no_plan(),
        }
    }

    /// The service's text.
    pub(super) fn sql(&self) -> Option<&String> {
        match &self.outcome {
            PlanOutcome::Never { .. } | PlanOutcome::Refused { .. } => None,
            PlanOutcome::NoRows { sql, .. }
            | PlanOutcome::Failed { sql, .. }
            | PlanOutcome::Planned { sql, .. } => Some(sql),
        }
    }

    pub(super) fn is_never(&self) -> bool {
        self.never().is_some()
    }

    /// Why it is never allowed, if so.
    pub(super) fn never(&self) -> Option<&NeverReason> {
        match &self.outcome {
            PlanOutcome::Never { reason } => Some(reason),
            PlanOutcome::Refused { .. }
            | PlanOutcome::NoRows { .. }
            | PlanOutcome::Failed { .. }
            | PlanOutcome::Planned { .. } => None,
        }
    }

    /// Its line in the summary.
    pub(super) fn line(&self) -> String {
        let (cost, slow) = match &self.outcome {
            PlanOutcome::Never { .. } => ("-".to_owned(), "never".to_owned()),
            PlanOutcome::Refused { .. } => ("-".to_owned(), "refused".to_owned()),
            PlanOutcome::NoRows { .. } | PlanOutcome::Failed { .. } => ("-".to_owned(), "no plan".to_owned()),
            PlanOutcome::Planned { plan, .. } => {
                let cost = plan.steps.first().and_then(|step| step.cost);
                (cost.map_or_else(|| "-".to_owned(), counted), plan.all_slow().count().to_string())
            }
        };
        let because = self.never().map(|reason| format!(": {}", reason.of(&self.asked))).unwrap_or_default();
        format!("{cost:>12}  {slow:>10}  {}{because}", self.title())
    }

    pub(super) fn is_slow(&self) -> bool {
        self.plan().is_some_and(|plan| plan.all_slow().next().is_some())
    }

    pub(super) fn has_no_plan(&self) -> bool {
        match self.outcome {
            PlanOutcome::Refused { .. } | PlanOutcome::NoRows { .. } | PlanOutcome::Failed { .. } => true,
            PlanOutcome::Never { .. } | PlanOutcome::Planned { .. } => false,
        }
    }

    fn title(&self) -> String {
        let PermissionQuestion { form, actor, resource, .. } = &self.asked;
        let of_last = match form {
            _ if !self.is_last => String::new(),
            Form::Check | Form::List | Form::Actions => format!(", for {actor}:{}", self.actor),
            Form::Subjects => format!(", for {resource}:{}", self.resource),
        };
        format!("{}{of_last}", self.asked)
    }

    /// Whether the database answers it in other steps, or differs in what is slow about them.
    pub(super) fn has_another_plan(&self, other: &Self) -> bool {
        let steps = |explained: &Self| {
            let plan = explained.plan();
            plan.map(|plan| {
                plan.steps.iter().map(|step| (step.text.clone(), step.slow.len())).collect::<Vec<_>>()
            })
        };
        steps(self) != steps(other)
    }

    fn text(&self) -> String {
        let title = self.title();
        match &self.outcome {
            PlanOutcome::Never { reason } => {
                format!("== {title} ==\nnever allowed: {}", reason.of(&self.asked))
            }
            PlanOutcome::Refused { reason, .. } => format!("== {title} ==\nrefused: {reason}"),
            PlanOutcome::NoRows { sql, ty } => {
                format!("== {title} ==\n{sql}\n\nno plan: no bound query has ids of {ty}")
            }
            PlanOutcome::Failed { sql, reason, .. } => {
                format!("== {title} ==\n{sql}\n\nno plan: the database refuses it: {reason}")
            }
            PlanOutcome::Planned { sql, statement, plan } => {
                let around = match statement.strip_suffix(sql) {
                    Some(around) if !around.is_empty() => format!("{around}…\n"),
                    Some(_) | None => String::new(),
                };
                format!("== {title} ==\n{sql}\n\n{around}{}", plan.text())
            }
        }
    }

    fn json(&self) -> Value {
        let statement = match &self.outcome {
            PlanOutcome::Never { .. } | PlanOutcome::Refused { .. } | PlanOutcome::NoRows { .. } => None,
            PlanOutcome::Failed { statement, .. } | PlanOutcome::Planned { statement, .. } => Some(statement),
        };
        let form = self.asked.form;
        let failure = match &self.outcome {
            PlanOutcome::Never { .. } | PlanOutcome::NoRows { .. } | PlanOutcome::Planned { .. } => None,
            PlanOutcome::Refused { code, reason } => Some((code.as_str(), reason)),
            PlanOutcome::Failed { reason, .. } => Some(("database_error", reason)),
        };
        let never = self.never().map(|reason| reason.of(&self.asked));
        json!({
            "question": form.as_str(), "action": self.asked.action,
            "actor_type": self.asked.actor, "actor_id": (form != Form::Subjects).then_some(&self.actor),
            "resource_type": self.asked.resource, "resource_id": (form != Form::List).then_some(&self.resource),
            "is_never_allowed": self.is_never(), "never_because": never,
            "sql": self.sql(), "explained": statement, "code": failure.map(|(code, _)| code),
            "error": failure.map(|(_, reason)| reason), "plan": self.plan(),
        })
    }
}

impl DatabasePlan {
    /// The steps, one a line, with what is slow below each.
    fn text(&self) -> String {
        let mut text = String::new();
        let has_rows = self.steps.iter().any(|step| step.rows.is_some());
        let measured = self.steps.iter().any(|step| step.measured.is_some());
        if has_rows {
            text.push_str(if measured { MEASURED_TITLES } else { TITLES });
        }
        for step in &self.steps {
            let numbers = match (has_rows, step.measured) {
                (false, _) => String::new(),
                (true, None) if measured => format!("{}{:>12}  {:>12}  ", step.expected(), "-", "-"),
                (true, None) => step.expected(),
                (true, Some(Measured { rows, runs, milliseconds })) => {
                    format!("{}{:>12}  {milliseconds:>12.1}  ", step.expected(), counted(rows * runs))
                }
            };
            let indent = "  ".repeat(step.depth);
            let _ = writeln!(text, "{numbers}{indent}{}", step.text);
            let margin = format!("{}{indent}", " ".repeat(numbers.chars().count()));
            for condition in &step.conditions {
                let _ = writeln!(text, "{margin}    {condition}");
            }
            for slow in &step.slow {
                let _ = writeln!(text, "{margin}  ! {}", slow.what);
                slow.help.iter().for_each(|help| {
                    let _ = writeln!(text, "{margin}    help: {help}");
                });
            }
            if !step.rule_lines.is_empty() {
                let lines: Vec<String> = step.rule_lines.iter().map(ToString::to_string).collect();
                let _ = writeln!(
                    text,
                    "{margin}    rules that read this: {} {}",
                    if lines.len() == 1 { "line" } else { "lines" },
                    lines.join(", ")
                );
            }
        }
        for slow in &self.slow {
            let _ = writeln!(text, "! {}", slow.what);
            slow.help.iter().for_each(|help| {
                let _ = writeln!(text, "  help: {help}");
            });
        }
        if let Some(milliseconds) = self.milliseconds {
            let _ = writeln!(text, "it took {milliseconds:.1} ms");
        }
        text.trim_end().to_owned()
    }
}

const TITLES: &str = "        rows          cost  step\n";
const MEASURED_TITLES: &str = "        rows          cost     real rows      total ms  step\n";

impl Step {
    /// What the database expects.
    fn expected(&self) -> String {
        let shown = |n: Option<f64>| n.map_or_else(|| "-".to_owned(), counted);
        format!("{:>12}  {:>12}  ", shown(self.rows), shown(self.cost))
    }
}
