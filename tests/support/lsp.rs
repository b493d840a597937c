//! An editor that speaks with the language server: a process, and messages on its standard input and output.

use super::program::portcullis;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use tempfile::TempDir;

/// The policy that is open.
pub const URI: &str = "file:///policies/app.polar";

/// An editor with a session.
pub struct Editor {
    /// The server.
    pub process: Child,
    /// Its standard input, until it is closed.
    pub input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: u64,
    /// Notifications that came before a response.
    pub notifications: Vec<Value>,
    _folder: TempDir,
}

impl Editor {
    /// An editor to which diagnostics are pushed.
    pub fn start() -> Self {
        Self::start_with(&["--stdio"], &json!({}))
    }

    /// An editor with these capabilities, and a server with these arguments.
    pub fn start_with(args: &[&str], capabilities: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut process = portcullis(folder.path())
            .arg("lsp")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut editor =
            Self { process, input, output, requests: 0, notifications: Vec::new(), _folder: folder };
        let server = editor
            .ask("initialize", &json!({ "processId": null, "rootUri": null, "capabilities": capabilities }));
        assert_eq!(server["serverInfo"]["name"], "portcullis");
        editor.notify("initialized", &json!({}));
        editor
    }

    fn write(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input.as_mut().unwrap(), "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
    }

    /// The next message of the server.
    pub fn read(&mut self) -> Value {
        let mut length = None;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server has ended");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", bytes)) => length = bytes.parse().ok(),
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length.unwrap()];
        self.output.read_exact(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// Sends what has no response.
    pub fn notify(&mut self, method: &str, params: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request, and waits for the whole response.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params }));
        let mut response = self.read();
        while response.get("id").is_none() {
            self.notifications.push(response);
            response = self.read();
        }
        assert_eq!(response["id"], self.requests);
        response
    }

    /// The result of a request that succeeds.
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let response = self.request(method, params);
        assert!(response.get("error").is_none(), "{response}");
        response["result"].clone()
    }

    /// Opens the policy, and returns its findings.
    pub fn open(&mut self, text: &str) -> Vec<Value> {
        let document = json!({ "uri": URI, "languageId": "polar", "version": 1, "text": text });
        self.notify("textDocument/didOpen", &json!({ "textDocument": document }));
        self.findings()
    }

    /// The findings that the server sends next.
    pub fn findings(&mut self) -> Vec<Value> {
        let sent = self.read();
        assert_eq!(sent["method"], "textDocument/publishDiagnostics");
        assert_eq!(sent["params"]["uri"], URI);
        sent["params"]["diagnostics"].as_array().unwrap().clone()
    }

    /// Ends the session as an editor does.
    pub fn end(mut self) {
        assert_eq!(self.ask("shutdown", &Value::Null), Value::Null);
        self.notify("exit", &Value::Null);
        self.input = None;
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // It has ended, or the test has failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The open policy, as a parameter.
pub fn document() -> Value {
    json!({ "uri": URI })
}

/// A range of it, from a line and a column to others.
pub fn range(from: [u64; 2], to: [u64; 2]) -> Value {
    let position = |[line, character]: [u64; 2]| json!({ "line": line, "character": character });
    json!({ "start": position(from), "end": position(to) })
}
