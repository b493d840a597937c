//! What takes time: kills, full disks and damaged files (`crash`), and input made to exhaust the service
//! (`hostile`).

mod crash;
mod hostile;
