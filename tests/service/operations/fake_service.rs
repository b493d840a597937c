//! A fake service that refuses on request and remembers the facts of each batch that it took.

use super::program::POLICY;
use crate::received;
use serde_json::{Value as Json, json};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What is done with a batch.
#[derive(Clone, Copy)]
pub(crate) enum Mood {
    /// It is taken.
    Take,
    /// It is taken, and the connection breaks before the answer.
    TakeAndBreak,
    /// An error with this status, to be repeated at once.
    Wait(u16),
}

/// The fake service; its thread ends with the process.
#[derive(Clone)]
pub(crate) struct FakeService {
    pub(crate) url: String,
    /// The facts of every batch that was taken.
    taken: Arc<Mutex<Vec<Vec<Json>>>>,
    /// What to do with the batches to come; then all are taken.
    moods: Arc<Mutex<Vec<Mood>>>,
    /// Every batch with this fact is refused.
    refused: Arc<Mutex<Option<Json>>>,
}

impl FakeService {
    pub(crate) fn start(moods: &[Mood]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let taken = Arc::new(Mutex::new(Vec::new()));
        let (moods, refused) = (Arc::new(Mutex::new(moods.to_vec())), Arc::default());
        let started = Self { url, taken, moods, refused };
        let service = started.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                service.answer(stream.unwrap());
            }
        });
        started
    }

    /// The facts of every batch that was taken since the last look.
    pub(crate) fn taken(&self) -> Vec<Vec<Json>> {
        std::mem::take(&mut self.taken.lock().unwrap())
    }

    /// Refuses every batch with this fact from now on.
    pub(crate) fn refuse(&self, fact: Option<&Json>) {
        *self.refused.lock().unwrap() = fact.cloned();
    }

    fn answer(&self, mut stream: TcpStream) {
        let (first, body) = received::request(&stream);
        let mut status = 200;
        let mut answer = json!({ "policy": { "filename": "p", "src": POLICY } });
        if first.starts_with("POST") {
            let mut moods = self.moods.lock().unwrap();
            let mood = if moods.is_empty() { Mood::Take } else { moods.remove(0) };
            answer = json!({ "message": "as told" });
            let body: Json = serde_json::from_slice(&body).unwrap();
            let facts = body[0]["inserts"].as_array().unwrap();
            let is_refused = self.refused.lock().unwrap().as_ref().is_some_and(|fact| facts.contains(fact));
            let take = || self.taken.lock().unwrap().push(facts.clone());
            match mood {
                _ if is_refused => status = 500,
                Mood::Take => take(),
                Mood::TakeAndBreak => return take(),
                Mood::Wait(told) => status = told,
            }
        }
        let answer = answer.to_string();
        let head = format!(
            "HTTP/1.1 {status} X\r\nRetry-After: 0\r\nConnection: close\r\nContent-Type: application/json"
        );
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{answer}", answer.len()).unwrap();
    }
}
