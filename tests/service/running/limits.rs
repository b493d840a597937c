//! How many files the process may open, and what it does about it.

use super::service::start_within;
use portcullis_testkit::program::Service;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

/// Whether a request on a connection of its own is answered, and how fast.
fn asked(address: SocketAddr) -> (bool, Duration) {
    let began = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    let answered = stream.read_to_string(&mut answer).is_ok() && answer.starts_with("HTTP/1.1 200");
    (answered, began.elapsed())
}

/// The soft and the hard limit of open files of a process.
fn limits(id: u32) -> [String; 2] {
    let limits = fs::read_to_string(format!("/proc/{id}/limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let mut words = line.split_whitespace().skip(3).map(str::to_owned);
    [words.next().unwrap(), words.next().unwrap()]
}

#[test]
fn the_limit_of_open_files_is_raised() {
    let service = start_within("ulimit -Sn 300; ulimit -Hn 2000", &[]);
    assert_eq!(limits(service.program.id()), ["2000", "2000"]);
    assert!(!service.program.logged().contains("fewer connections"), "{}", service.program.logged());
}

#[test]
fn connections_leave_files_to_everything_else() {
    let service = start_within("ulimit -n 300", &[]);
    service.program.logs("fewer connections than configured");
    let address = service.caller.address();
    // More than the process could open, and none of them ever says anything.
    let idle: Vec<TcpStream> = (0..400).map(|_| TcpStream::connect(address).unwrap()).collect();
    for _ in 0..20 {
        let (answered, took) = asked(address);
        assert!(answered && took < Duration::from_secs(3), "{took:?}");
    }
    assert!(!service.program.logged().contains("cannot accept"), "{}", service.program.logged());
    drop(idle);
}

#[test]
fn an_accept_that_fails_is_tried_again_and_logged_once() {
    let service = Service::develop(&[]);
    let address = service.caller.address();
    let limit = |files: &str| {
        let id = service.program.id().to_string();
        let set = Command::new("prlimit").args(["--pid", &id, &format!("--nofile={files}:")]).status();
        assert!(set.unwrap().success());
    };
    let before = limits(service.program.id());
    limit("8");
    let waiting = TcpStream::connect(address).unwrap();
    service.program.logs("cannot accept a connection");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(
        service.program.logged().matches("cannot accept a connection").count(),
        1,
        "{}",
        service.program.logged()
    );
    limit(&before[0]);
    let (answered, took) = asked(address);
    assert!(answered && took < Duration::from_secs(5), "{took:?}");
    drop(waiting);
}
