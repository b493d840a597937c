// The editor: what the language server says as one types, tests, and storing a policy.
import assert from "node:assert/strict";
import { api, ask, draft, open, reset, run, write, POLICY } from "../browser.js";

await run({
  async "diagnostics come as one types, and say what to do"(context) {
    const page = await open(context);
    await write(page, POLICY.replace('"read" if "reader";', '"read" if "readr";'));
    await page.getByRole("button", { name: "1 error" }).waitFor();
    await page.locator(".cm-lintRange-error").first().hover();
    await page.locator(".cm-diagnostic-error").getByText("P0").first().waitFor();
    await page.locator(".cm-diagnosticAction", { hasText: "reader" }).click();
    await page.getByText("No problems").waitFor();
    assert.match(await draft(page), /"read" if "reader";/);
  },

  async "a policy of 2,000 lines is checked while one types"(context) {
    const block = (n) =>
      `resource R${n} {\n  roles = ["a", "b"];\n  permissions = ["read", "write"];\n\n  "a" if "b";\n  "read" if "a";\n  "write" if "b";\n}\n`;
    const policy = `actor User {}\n\n${Array.from({ length: 220 }, (_, n) => block(n)).join("\n")}`;
    await reset(policy, []);
    const page = await open(context);
    await page.getByText("No problems").waitFor();
    const took = [];
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+Home");
    for (let n = 0; n < 5; n++) {
      await page.keyboard.type("#");
      await page.waitForTimeout(250);
      took.push(Number(await page.locator("[data-checked]").getAttribute("data-checked")));
    }
    console.log(`   ${policy.split("\n").length} lines, diagnostics after ${took.join(", ")} ms`);
    assert.ok(took.every((ms) => ms > 0));
  },

  async "hover, completion and formatting are the language server's"(context) {
    const page = await open(context);
    await page.locator(".cm-line", { hasText: '"reader" if "member" on' }).hover({ position: { x: 30, y: 8 } });
    await page.locator(".cm-hover").getByText("has_role(").first().waitFor();
    await page.mouse.move(5, 5);
    await write(page, 'actor User {}\nresource Repository { roles=["reader"];permissions = ["read"]; "read" if "reader"; }\n');
    await page.getByText("No problems").waitFor();
    await page.getByRole("button", { name: "Format" }).click();
    await page.locator(".cm-line", { hasText: /^ {2}roles = \["reader"\];$/ }).waitFor();
    await page.locator(".cm-line", { hasText: '"read" if "reader"' }).click();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.keyboard.type('"read" if "');
    await page.locator(".cm-tooltip-autocomplete").getByText("reader").waitFor();
    // Both quotes were written by the editor.
    await page.waitForTimeout(100);
    await page.keyboard.press("Enter");
    assert.match(await draft(page), /"read" if "reader"/);
  },

  async "tests run live, and a question becomes one"(context) {
    const page = await open(context);
    await page.getByText("1 test passed").waitFor();
    // A test's name leads to its own line, not to a test whose name contains it.
    await write(page, `${POLICY}\ntest "push" {\n  assert_not allow(User{"x"}, "push", Repository{"y"});\n}\n`);
    await page.getByText("2 tests passed").waitFor();
    await page.getByRole("tab", { name: "Tests" }).click();
    await page.getByRole("button", { name: "push", exact: true }).click();
    const current = () => document.querySelector(".editor").shadowRoot.querySelector(".cm-activeLine").textContent;
    assert.match(await page.evaluate(current), /^test "push"/);
    await write(page, POLICY);
    await page.getByText("1 test passed").waitFor();
    await page.getByRole("tab", { name: "Answer" }).click();
    await ask(page, "User:alice", "push", "Repository:docs");
    await page.locator(".verdict.no").waitFor();
    await page.getByRole("button", { name: "Make this a test" }).click();
    await page.getByText("2 tests passed").waitFor();
    assert.match(await draft(page), /assert_not allow\(User\{"alice"\}, "push", Repository\{"docs"\}\);/);
    await ask(page, "User:alice", "read", "Repository:docs");
    await page.locator(".verdict.yes").waitFor();
    await page.getByRole("button", { name: "Make this a test" }).click();
    await page.getByText("3 tests passed").waitFor();
    await page.getByRole("tab", { name: "Tests" }).click();
    await page.getByText("All 3 pass").waitFor();
    assert.equal(await page.locator(".tests .chip", { hasText: "new" }).count(), 2);
  },

  async "a policy is stored after a look at the tests that change"(context, expected) {
    expected.push(/400 \(Bad Request\)/);
    const page = await open(context);
    const broken = POLICY.replace('"maintainer" if "admin" on "organization";\n', "");
    await write(page, broken);
    await page.getByText("1 of 1 test failed").waitFor();
    await page.keyboard.press("Control+s");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("now fails").waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Store the policy" }).isDisabled());
    await dialog.getByLabel("Store it even though a test fails").check();
    await dialog.getByRole("button", { name: "Store the policy" }).click();
    await page.getByText("as stored", { exact: true }).waitFor();
    assert.equal((await api("GET", "policy")).policy.src, broken);
  },

  async "a test that a draft edits or removes is not stored unseen"(context) {
    const page = await open(context);
    const dialog = page.getByRole("dialog");
    await write(page, POLICY.replace('"push" if "maintainer";', '"push" if "reader";').replace("assert_not", "assert"));
    await page.getByText("1 test passed").waitFor();
    await page.keyboard.press("Control+s");
    await dialog.getByText("edited in this draft").waitFor();
    await page.keyboard.press("Escape");
    await write(page, POLICY.replace(/test "[^]*/, ""));
    // At once, so before the tests of this draft are known.
    await page.keyboard.press("Control+s");
    await dialog.getByText("removed by this draft").waitFor();
    await page.keyboard.press("Escape");
    await write(page, `${POLICY}\n# only a comment`);
    await page.keyboard.press("Control+s");
    await dialog.getByText("No test changes.").waitFor();
  },

  async "what could hide in a policy is spelled out"(context) {
    const page = await open(context);
    await write(page, `${POLICY}# \u202e ;(ecruoser)dekcol_si ton dna\n# wri\u200bte\n`);
    await page.locator(".cm-specialChar", { hasText: "\\u{202e}" }).waitFor();
    await page.locator(".cm-specialChar", { hasText: "\\u{200b}" }).waitFor();
  },

  async "a text that is too large for a policy opens no connection again and again"(context, expected) {
    expected.push(/413/);
    const page = await open(context);
    await page.getByText(/checked in/).waitFor();
    let opened = 0;
    page.on("websocket", () => (opened += 1));
    await page.locator(".cm-content").evaluate((editor) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", `# ${"x".repeat(98)}\n`.repeat(45_000));
      editor.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    });
    await page.waitForTimeout(1000);
    assert.ok(opened <= 1, `${opened} connections`);
  },

  async "a watched question says what a draft changes"(context) {
    const page = await open(context);
    await ask(page, "User:alice", "push", "Repository:docs");
    await page.locator(".verdict.no").getByRole("button", { name: "Watch" }).click();
    await page.getByRole("tab", { name: "Tests" }).click();
    const watches = page.getByRole("region", { name: "Watched questions" });
    await watches.getByText("denied", { exact: true }).waitFor();
    await write(page, POLICY.replace('"push" if "maintainer";', '"push" if "reader";').replace(/assert_not allow.*\n/, ""));
    await watches.getByText("denied as stored").waitFor();
    await page.getByRole("button", { name: "Store…" }).click();
    await page.getByRole("dialog").getByText("now allowed").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await watches.getByRole("button", { name: "Stop watching this question" }).click();
    await watches.waitFor({ state: "detached" });
  },

  async "a policy that someone else stored meanwhile is not overwritten unseen"(context) {
    const page = await open(context);
    await write(page, `${POLICY}\n# mine`);
    await page.getByText("draft", { exact: true }).waitFor();
    await api("POST", "policy", { src: `${POLICY}\n# theirs`, filename: "policy.polar" });
    await page.getByRole("button", { name: "Store…" }).click();
    await page.getByRole("dialog").getByText("Another policy was stored since").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.match((await api("GET", "policy")).policy.src, /# theirs/);
  },

  async "a page without a draft follows the stored policy"(context) {
    const page = await open(context);
    await page.getByText("1 test passed").waitFor();
    await api("POST", "policy", { src: `${POLICY}\n# theirs`, filename: "policy.polar" });
    await page.evaluate(() => window.dispatchEvent(new Event("focus")));
    await page.locator(".cm-line", { hasText: "# theirs" }).waitFor();
    await page.getByText("as stored", { exact: true }).waitFor();
  },

  async "the example starts an empty service"(context) {
    await reset("", []);
    const page = await open(context);
    await page.getByText("Start with a policy").waitFor();
    await page.getByRole("button", { name: "example" }).click();
    await page.locator(".verdict.yes").waitFor();
    await page.getByText("1 test passed").waitFor();
  },

  async "the graph of rules marks what the answer rests on, and leads to lines"(context) {
    const page = await open(context);
    await ask(page, "User:alice", "read", "Repository:docs");
    await page.locator(".verdict.yes").waitFor();
    await page.getByRole("tab", { name: "Rules" }).click();
    await page.locator(".drawing .node.holds", { hasText: "reader" }).waitFor();
    assert.equal(await page.locator(".drawing .node.holds", { hasText: "push" }).count(), 0);
    await page.getByLabel("About").selectOption("Organization");
    await page.locator(".drawing .node", { hasText: "push" }).waitFor({ state: "detached" });
    await page.locator(".drawing").getByRole("button", { name: /invite/ }).press("Enter");
    const at = () => document.querySelector(".editor").shadowRoot.querySelector(".cm-activeLine").textContent;
    assert.match(await page.evaluate(at), /"invite" if "admin"/);
    // The proof alone, down to its facts.
    await page.getByRole("radio", { name: "This answer" }).click();
    await page.locator(".drawing .node.holds", { hasText: 'allow(User:alice, "read", Repository:docs)' }).waitFor();
    assert.equal(await page.locator(".drawing .node.leaf.stored").count(), 2);
    const width = async () => Number(await page.locator(".drawing svg").getAttribute("width"));
    const first = await width();
    await page.getByRole("button", { name: "Larger" }).click();
    const larger = await width();
    assert.ok(larger > first, `${larger} ${first}`);
    await page.getByRole("region", { name: "Graph of the proof" }).press("0");
    await page.getByRole("button", { name: "Smaller" }).click();
    assert.ok((await width()) < larger);
    await ask(page, "User:alice", "push", "Repository:docs");
    await page.getByText("Denied: there is no proof").waitFor();
    await page.getByRole("button", { name: "See what is missing" }).click();
    await page.locator(".verdict.no").waitFor();
  },

  async "a large graph begins with a part, and does not block the page"(context) {
    const block = (n) => `resource R${n} {\n  roles = ["a", "b"];\n  permissions = ["read", "write"];\n\n  "a" if "b";\n  "read" if "a";\n  "write" if "b";\n}\n`;
    await reset(`actor User {}\n\n${Array.from({ length: 100 }, (_, n) => block(n)).join("\n")}`, []);
    const page = await open(context);
    await ask(page, "User:alice", "read", "R7:x");
    await page.locator(".verdict.no").waitFor();
    await page.getByRole("tab", { name: "Rules" }).click();
    await page.locator(".drawing svg").waitFor();
    assert.equal(await page.getByLabel("About").inputValue(), "R7");
    await page.getByLabel("About").selectOption("");
    await page.getByText(/Drawing \d+ nodes/).waitFor();
    const began = performance.now();
    await page.getByRole("tab", { name: "Tests" }).click();
    await page.getByText("No tests yet").waitFor();
    assert.ok(performance.now() - began < 1000, "the page answers while the graph is laid out");
  },

  async "data bindings give the SQL for one's own database"(context) {
    const page = await open(context);
    await ask(page, "User:alice", "read", "Repository:?");
    await page.getByText("2 answers").waitFor();
    await page.getByRole("tab", { name: "Your database" }).click();
    await page.getByRole("button", { name: "Start with an example" }).click();
    assert.match(await page.getByLabel("Data bindings").inputValue(), /has_role\(User:_, String:_, Organization:_\)/);
    await page.getByLabel("SQL for your database").getByText(/FROM repositories/).waitFor();
    await page.getByLabel("Condition over the column").fill("r.id");
    await page.getByLabel("SQL for your database").getByText(/r\.id/).waitFor();
    await page.getByLabel("Data bindings").fill("facts: 7");
    await page.getByRole("alert").waitFor();
  },

  async "the SQL, the stages and the plan of the database are shown"(context) {
    const page = await open(context);
    await ask(page, "User:alice", "read", "Repository:?");
    await page.getByRole("tab", { name: "SQL" }).click();
    await page.getByLabel("SQL", { exact: true }).getByText(/^SELECT/).or(page.locator("pre", { hasText: /SELECT/ }).first()).first().waitFor();
    await page.locator("pre[aria-label='Plan of the database']", { hasText: /SEARCH|SCAN/ }).waitFor();
    await page.getByText("the plan", { exact: true }).click();
    await page.locator("pre[aria-label='the plan']").waitFor();
    // At an address without TLS, browsers give a page no clipboard.
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await page.getByRole("button", { name: "Copy" }).first().click();
    await page.getByText("This page may not use the clipboard").waitFor();
  },
});
