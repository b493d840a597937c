// The stored facts: to search, to add, to delete, however many there are.
import assert from "node:assert/strict";
import { api, ask, fact, open, run } from "../browser.js";

await run({
  async "facts are added, found and deleted, and mistakes are explained"(context, expected) {
    expected.push(/400 \(Bad Request\)/);
    const page = await open(context);
    await page.getByRole("tab", { name: "Facts" }).click();
    const field = page.getByRole("combobox", { name: "New fact" });
    await field.fill('has_role(User:carol, "member", Organization:acme');
    await page.getByRole("button", { name: "Store", exact: true }).click();
    await page.getByText("`,` or `)` is expected").waitFor();
    await field.fill('has_role(User:carol, "\\u{110000}", Organization:acme)');
    await page.getByRole("button", { name: "Store", exact: true }).click();
    await page.getByText("there is no character").waitFor();
    await field.fill('has_role(User:carol, "member", Organization:acme)');
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    const store = page.getByRole("button", { name: "Store for everyone" });
    await store.waitFor();
    await page.keyboard.press("Enter");
    assert.equal((await api("GET", "facts")).length, 5);
    await store.click();
    await page.getByText("6 facts").waitFor();
    await page.getByRole("searchbox", { name: "Search facts" }).fill("CAROL");
    await page.getByText("1 fact", { exact: true }).waitFor();
    // By keyboard: arrow keys reach the row, and Delete asks before it deletes.
    await page.getByRole("region", { name: "Stored facts" }).focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Keep" }).click();
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Delete", exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("No fact matches").waitFor();
    assert.equal((await api("GET", "facts")).length, 5);
  },

  async "a what-if fact that the policy does not know is named as the reason"(context, expected) {
    expected.push(/400 \(Bad Request\)/);
    const page = await open(context);
    await ask(page, "User:alice", "read", "Repository:docs");
    await page.locator(".verdict.yes").waitFor();
    await page.getByRole("tab", { name: "Facts" }).click();
    await page.getByRole("combobox", { name: "New fact" }).fill('has_role(Staff:bob, "nurse")');
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Try" }).click();
    await page.getByRole("tab", { name: "Answer" }).click();
    await page.getByRole("alert").getByText("is not used").waitFor();
    await page.getByText("Asked with a what-if fact that is not stored").waitFor();
    await page.getByRole("button", { name: "Ask without it" }).click();
    await page.locator(".verdict.yes").waitFor();
  },

  async "100,000 facts scroll"(context) {
    const facts = Array.from({ length: 100_000 }, (_, n) => fact("is_public", `Repository:r${String(n).padStart(6, "0")}`));
    for (let at = 0; at < facts.length; at += 50_000) await api("POST", "batch", [{ inserts: facts.slice(at, at + 50_000) }]);
    const page = await open(context);
    await page.getByRole("tab", { name: "Facts" }).click();
    await page.getByText("500+ facts").waitFor();
    const list = page.getByRole("region", { name: "Stored facts" });
    // Each time that the end is reached, more come.
    for (let n = 0; n < 40 && !(await page.getByText("100,005 facts").isVisible()); n++) {
      await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await page.waitForTimeout(300);
    }
    await page.getByText("100,005 facts").waitFor();
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.getByText("is_public(Repository:site)").waitFor();
    assert.ok((await page.locator(".window li").count()) < 120, "only what is seen is in the page");
    // A scroll event that comes after the pane is gone does no harm.
    await list.evaluate((element) => (element.scrollTo(0, 0), setTimeout(() => element.dispatchEvent(new Event("scroll")), 300)));
    await page.keyboard.press("Alt+1");
    await page.waitForTimeout(400);
  },
});
