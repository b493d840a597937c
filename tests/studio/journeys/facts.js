// The stored facts: to search, to add, to delete, however many there are.
import assert from "node:assert/strict";
import { api, fact, open, run } from "../browser.js";

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
    await page.getByRole("button", { name: "Delete this fact" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("No fact matches").waitFor();
    assert.equal((await api("GET", "facts")).length, 5);
  },

  async "100,000 facts scroll"(context) {
    const facts = Array.from({ length: 100_000 }, (_, n) => fact("is_public", `Repository:r${String(n).padStart(6, "0")}`));
    for (let at = 0; at < facts.length; at += 50_000) await api("POST", "batch", [{ inserts: facts.slice(at, at + 50_000) }]);
    const page = await open(context);
    await page.getByRole("tab", { name: "Facts" }).click();
    await page.getByText("500+ facts").waitFor();
    const list = page.getByRole("region", { name: "Stored facts" });
    for (let n = 0; n < 3; n++) {
      await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await page.waitForTimeout(700);
    }
    await page.getByText("100,005 facts").waitFor();
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.getByText("is_public(Repository:site)").waitFor();
    assert.ok((await page.locator(".window li").count()) < 120, "only what is seen is in the page");
  },
});
