//! What this repository must keep: which module may import which, no circle of imports, pages that show real
//! output and working links, and policies that mean the same in every layout.

mod circles;
mod layers;
mod pages;
mod sources;
mod texts;
