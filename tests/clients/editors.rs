//! The language server with third-party clients: one that checks each message against the protocol, and an
//! editor without a screen. Of the extension for Visual Studio Code, only the types are checked.

use super::Runner;
use libtest_mimic::{Failed, Trial};
use portcullis_testkit::program;
use portcullis_testkit::tools::{has_npm_packages, outputs};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The page with the settings of editors.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/editors.md");

const SESSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/neovim/session.lua");

const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/neovim/app.polar");

/// One trial for each client.
pub(super) fn trials() -> [Trial; 3] {
    [
        Trial::test("pytest_lsp_1_0_1", pytest_lsp),
        Trial::test("neovim", neovim),
        Trial::test("vscode_types", vscode_types),
    ]
}

fn pytest_lsp() -> Result<(), Failed> {
    let mut command = Runner::Python { folder: "pytest-lsp-1.0.1" }.command()?;
    outputs(command.env("PORTCULLIS", program::path()))?;
    Ok(())
}

fn vscode_types() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/vscode");
    has_npm_packages(&folder)?;
    let mut command = Command::new("node");
    outputs(command.args(["node_modules/typescript/bin/tsc", "--noEmit"]).current_dir(folder))?;
    Ok(())
}

/// Runs Debian's Neovim with the settings that the page has for its version.
fn neovim() -> Result<(), Failed> {
    // If Neovim is missing, this says how to install it; `timeout` would not.
    outputs(Command::new("nvim").arg("--version"))?;
    let folder = tempfile::tempdir()?;
    let settings = folder.path().join("init.lua");
    let policy = folder.path().join("app.polar");
    fs::write(&settings, settings_of("With versions 0.7 to 0.10:")?)?;
    fs::copy(POLICY, &policy)?;
    let mut command = Command::new("timeout");
    command.args([super::MOST_SECONDS, "nvim", "--headless", "-n", "-i", "NONE", "-u"]);
    command.arg(settings).arg(policy).arg("-c").arg(format!("luafile {SESSION}"));
    // The settings name the program without its folder.
    let built = program::path();
    let built = built.parent().unwrap_or(Path::new("."));
    let path = std::env::var("PATH").unwrap_or_default();
    outputs(command.env("PATH", format!("{}:{path}", built.display())).env("HOME", folder.path()))?;
    Ok(())
}

/// The block of settings that follows a sentence of the page.
fn settings_of(sentence: &str) -> Result<String, String> {
    let page = fs::read_to_string(PAGE).map_err(|error| format!("{PAGE}: {error}"))?;
    let block = page.split_once(sentence).and_then(|(_, rest)| rest.split_once("```lua\n"));
    let block = block.and_then(|(_, rest)| rest.split_once("```"));
    block.map(|(block, _)| block.to_owned()).ok_or_else(|| format!("{PAGE} has no settings after {sentence}"))
}
