//! The program `portcullis`: its command line and its allocator.

/// SQLite shares this allocator through its `malloc`: the system's returns memory after every statement and
/// asks for it again before the next, which costs more than the statement.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    portcullis::cli::run()
}
