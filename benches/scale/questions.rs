//! Questions with their answers, drawn so that they go through every rule.
//!
//! In: a code host and a seed. Out: [`Question`]s, each with its truth. A user and an issue drawn at random
//! are rarely related, and a service is fast at saying no to strangers. So most questions
//! are drawn backwards from a reason: a grant, a membership, a ban, a creator ([`Reason`]). Which action is
//! asked is random all the same, and so about half of the answers are yes.

use crate::code_host::Entity;
use crate::code_host::listers::{LISTERS, Lister};
use crate::sample::{Reason, Sampler};
use crate::truth::Truth;
use portcullis::engine::Value;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// A question, and what is to be answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) actor: u32,
    pub(crate) ask: Ask,
    pub(crate) answer: Answer,
}

/// A question about an actor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ask {
    Authorize { action: &'static str, resource: Entity },
    Actions { resource: Entity },
    List { action: &'static str, ty: &'static str },
    AuthorizeResources { action: &'static str, resources: Vec<Entity> },
}

/// What the service says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Decision(bool),
    Texts(Vec<String>),
    Values(Vec<Value>),
}

/// How many questions of each reason were drawn, and how many of them are answered with yes.
pub(crate) type Mix = BTreeMap<Reason, (usize, usize)>;

/// Resources of one `authorize_resources`.
const RESOURCES: usize = 100;

/// Single decisions, and what they were drawn from.
pub(crate) fn decisions(sampler: &Sampler<'_>, seed: u64, count: usize) -> (Vec<Question>, Mix) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut mix = Mix::new();
    let questions = (0..count).map(|_| {
        let (reason, actor, issue) = sampler.draw(&mut random);
        let (action, resource) = match (reason, random.random_range(0..4)) {
            (Reason::Creator, _) => ("close", Entity::Issue(issue)),
            (_, 0) => {
                let action = ["read", "write", "manage"][random.random_range(0..3)];
                (action, Entity::Repository(sampler.host.issues[issue as usize]))
            }
            (_, _) => (["read", "comment", "close"][random.random_range(0..3)], Entity::Issue(issue)),
        };
        let allowed = sampler.truth.may(&sampler.truth.rights(actor), action, resource);
        let (asked, yes) = mix.entry(reason).or_default();
        (*asked, *yes) = (*asked + 1, *yes + usize::from(allowed));
        Question { actor, ask: Ask::Authorize { action, resource }, answer: Answer::Decision(allowed) }
    });
    let questions = questions.collect();
    assert_healthy(&mix, count);
    (questions, mix)
}

/// Half of the answers are yes, more or less, and every reason is what it claims to be.
fn assert_healthy(mix: &Mix, count: usize) {
    let yes: usize = mix.values().map(|(_, yes)| yes).sum();
    assert!(
        (count * 35 / 100..=count * 65 / 100).contains(&yes),
        "{yes} of {count} answers are yes: {mix:?}"
    );
    for reason in Reason::ALL {
        let (asked, yes) = mix.get(&reason).copied().unwrap_or_default();
        assert!(asked >= count / 50, "{asked} of {count} questions are about {reason:?}");
        match reason {
            Reason::Ban => assert!(yes * 3 < asked, "most bans are allowed: {mix:?}"),
            Reason::Stranger => assert!(yes * 2 < asked, "most strangers are allowed: {mix:?}"),
            Reason::Organization
            | Reason::Folder
            | Reason::DeepFolder
            | Reason::Group
            | Reason::NestedGroup
            | Reason::Repository
            | Reason::Public
            | Reason::Creator => assert!(yes * 4 > asked, "hardly any {reason:?} is allowed: {mix:?}"),
        }
    }
}

/// Which actions: half of them on repositories.
pub(crate) fn actions(sampler: &Sampler<'_>, seed: u64, count: usize) -> Vec<Question> {
    let mut random = StdRng::seed_from_u64(seed);
    let questions = (0..count).map(|number| {
        let (_, actor, issue) = sampler.draw(&mut random);
        let resource = if number % 2 == 0 {
            Entity::Issue(issue)
        } else {
            Entity::Repository(sampler.host.issues[issue as usize])
        };
        let answer = sampler.truth.actions(&sampler.truth.rights(actor), resource);
        Question { actor, ask: Ask::Actions { resource }, answer: Answer::Texts(answer) }
    });
    questions.collect()
}

