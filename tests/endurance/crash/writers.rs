//! Writers that know what must be stored after each of their steps.
//!
//! A writer takes one step after the other, each a request, and waits for the answer before the next. So
//! after a kill the service holds what its acknowledged steps made, or one step more. Ids are numbers, UUIDs
//! and texts in turn, which the store keeps in different forms.

use portcullis_testkit::program::Caller;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Facts of one batch.
const PARTS: usize = 24;

/// Batches of a writer that stay; each batch takes an older one away.
const KEPT: usize = 12;

/// The policy's text, of a size that needs more than a page of the store.
pub(crate) fn policy(revision: usize) -> String {
    let mut text = String::from(
        "actor Writer {}\nresource Batch {}\nresource Part {}\n\
         declare part(Batch, Part);\ndeclare mark(Writer, Batch);\n",
    );
    for line in 0..200 {
        writeln!(text, "# line {line} of revision {revision}, which is here whole or not at all").unwrap();
    }
    text
}

/// The revision of a stored policy, which must be whole.
fn revision(stored: &Json) -> Option<usize> {
    let src = stored["policy"]["src"].as_str()?;
    let number = src.rsplit_once("of revision ").and_then(|(_, rest)| rest.split(',').next());
    let number: usize = number.unwrap().parse().unwrap();
    assert_eq!(src, policy(number), "a policy is stored as it was sent");
    Some(number)
}

/// What one writer writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Batches of inserts and deletes, by fact and by pattern.
    Batches,
    /// Revisions of the policy.
    Policies,
    /// In turns a policy, a batch, and the removal of everything; alone in its environment.
    Everything,
}

/// One writer.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) key: String,
    /// Steps that were acknowledged, or found after a kill.
    pub(crate) done: usize,
}

/// What an environment holds.
#[derive(Debug)]
pub(crate) struct Held {
    policy: Option<usize>,
    versions: usize,
    total: usize,
    facts: BTreeSet<String>,
}

fn value(ty: &str, id: &str) -> Json {
    json!({ "type": ty, "id": id })
}

fn part(batch: &str, n: usize) -> Json {
    let id = match n % 4 {
        0 => format!("{n:03}"),
        1 => n.to_string(),
        2 => format!("00000000-0000-0000-0000-{n:012x}"),
        _ => format!("part {n}"),
    };
    json!({ "predicate": "part", "args": [value("Batch", batch), value("Part", &id)] })
}

/// A fact as one text.
fn shown(fact: &Json) -> String {
    let ids = fact["args"].as_array().unwrap().iter().map(|arg| arg["id"].as_str().unwrap());
    format!("{}({})", fact["predicate"].as_str().unwrap(), ids.collect::<Vec<_>>().join(","))
}

/// What an environment holds now.
pub(crate) fn held(caller: &Caller, key: &str) -> Held {
    let (status, policy) = caller.get(key, "policy");
    assert_eq!(status, 200, "{policy}");
    let (status, facts) = caller.get(key, "facts");
    assert_eq!(status, 200, "{facts}");
    let (status, stats) = caller.get(key, "stats");
    assert_eq!(status, 200, "{stats}");
    let facts = facts.as_array().unwrap().iter().map(shown).collect::<BTreeSet<_>>();
    let total = stats["facts"]["total"].as_u64().unwrap().try_into().unwrap();
    assert_eq!(facts.len(), total, "the counters agree with the facts");
    let versions = stats["policy"]["versions"].as_array().unwrap().len();
    Held { policy: revision(&policy), versions, total, facts }
}

