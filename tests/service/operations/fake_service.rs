//! A fake service that refuses on request and remembers the facts of each batch that it took.

use super::program::POLICY;
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Read, Write};
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
    /// An error with this status.
    Fail(u16),
}

/// The fake service; its thread ends with the process.
pub(crate) struct FakeService {
    pub(crate) url: String,
    /// The facts of every batch that was taken.
    taken: Arc<Mutex<Vec<Vec<Json>>>>,
    /// What to do with the batches to come; then all are taken.
    moods: Arc<Mutex<Vec<Mood>>>,
}

impl FakeService {
    pub(crate) fn start(moods: &[Mood]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let taken = Arc::new(Mutex::new(Vec::new()));
        let moods = Arc::new(Mutex::new(moods.to_vec()));
        let started = Self { url, taken: Arc::clone(&taken), moods: Arc::clone(&moods) };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &taken, &moods);
            }
        });
        started
    }

    /// The facts of every batch that was taken since the last look.
    pub(crate) fn taken(&self) -> Vec<Vec<Json>> {
        std::mem::take(&mut self.taken.lock().unwrap())
    }

    /// What to do with the batches to come.
    pub(crate) fn set(&self, moods: &[Mood]) {
        *self.moods.lock().unwrap() = moods.to_vec();
    }
}

fn answer(mut stream: TcpStream, taken: &Mutex<Vec<Vec<Json>>>, moods: &Mutex<Vec<Mood>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut status = 200;
    let mut answer = json!({ "policy": { "filename": "p", "src": POLICY } });
    if first.starts_with("POST") {
        let mut moods = moods.lock().unwrap();
        let mood = if moods.is_empty() { Mood::Take } else { moods.remove(0) };
        answer = json!({ "message": "as told" });
        let take = || {
            let body: Json = serde_json::from_slice(&body).unwrap();
            taken.lock().unwrap().push(body[0]["inserts"].as_array().unwrap().clone());
        };
        match mood {
            Mood::Take => take(),
            Mood::TakeAndBreak => return take(),
            Mood::Wait(told) | Mood::Fail(told) => status = told,
        }
    }
    let answer = answer.to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\nRetry-After: 0\r\nConnection: close\r\nContent-Type: application/json"
    );
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{answer}", answer.len()).unwrap();
}
