//! Threads whose work can wait.

/// The nice value of low-priority threads, from 0 to 19: at 10 they get a tenth of the share of others if
/// both are busy.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Lowers the priority of this thread. On systems other than Linux it would affect the whole process.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::warn!(%error, "cannot lower the priority of a thread");
    }
}