impl Writer {
    /// What the ids of its batches begin with: a text, a number, a UUID.
    fn prefixes(&self) -> [String; 3] {
        let number = 1_000 + self.name.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte)) % 9_000;
        [format!("{}-", self.name), number.to_string(), format!("{number:08x}-0000-4000-8000-")]
    }

    fn batch_name(&self, n: usize) -> String {
        let [text, number, uuid] = self.prefixes();
        match n % 3 {
            0 => format!("{text}{n:07}"),
            1 => format!("{number}{n:07}"),
            _ => format!("{uuid}{n:012x}"),
        }
    }

    /// The path and the body of step `n`.
    fn step(&self, n: usize) -> (&'static str, Json) {
        match (self.kind, n % 3) {
            (Kind::Policies, _) | (Kind::Everything, 0) => ("policy", json!({ "src": policy(n) })),
            (Kind::Everything, 2) => ("clear_data", json!({})),
            (Kind::Batches | Kind::Everything, _) => ("batch", self.batch(n)),
        }
    }

    /// Facts that stay for a while, one mark, and the removal of the former mark and of an older batch.
    fn batch(&self, n: usize) -> Json {
        let name = self.batch_name(n);
        let mark = |batch: &str| json!({ "predicate": "mark", "args": [value("Writer", &self.name), value("Batch", batch)] });
        let parts = |range: std::ops::Range<usize>| range.map(|k| part(&name, k)).collect::<Vec<_>>();
        let mut deletes = Vec::new();
        if let Some(former) = n.checked_sub(1) {
            deletes.push(mark(&self.batch_name(former)));
        }
        if let Some(old) = n.checked_sub(KEPT) {
            deletes
                .push(json!({ "predicate": "part", "args": [value("Batch", &self.batch_name(old)), null] }));
        }
        json!([
            { "inserts": parts(0..PARTS / 2) },
            { "deletes": deletes },
            { "inserts": [mark(&name)] },
            { "inserts": parts(PARTS / 2..PARTS) },
        ])
    }

    /// The facts after `n` batches.
    fn facts(&self, n: usize) -> BTreeSet<String> {
        let mut facts = BTreeSet::new();
        for batch in n.saturating_sub(KEPT)..n {
            let name = self.batch_name(batch);
            facts.extend((0..PARTS).map(|k| shown(&part(&name, k))));
            if batch + 1 == n {
                facts.insert(format!("mark({},{name})", self.name));
            }
        }
        facts
    }

    /// Whether an environment holds what `n` steps make.
    fn fits(&self, n: usize, held: &Held) -> bool {
        let mut starts = self.prefixes().map(|prefix| format!("({prefix}")).to_vec();
        starts.push(format!("({},", self.name));
        let own = |fact: &&String| starts.iter().any(|start| fact.contains(start));
        match self.kind {
            Kind::Batches => held.facts.iter().filter(own).cloned().collect::<BTreeSet<_>>() == self.facts(n),
            Kind::Policies => held.policy == n.checked_sub(1) && held.versions == n,
            Kind::Everything => {
                let policy = (!n.is_multiple_of(3)).then(|| n - n % 3);
                let batch = (n % 3 == 2).then(|| n - 1);
                let parts = batch.map(|n| {
                    let name = self.batch_name(n);
                    let parts = (0..PARTS).map(|k| shown(&part(&name, k)));
                    parts.chain([format!("mark({},{name})", self.name)]).collect::<BTreeSet<_>>()
                });
                held.policy == policy && held.facts == parts.unwrap_or_default()
            }
        }
    }

    /// After a kill: the acknowledged steps are there, or one more; then it goes on from what is there.
    pub(crate) fn settle(&mut self, held: &Held) {
        let found = [self.done, self.done + 1].into_iter().find(|n| self.fits(*n, held));
        self.done = found.unwrap_or_else(|| {
            panic!("neither {} nor {} steps of {self:?} make this: {held:#?}", self.done, self.done + 1)
        });
    }

    /// Whether an environment holds what its steps made, and nothing more of it.
    pub(crate) fn is_in(&self, held: &Held) -> bool {
        self.fits(self.done, held)
    }

    /// Takes the next step, and counts it if it is acknowledged.
    pub(crate) fn try_step(&mut self, caller: &Caller) -> Result<(u16, Json), ureq::Error> {
        let (path, body) = self.step(self.done);
        let answered = caller.try_post(&self.key, path, &body)?;
        self.done += usize::from(answered.0 == 200);
        Ok(answered)
    }

    /// Takes the next step; whether it was acknowledged. The service may break off or be on its way out.
    pub(crate) fn advance(&mut self, caller: &Caller, is_ending: impl Fn() -> bool) -> bool {
        match self.try_step(caller) {
            Ok((200, _)) => true,
            Ok((503, _)) | Err(_) if is_ending() => false,
            other => panic!("step {} of {}: {other:?}", self.done, self.name),
        }
    }
}

/// How many facts these writers of one environment have stored.
pub(crate) fn total(writers: &[&Writer]) -> usize {
    writers
        .iter()
        .filter(|writer| writer.kind == Kind::Batches)
        .map(|writer| writer.facts(writer.done).len())
        .sum()
}

impl Held {
    /// No writer's fact is missing, and there is none that is no writer's.
    pub(crate) fn is_all_of(&self, writers: &[&Writer]) {
        assert_eq!(self.total, total(writers), "every fact belongs to a writer: {self:#?}");
    }
}
