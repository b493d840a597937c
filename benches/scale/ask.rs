//! Asks over HTTP and in the engine, and compares every answer with the truth.
//!
//! Only the way there and back is timed: bodies are made before, answers are compared after. An answer is
//! first compared byte by byte, and only if it is spelled differently as JSON, so that clients cost little. A
//! wrong answer ends the run, with the question.

use crate::code_host::Entity;
use crate::code_host::http::Client;
use crate::questions::{Answer, Ask, Question, value};
use crate::times::Times;
use portcullis::engine::Engine;
use serde_json::Value as Json;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// A question ready to be sent.
#[derive(Debug)]
pub(crate) struct Request<'q> {
    question: &'q Question,
    path: &'static str,
    body: String,
    answer: String,
}

impl<'q> Request<'q> {
    /// All questions, ready.
    pub(crate) fn all(questions: &'q [Question]) -> Vec<Self> {
        let ready = |question: &'q Question| {
            let (path, body) = question.request();
            Self { question, path, body: body.to_string(), answer: question.answer.json().to_string() }
        };
        questions.iter().map(ready).collect()
    }

    /// Sends it; returns how long that took.
    pub(crate) fn send(&self, client: &mut Client) -> Duration {
        let start = Instant::now();
        let answer = client.post(self.path, &self.body);
        let took = start.elapsed();
        if answer != self.answer.as_bytes() {
            let given: Json = serde_json::from_slice(answer).unwrap();
            if given != self.question.answer.json() {
                wrong(self.question, &given);
            }
        }
        took
    }
}

/// One client, `rounds` rounds through the questions after one that does not count.
pub(crate) fn one_client(address: SocketAddr, questions: &[Question], rounds: usize) -> Times {
    let mut client = Client::new(address);
    let requests = Request::all(questions);
    for request in requests.iter().take(WARM) {
        request.send(&mut client);
    }
    Times::of((0..rounds).flat_map(|_| &requests).map(|request| request.send(&mut client)).collect())
}

/// Decisions with their explanations, one client: yes and no, and of how many the explanation was cut.
pub(crate) fn explained(address: SocketAddr, questions: &[Question]) -> [(String, Times); 2] {
    let mut client = Client::new(address);
    let mut times: [Vec<Duration>; 2] = Default::default();
    let mut n_cut = 0;
    for (number, question) in questions.iter().enumerate() {
        let (_, body) = question.request();
        let body = body.to_string();
        let start = Instant::now();
        let answer = client.post("/explain", &body);
        let took = start.elapsed();
        let answer: Json = serde_json::from_slice(answer).unwrap();
        let Answer::Decision(allowed) = question.answer else { continue };
        let (is_cut, is_proved) =
            (answer["truncated"] == true, !answer["proof"].as_array().unwrap().is_empty());
        if answer["allowed"] != allowed || (is_proved != allowed && !is_cut) {
            wrong(question, &answer);
        }
        n_cut += usize::from(is_cut);
        if number >= WARM {
            times[usize::from(allowed)].push(took);
        }
    }
    let [no, yes] = times.map(Times::of);
    eprintln!("          {n_cut} of {} explanations are cut", questions.len());
    [("explain a yes, HTTP".to_owned(), yes), ("explain a no, HTTP".to_owned(), no)]
}

/// Several clients, each with questions of its own until it has sent `each` of them.
pub(crate) fn clients(address: SocketAddr, questions: &[Question], n_clients: usize, each: usize) -> Times {
    let requests = &Request::all(questions);
    let start = Instant::now();
    let times = std::thread::scope(|scope| {
        let client = |number: usize| {
            scope.spawn(move || {
                let mut client = Client::new(address);
                let mine = requests.iter().cycle().skip(number * requests.len() / n_clients).take(each);
                mine.map(|request| request.send(&mut client)).collect::<Vec<_>>()
            })
        };
        let asking: Vec<_> = (0..n_clients).map(client).collect();
        asking.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    Times::during(times, start.elapsed())
}

/// The engine without HTTP, `rounds` rounds through the questions after one that does not count.
pub(crate) async fn engine(engine: &Engine, questions: &[Question], rounds: usize) -> Times {
    for question in questions.iter().take(WARM) {
        in_engine(engine, question).await;
    }
    let mut times = Vec::with_capacity(questions.len() * rounds);
    for _ in 0..rounds {
        for question in questions {
            times.push(in_engine(engine, question).await);
        }
    }
    Times::of(times)
}

/// So many questions come before those that count.
const WARM: usize = 2_000;

/// Asks the engine; returns how long that took.
pub(crate) async fn in_engine(engine: &Engine, question: &Question) -> Duration {
    let actor = value(Entity::User(question.actor));
    let (took, answer) = match &question.ask {
        Ask::Authorize { action, resource } => {
            let (action, resource) = ((*action).to_owned(), value(*resource));
            let start = Instant::now();
            let answer = engine.authorize(actor, action, resource, Vec::new()).await.unwrap();
            (start.elapsed(), Answer::Decision(answer))
        }
        Ask::Actions { resource } => {
            let resource = value(*resource);
            let start = Instant::now();
            let answer = engine.actions(actor, resource, Vec::new()).await.unwrap();
            (start.elapsed(), Answer::Texts(answer))
        }
        Ask::List { action, ty } => {
            let (action, ty) = ((*action).to_owned(), (*ty).to_owned());
            let start = Instant::now();
            let answer = engine.list(actor, action, ty, None, Vec::new()).await.unwrap();
            (start.elapsed(), Answer::Texts(answer.ids))
        }
        Ask::AuthorizeResources { action, resources } => {
            let action = (*action).to_owned();
            let resources = resources.iter().map(|resource| value(*resource)).collect();
            let start = Instant::now();
            let answer = engine.authorize_resources(actor, action, resources, Vec::new()).await.unwrap();
            (start.elapsed(), Answer::Values(answer))
        }
    };
    if answer != question.answer {
        wrong(question, &answer.json());
    }
    took
}

fn wrong(question: &Question, given: &Json) -> ! {
    let (path, body) = question.request();
    panic!("wrong answer\n  asked: {path} {body}\n  given: {given}\n  truth: {}", question.answer.json())
}
