//! The service and the program from outside: the HTTP interface, the commands, running and operating the
//! service, what an attacker may try, and the OpenAPI document.

mod commands;
mod expectations;
mod fleet;
mod http;
mod nodes;
mod openapi;
mod operations;
mod received;
mod replicas;
mod running;
mod security;
