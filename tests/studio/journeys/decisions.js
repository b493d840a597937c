// The recent decisions of the service: searching them, asking one again, and comparing them with a draft.
import assert from "node:assert/strict";
import { api, fact, open, run, write, POLICY } from "../browser.js";

const READER = process.env.STUDIO_READER;

/** A decision that a program asks for. */
async function decide(actor, action, resource, context_facts = []) {
  const [[actor_type, actor_id], [resource_type, resource_id]] = [actor.split(":"), resource.split(":")];
  const asked = { actor_type, actor_id, action, resource_type, resource_id, context_facts };
  return (await api("POST", "authorize", asked)).allowed;
}

const rows = (page) => page.getByRole("region", { name: "Decisions" }).locator("li");

await run({
  async "decisions come in as they are made, are filtered, and are asked again"(context) {
    assert.equal(await decide("User:bob", "push", "Repository:docs"), true);
    const page = await open(context);
    await page.getByRole("tab", { name: "Decisions" }).click();
    await rows(page).filter({ hasText: "User:bob push Repository:docs" }).waitFor();
    assert.equal(await decide("User:alice", "push", "Repository:docs"), false);
    await rows(page).filter({ hasText: "User:alice push Repository:docs" }).waitFor();
    await page.getByRole("searchbox", { name: "Search decisions" }).fill("BOB");
    await page.getByText("1 of 2 decisions").waitFor();
    await page.getByRole("radio", { name: "All", exact: true }).press("ArrowRight");
    await page.getByRole("radio", { name: "Allowed", checked: true }).waitFor();
    assert.equal(await rows(page).count(), 1);
    await page.getByRole("radio", { name: "Denied" }).click();
    await page.getByText("No decision matches").waitFor();
    await page.getByRole("searchbox", { name: "Search decisions" }).fill("");
    await rows(page).getByRole("button", { name: /alice/ }).click();
    await page.locator(".verdict.no").getByText('allow(User:alice, "push", Repository:docs)').waitFor();
    await page.getByText(/The service denied this at \d\d:\d\d:\d\d for the key “\(configured\)”/).waitFor();
    // What changed since is said.
    await api("DELETE", "facts", fact("has_role", "User:bob", "String:admin", "Organization:acme"));
    await page.getByRole("button", { name: "Back to the decisions" }).click();
    await page.getByRole("region", { name: "Decisions" }).focus();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByText("Allowed then, denied now.").waitFor();
  },

  async "a decision about a type that no question can name is not asked again as another one"(context) {
    const asked = { actor_type: "User:alice", actor_id: "x", action: "read", resource_type: "Repository", resource_id: "docs" };
    await api("POST", "authorize", asked);
    const page = await open(context);
    await page.getByRole("tab", { name: "Decisions" }).click();
    await rows(page).filter({ hasText: '"User:alice":x read Repository:docs' }).getByRole("button").click();
    await page.getByText("the question, column 19: expected `,` or `)`").waitFor();
    assert.equal(await page.locator(".verdict").count(), 0);
  },

  async "context facts that the log does not show are said to be missing"(context) {
    const open_to_all = fact("is_public", "Repository:docs");
    assert.equal(await decide("User:zoe", "read", "Repository:docs", [open_to_all]), true);
    const page = await open(context);
    await page.getByRole("tab", { name: "Decisions" }).click();
    await rows(page).filter({ hasText: "User:zoe" }).getByRole("button").click();
    await page.getByText("Allowed then, denied now.").waitFor();
    await page.getByText("One of its context facts is not in the log").waitFor();
  },

  async "storing a draft shows which decisions it changes"(context) {
    for (let n = 0; n < 3; n++) await decide("User:alice", "read", "Repository:docs");
    const page = await open(context);
    await write(page, POLICY.replace('"read" if "reader";', '"read" if "maintainer";'));
    await page.getByText("draft", { exact: true }).waitFor();
    await page.keyboard.press("Control+s");
    const dialog = page.getByRole("dialog");
    const change = dialog.locator(".changes li").filter({ hasText: 'allow(User:alice, "read", Repository:docs)' });
    await change.getByText("allowed now, denied with this draft").waitFor();
    await change.getByText("3 times").waitFor();
    await dialog.getByText(/Compared \d+ questions from the latest \d+ decisions/).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await write(page, `${POLICY}\n# the same`);
    await page.keyboard.press("Control+s");
    await dialog.getByText("No recent decision changes.").waitFor();
  },

  async "a read-only key sees no decisions"(context) {
    await decide("User:alice", "read", "Repository:docs");
    const page = await open(context, { key: READER });
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.getByRole("tab", { name: "Decisions" }).click();
    await page.getByText("Your key is read-only").waitFor();
    await page.waitForTimeout(300);
    assert.deepEqual(asked.filter((url) => url.includes("decisions")), []);
  },
});
