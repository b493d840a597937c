//! What this repository must keep: which module may import which, pages that show real output and working
//! links, and policies that mean the same in every layout.

mod layers;
mod pages;
mod texts;