/// Which of a hundred issues: half of them drawn for the actor's organization, half from everywhere.
pub(crate) fn resources(sampler: &Sampler<'_>, seed: u64, count: usize) -> Vec<Question> {
    let mut random = StdRng::seed_from_u64(seed);
    let questions = (0..count).map(|number| {
        let (_, actor, _) = sampler.draw(&mut random);
        let action = ["read", "comment", "close"][number % 3];
        let near = sampler.issues_near(actor, RESOURCES / 2, &mut random);
        let far = (0..RESOURCES - near.len()).map(|_| random.random_range(0..sampler.host.size.issues));
        let mut resources: Vec<Entity> = near.into_iter().chain(far).map(Entity::Issue).collect();
        resources.shuffle(&mut random);
        let rights = sampler.truth.rights(actor);
        let may = resources.iter().filter(|resource| sampler.truth.may(&rights, action, **resource));
        let answer = Answer::Values(may.map(|resource| value(*resource)).collect());
        Question { actor, ask: Ask::AuthorizeResources { action, resources }, answer }
    });
    questions.collect()
}

/// The lists of one kind of lister; none if this code host is too small for them.
fn lists(truth: &Truth<'_>, lister: Lister) -> Vec<Question> {
    let Lister { ty, n_ids, .. } = lister;
    let action = if ty == "Issue" { "close" } else { "write" };
    let questions = lister.users().map(|actor| {
        let ids = truth.list(&truth.rights(actor), action, ty);
        (ids.len(), Question { actor, ask: Ask::List { action, ty }, answer: Answer::Texts(ids) })
    });
    let (lengths, questions): (Vec<usize>, Vec<Question>) = questions.unzip();
    // Ten ids are few: how many issues two repositories have differs.
    let least = if n_ids < 100 { 2 } else { n_ids as usize * 9 / 10 };
    if lengths.iter().all(|length| (least..=n_ids as usize * 3).contains(length)) {
        questions
    } else {
        Vec::new()
    }
}

/// All kinds of lists that there are here, with what they are and how many ids each has.
pub(crate) fn all_lists(truth: &Truth<'_>) -> Vec<(String, u32, Vec<Question>)> {
    let asked = LISTERS.map(|lister| {
        let things = if lister.ty == "Issue" { "issues" } else { "repositories" };
        let name = match lister.n_ids {
            few @ ..1_000 => format!("list of {few} {things}"),
            many @ 1_000.. => format!("list of {},000 {things}", many / 1_000),
        };
        (name, lister.n_ids, lists(truth, lister))
    });
    asked.into_iter().filter(|(_, _, questions)| !questions.is_empty()).collect()
}

impl Question {
    /// Where it is sent, and what.
    pub(crate) fn request(&self) -> (&'static str, Json) {
        let mut body = json!({ "actor_type": "User", "actor_id": Entity::User(self.actor).id() });
        let (path, more) = match &self.ask {
            Ask::Authorize { action, resource } => {
                let resource = value(*resource);
                (
                    "/authorize",
                    json!({ "action": action, "resource_type": resource.ty, "resource_id": resource.id }),
                )
            }
            Ask::Actions { resource } => {
                let resource = value(*resource);
                ("/actions", json!({ "resource_type": resource.ty, "resource_id": resource.id }))
            }
            Ask::List { action, ty } => ("/list", json!({ "action": action, "resource_type": ty })),
            Ask::AuthorizeResources { action, resources } => {
                let resources = resources.iter().map(|resource| wire(&value(*resource)));
                (
                    "/authorize_resources",
                    json!({ "action": action, "resources": resources.collect::<Json>() }),
                )
            }
        };
        if let (Json::Object(body), Json::Object(more)) = (&mut body, more) {
            body.extend(more);
        }
        (path, body)
    }
}

impl Answer {
    /// As the service sends it.
    pub(crate) fn json(&self) -> Json {
        match self {
            Self::Decision(allowed) => json!({ "allowed": allowed }),
            Self::Texts(texts) => json!({ "results": texts }),
            Self::Values(values) => json!({ "results": values.iter().map(wire).collect::<Json>() }),
        }
    }
}

/// An entity as the engine names it.
pub(crate) fn value(entity: Entity) -> Value {
    Value::new(entity.ty(), &entity.id())
}

fn wire(value: &Value) -> Json {
    json!({ "type": value.ty, "id": value.id })
}
