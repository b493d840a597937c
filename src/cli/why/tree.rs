//! An explanation as a tree for people.
//!
//! ```text
//! yes: allow(User:ada, "read", Doc:plan)
//! line numbers refer to policy.polar
//!
//! allow(User:ada, "read", Doc:plan)
//! └─ has_permission(User:ada, "read", Doc:plan)  line 4: "read" if "reader" on "folder";
//!    ├─ has_relation(Doc:plan, "folder", Folder:a)  stored
//!    └─ has_role(User:ada, "reader", Folder:a)  stored
//! ```
//!
//! Steps and goals refer to each other, in circles too: each is drawn once, and named where it is needed
//! again. The tree is walked without recursion, because a proof may be as deep as a hierarchy.

use crate::cli::shown::{printable_name, shortened};
use crate::engine::ANY;
use crate::http::{AtomOut, AttemptOut, ConditionOut, EffectsOut, LackOut, RuleOut, SourceOut, WhyOut};
use portcullis_compiler::why::{Arg, Atom};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How many lines are drawn.
const LINES: usize = 500;

/// How much is shown of the text of a rule or of the key of a binding.
const TEXT: usize = 100;

/// How many actions that a suggestion would change are named.
const ACTIONS: usize = 12;

/// A line of the tree.
#[derive(Clone, Copy)]
enum Item<'w> {
    /// A step of a proof.
    Step(usize),
    /// A condition that holds, below the rule that has it.
    Condition(&'w ConditionOut),
    /// The same, in an attempt that fails later.
    Met(&'w ConditionOut),
    /// A goal that does not hold.
    Goal(usize),
    /// A rule that does not apply.
    Attempt(&'w AttemptOut),
    /// What it lacks.
    Lack(&'w LackOut),
    /// A goal could be a fact.
    NoFact,
    /// There is no rule for a goal.
    NoRule,
    /// Further attempts.
    Others(usize),
}

/// How a part of a line is shown on a terminal.
#[derive(Clone, Copy)]
enum Tone {
    Good,
    Bad,
    Quiet,
}

/// The explanation of a question.
pub(super) fn text(question: &str, why: &WhyOut, colours: bool) -> String {
    let tree = Tree { why, colours };
    let answer = if why.allowed { tree.toned(Tone::Good, "yes") } else { tree.toned(Tone::Bad, "no") };
    let mut text = format!("{answer}: {question}\n");
    if let Some(file) = &why.policy {
        let said = format!("line numbers refer to {}", printable_name(file));
        let _ = writeln!(text, "{}", tree.toned(Tone::Quiet, &said));
    }
    text.push('\n');
    let roots: Vec<Item<'_>> = if why.proof.is_empty() {
        why.failures.first().map(|_| Item::Goal(0)).into_iter().collect()
    } else {
        why.proof.iter().map(|step| Item::Step(*step)).collect()
    };
    tree.draw(roots, &mut text);
    if why.truncated && why.proof.is_empty() && why.failures.is_empty() {
        text.push_str(
            "The search for reasons ended at its limit and found none. The answer itself is certain.\n",
        );
    } else if why.truncated {
        text.push_str("\nThe explanation ended at its limit: there may be more reasons, and shorter ones.\n");
    }
    if !why.suggestions.is_empty() {
        text.push_str("\nThe answer would be yes with any of\n");
    }
    for (at, suggestion) in why.suggestions.iter().enumerate() {
        let facts: Vec<String> = suggestion.iter().map(shown).collect();
        let _ = writeln!(text, "  {}", facts.join(" and "));
        if let Some(Some(EffectsOut { allows, denies })) = why.suggestion_effects.get(at) {
            for (verb, actions) in [("allow", allows), ("deny", denies)] {
                if let Some(actions) = listed(actions) {
                    let line = format!("    which would also {verb} {actions}");
                    let _ = writeln!(text, "{}", tree.toned(Tone::Quiet, &line));
                }
            }
        }
    }
    if why.suggestions_truncated && why.suggestions.is_empty() {
        text.push_str("\nThe search for facts that would change the answer ended at its limit.\n");
    } else if why.suggestions_truncated {
        text.push_str("  There may be more: the search ended at its limit.\n");
    } else if !why.allowed && why.suggestions.is_empty() && why.policy_version.is_some() {
        text.push_str("\nThe search found no facts to add that would change the answer: it tries sets of up to three facts with known values.\n");
    }
    text
}

/// Some of the actions, in quotes; `None` if there are none.
fn listed(actions: &[String]) -> Option<String> {
    let shown =
        |action: &String| if action == ANY { "every action".to_owned() } else { format!("{action:?}") };
    let first: Vec<String> = actions.iter().take(ACTIONS).map(shown).collect();
    let n_others = actions.len().saturating_sub(ACTIONS);
    let others = if n_others == 0 { String::new() } else { format!(" and {n_others} others") };
    (!first.is_empty()).then(|| format!("{}{others}", first.join(", ")))
}

struct Tree<'w> {
    why: &'w WhyOut,
    colours: bool,
}

impl<'w> Tree<'w> {
    fn draw(&self, roots: Vec<Item<'w>>, text: &mut String) {
        let mut drawn: BTreeSet<(bool, usize)> = BTreeSet::new();
        // Each with the text before its line, and before those below it.
        let mut open: Vec<(Item<'w>, String, String)> =
            roots.into_iter().rev().map(|root| (root, String::new(), String::new())).collect();
        let mut n_lines = 0;
        while let Some((item, lead, below)) = open.pop() {
            if n_lines == LINES {
                text.push_str("… and more: --json shows everything\n");
                return;
            }
            n_lines += 1;
            let mut children = self.children(item);
            let is_drawn = place(item).is_some_and(|shown| !drawn.insert(shown));
            let mut again = String::new();
            if is_drawn && !children.is_empty() {
                again = self.toned(Tone::Quiet, "  (as above)");
                children.clear();
            }
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{lead}{}{again}", self.label(item));
            let last = children.len().saturating_sub(1);
            for (at, child) in children.into_iter().enumerate().rev() {
                let (tee, bar) = if at == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
                open.push((child, format!("{below}{tee}"), format!("{below}{bar}")));
            }
        }
    }

    fn children(&self, item: Item<'w>) -> Vec<Item<'w>> {
        match (item, place(item)) {
            (Item::Attempt(attempt), _) => {
                attempt.met.iter().map(Item::Met).chain([Item::Lack(&attempt.lacks)]).collect()
            }
            (_, Some((true, step))) => {
                let step = self.why.steps.get(step);
                step.map_or_else(Vec::new, |step| step.conditions.iter().map(Item::Condition).collect())
            }
            (_, Some((false, goal))) => {
                let Some(goal) = self.why.failures.get(goal) else { return Vec::new() };
                let no_fact = goal.may_be_fact.then_some(Item::NoFact);
                let is_bare = no_fact.is_none() && goal.attempts.is_empty();
                let no_rule = (is_bare && !self.why.truncated).then_some(Item::NoRule);
                let others = (goal.n_others > 0).then_some(Item::Others(goal.n_others));
                let attempts = goal.attempts.iter().map(Item::Attempt);
                no_fact.into_iter().chain(no_rule).chain(attempts).chain(others).collect()
            }
            (_, None) => Vec::new(),
        }
    }

    fn label(&self, item: Item<'w>) -> String {
        match item {
            Item::Step(step) => self.step(step),
            Item::Condition(condition) => self.condition(condition),
            Item::Met(condition) => {
                format!("{} {}", self.toned(Tone::Good, "✓"), self.condition(condition))
            }
            Item::Goal(goal) => self.goal(goal),
            Item::Attempt(attempt) => match &attempt.rule {
                Some(rule) => self.toned(Tone::Quiet, &rule_text(rule)),
                None => "the question".to_owned(),
            },
            Item::Lack(lack) => {
                let cross = self.toned(Tone::Bad, "✗");
                match lack {
                    LackOut::Fact(atom) => format!("{cross} {}  no such fact", shown(atom)),
                    LackOut::Goal(goal) => format!("{cross} {}", self.goal(*goal)),
                    LackOut::Refuted(step) => format!("{cross} must not hold: {}", self.step(*step)),
                    LackOut::Test(test) => format!("{cross} {test}"),
                }
            }
            Item::NoFact => "no such fact".to_owned(),
            Item::NoRule => "no rule of the policy can grant this".to_owned(),
            Item::Others(n) => format!("and {n} more like these"),
        }
    }

    fn goal(&self, goal: usize) -> String {
        let goal = self.why.failures.get(goal).and_then(|goal| goal.goal.as_ref());
        goal.map_or_else(|| "all of it".to_owned(), shown)
    }

    fn step(&self, step: usize) -> String {
        let Some(step) = self.why.steps.get(step) else { return String::new() };
        let by = match (&step.rule, step.source) {
            (Some(rule), _) => rule_text(rule),
            (None, Some(SourceOut::Stored)) => "stored".to_owned(),
            (None, Some(SourceOut::Context)) => "of the request".to_owned(),
            (None, Some(SourceOut::Bound)) => {
                let binding = step.binding.as_deref().unwrap_or_default();
                format!("your database: {}", shortened(binding, TEXT))
            }
            (None, None) => String::new(),
        };
        let every = every(&step.fact).map(|every| self.toned(Tone::Quiet, &format!(" ({every})")));
        format!("{}{}  {}", shown(&step.fact), every.unwrap_or_default(), self.toned(Tone::Quiet, &by))
    }

    fn condition(&self, condition: &ConditionOut) -> String {
        match condition {
            ConditionOut::Step(step) => self.step(*step),
            ConditionOut::Holds(atom) => shown(atom),
            ConditionOut::Absent(atom) => format!("not {}", shown(atom)),
            ConditionOut::Test(test) => test.clone(),
        }
    }

    fn toned(&self, tone: Tone, text: &str) -> String {
        if !self.colours {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Quiet => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// The step, with `true`, or the goal that an item shows.
fn place(item: Item<'_>) -> Option<(bool, usize)> {
    match item {
        Item::Step(step) => Some((true, step)),
        Item::Condition(ConditionOut::Step(step)) | Item::Lack(LackOut::Refuted(step)) => Some((true, *step)),
        Item::Goal(goal) => Some((false, goal)),
        Item::Lack(LackOut::Goal(goal)) => Some((false, *goal)),
        Item::Condition(_)
        | Item::Met(_)
        | Item::Attempt(_)
        | Item::Lack(LackOut::Fact(_) | LackOut::Test(_))
        | Item::NoFact
        | Item::NoRule
        | Item::Others(_) => None,
    }
}

/// The line and the beginning of a rule.
fn rule_text(rule: &RuleOut) -> String {
    let text = shortened(&rule.text, TEXT);
    match rule.line {
        Some(line) => format!("line {line}: {text}"),
        None => format!("implied rule: {text}"),
    }
}

/// The wildcards of what holds, in words.
fn every(atom: &AtomOut) -> Option<String> {
    let of_type = |ty: &Option<String>| format!("every {}", ty.as_deref().unwrap_or("value"));
    let wildcards = atom.args.iter().filter(|arg| arg.id.is_none());
    let mut words: Vec<String> = wildcards.map(|arg| of_type(&arg.ty)).collect();
    words.dedup();
    (!words.is_empty()).then(|| words.join(", "))
}

/// In the notation of questions.
fn shown(atom: &AtomOut) -> String {
    let arg = |arg: &crate::http::ArgOut| Arg { ty: arg.ty.clone(), id: arg.id.clone() };
    Atom { predicate: atom.predicate.clone(), args: atom.args.iter().map(arg).collect() }.to_string()
}
