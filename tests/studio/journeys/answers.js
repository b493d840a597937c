// Questions, and what their answers rest on.
import assert from "node:assert/strict";
import { api, ask, draft, fact, open, reset, run, write, FACTS, POLICY } from "../browser.js";

/** Characters that look like a space, or like nothing. */
const BLANKS = [..."\u00a0\u1680\u2003\u202f\u205f\u2800\u3000\u{13430}\u{1bca0}\u{1d159}"];

/** The lines of the editor that are lit, by their class. */
const lit = (page, name) =>
  page.evaluate((name) => {
    const lines = [...document.querySelector(".editor").shadowRoot.querySelectorAll(`.cm-line.${name}`)];
    return lines.map((line) => line.textContent.trim());
  }, name);

await run({
  async "a question is answered with its proof, and its rules are lit"(context) {
    const page = await open(context);
    await ask(page, "User:alice", "read", "Repository:docs");
    await page.locator(".verdict.yes").waitFor();
    await page.getByText('has_role(User:alice, "member", Organization:acme)').waitFor();
    assert.deepEqual(await lit(page, "lit"), ['"reader" if "member" on "organization";', '"read" if "reader";']);
    await page.getByRole("button", { name: "line 18" }).click();
    const at = await page.evaluate(() => document.querySelector(".editor").shadowRoot.querySelector(".cm-activeLine").textContent);
    assert.match(at, /"reader" if "member"/);
    await ask(page, "alice", "read", "Repository:docs");
    await page.getByText("It still needs an actor").waitFor();
    await page.getByRole("combobox", { name: "Actor", description: /Type:id/ }).waitFor();
    assert.equal(await page.getByRole("combobox", { name: "Actor" }).getAttribute("aria-invalid"), "true");
    await ask(page, "User:alice", "raed", "Repository:docs");
    await page.getByText("the policy does not name the action `raed`; did you mean `read`?").waitFor();
  },

  async "a no says what is missing, and a suggestion is tried without storing it"(context) {
    const page = await open(context);
    await ask(page, "User:alice", "push", "Repository:docs");
    await page.locator(".verdict.no").waitFor();
    assert.ok((await lit(page, "miss")).includes('"push" if "maintainer";'));
    const suggestion = page.locator(".suggestions li").filter({ hasText: '"admin", Organization:acme' });
    await suggestion.getByRole("button", { name: "Try" }).click();
    await page.locator(".verdict.yes").waitFor();
    await page.locator(".tree .chip.context").first().waitFor();
    assert.equal((await api("GET", "facts")).length, 5);
    await page.getByText("Asked with a what-if fact that is not stored").waitFor();
    await page.getByRole("button", { name: "Ask without it" }).click();
    await page.locator(".verdict.no").waitFor();
    await suggestion.getByRole("button", { name: "Try" }).click();
    await page.locator(".verdict.yes").waitFor();
    await page.getByRole("tab", { name: /Facts/ }).click();
    await page.getByRole("region", { name: "What-if facts" }).getByRole("button", { name: "Clear" }).click();
    await page.getByRole("tab", { name: "Answer" }).click();
    await page.locator(".verdict.no").waitFor();
  },

  async "a suggestion is stored when one is sure, and the answer follows"(context) {
    const page = await open(context);
    await ask(page, "User:alice", "push", "Repository:docs");
    const suggestion = page.locator(".suggestions li").first();
    await suggestion.getByRole("button", { name: "Store" }).click();
    await suggestion.getByRole("button", { name: "Cancel" }).click();
    await suggestion.getByRole("button", { name: "Store" }).click();
    assert.equal((await api("GET", "facts")).length, 5);
    await suggestion.getByRole("button", { name: "Store for everyone" }).click();
    await page.locator(".verdict.yes").waitFor();
    assert.equal((await api("GET", "facts")).length, 6);
  },

  async "a question mark lists actors, actions and resources"(context) {
    const page = await open(context);
    await ask(page, "User:alice", "read", "Repository:?");
    await page.getByText("2 answers").waitFor();
    await page.getByRole("cell", { name: "Repository:site" }).waitFor();
    await ask(page, "User:?", "push", "Repository:docs");
    await page.getByText("1 answer", { exact: true }).waitFor();
    await page.getByRole("cell", { name: "User:bob" }).getByRole("button").click();
    await page.locator(".verdict.yes").getByText('allow(User:bob, "push", Repository:docs)').waitFor();
    await page.getByRole("button", { name: "All actions" }).click();
    await page.getByRole("cell", { name: '"read"' }).waitFor();
  },

  async "any predicate is asked, with suggestions by keyboard"(context) {
    const page = await open(context);
    await page.keyboard.press("Control+k");
    await page.getByRole("radio", { name: "Any predicate" }).click();
    const field = page.getByRole("combobox", { name: "Question" });
    await field.pressSequentially("has_ro");
    await page.getByRole("option", { name: "has_role(" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await field.pressSequentially("User:al");
    await page.getByRole("option", { name: /^User:alice/ }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await field.pressSequentially(", ?, Organization:acme)");
    await page.keyboard.press("Escape");
    await page.getByRole("cell", { name: '"member"' }).waitFor();
    await field.fill("has_role(User:alice");
    await page.getByText(/the question, column \d+/).waitFor();
    await field.fill("nothing(User:alice)");
    await page.getByText("the policy has no predicate `nothing`").waitFor();
  },

  async "an option stays chosen when a late answer renews the list"(context) {
    await reset(POLICY, [...FACTS, fact("has_role", "User:abe", "String:member", "Organization:acme")]);
    const page = await open(context);
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await page.route(/\/draft\/ids$/, async (route) => {
      if (route.request().postDataJSON().text === "al") await held;
      await route.continue();
    });
    const field = page.getByRole("combobox", { name: "Actor" });
    await field.pressSequentially("User:a");
    await page.getByRole("option", { name: /^User:alice/ }).waitFor();
    await field.press("l");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.getByRole("option", { name: /^User:alice/, selected: true }).waitFor();
    release();
    await page.getByRole("option", { name: /^User:abe/ }).waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    assert.equal(await field.inputValue(), "User:alice");
  },

  async "a draft is asked without changing the stored policy, which is compared"(context) {
    const page = await open(context);
    await ask(page, "User:alice", "push", "Repository:docs");
    await page.locator(".verdict.no").waitFor();
    await write(page, POLICY.replace('"push" if "maintainer";', '"push" if "reader";'));
    await page.locator(".verdict.yes").waitFor();
    await page.getByText(/The stored policy says otherwise/).waitFor();
    assert.equal((await api("GET", "policy")).policy.src, POLICY);
    const now = await api("POST", "authorize", {
      actor_type: "User", actor_id: "alice", action: "push", resource_type: "Repository", resource_id: "docs",
    });
    assert.equal(now.allowed, false);
  },

  async "a broken draft keeps the last good answer and says so"(context) {
    const page = await open(context);
    await ask(page, "User:alice", "read", "Repository:docs");
    await page.locator(".verdict.yes").waitFor();
    await write(page, POLICY.replace('"read" if "reader";', '"read" if "readr";'));
    await page.getByText("The draft has errors").waitFor();
    await page.locator(".verdict.yes").waitFor();
    await page.getByRole("button", { name: "Go to the first error" }).click();
    assert.ok(await page.getByRole("button", { name: "Store…" }).isDisabled());
    await page.getByRole("tab", { name: "SQL" }).click();
    await page.getByLabel("SQL", { exact: true }).first().waitFor();
    await page.getByRole("tab", { name: "Answer" }).click();
    await ask(page, "User:alice", "push", "Repository:docs");
    await page.locator(".verdict.no").waitFor();
    await write(page, POLICY);
    await page.getByText("The draft has errors").waitFor({ state: "detached" });
    assert.match(await draft(page), /"read" if "reader"/);
  },

  async "ids that mean to harm are text"(context) {
    const long = "x".repeat(340);
    const ids = ["<script>document.title='hurt'</script>", "a\u202egnp.exe", `<img src=x onerror="document.title='hurt'">`, long];
    ids.push("soft\u00adhyphen", "tag\u{e0041}", "a?b", "a b", ...BLANKS.map((blank) => `a${blank}b`));
    await reset(POLICY, ids.map((id) => fact("is_public", `Repository:${id}`)));
    const page = await open(context);
    await ask(page, "User:alice", "read", "Repository:?");
    await page.getByText(`${ids.length} answers`).waitFor();
    await page.getByText("<script>document.title='hurt'</script>").first().waitFor();
    await page.getByText("a\\u{202e}gnp.exe").first().waitFor();
    await page.getByText("soft\\u{ad}hyphen").first().waitFor();
    await page.getByText("tag\\u{e0041}").first().waitFor();
    for (const blank of BLANKS) {
      await page.getByText(`Repository:"a\\u{${blank.codePointAt(0).toString(16)}}b"`).first().waitFor();
    }
    await page.getByRole("cell", { name: 'Repository:"a?b"' }).getByRole("button").click();
    await page.locator(".verdict.yes").getByText('"read", Repository:"a?b")').waitFor();
    await ask(page, "User:?", "read", "Repository:a?b");
    await page.getByText("every User").click();
    await ask(page, "User:alice", "read", "Repository:?");
    await page.getByRole("cell").filter({ hasText: "xxxx" }).getByRole("button").click();
    await page.locator(".verdict").getByRole("button", { name: "378 characters" }).click();
    await page.locator(".verdict").getByText(long).waitFor();
    await page.getByRole("tab", { name: "Facts" }).click();
    await page.getByText(`${ids.length} facts`).waitFor();
    assert.equal(await page.title(), "Portcullis studio");
    const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(width <= 0, `the page is ${width} pixels too wide`);
  },
});
