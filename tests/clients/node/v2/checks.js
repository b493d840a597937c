// Questions about what an actor may do.

"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { fresh, parityHandle } = require("./client");
const { User, Repository, ACME } = require("../world");

const [ada, bob, eve] = ["ada", "bob", "eve"].map(User);
const [site, tools] = ["site", "tools"].map(Repository);

const FACTS = [
  ["has_relation", site, "organization", ACME],
  ["has_role", ada, "member", ACME],
  ["has_role", bob, "maintainer", tools],
];

test("a check follows roles, hierarchies and relations", async () => {
  const oso = await fresh(FACTS);
  assert.equal(await oso.authorize(ada, "read", site), true);
  assert.equal(await oso.authorize(ada, "write", site), false);
  assert.equal(await oso.authorize(bob, "write", tools), true);
  assert.equal(await oso.authorize(bob, "read", tools), true);
});

test("what nobody mentioned is no error", async () => {
  const oso = await fresh(FACTS);
  assert.equal(await oso.authorize(User("nobody"), "frob", { type: "Planet", id: "x" }), false);
  assert.deepEqual(await oso.list(User("nobody"), "frob", "Planet"), []);
  assert.deepEqual(await oso.actions(User("nobody"), { type: "Planet", id: "x" }), []);
});

test("context facts count for one question", async () => {
  const oso = await fresh(FACTS);
  const context = [["has_role", eve, "member", ACME], ["is_public", tools]];
  assert.equal(await oso.authorize(eve, "read", site, context), true);
  assert.equal(await oso.authorize(eve, "read", site, { contextFacts: context }), true);
  assert.deepEqual(await oso.list(eve, "read", "Repository", context), ["site", "tools"]);
  assert.deepEqual(await oso.actions(eve, tools, context), ["read"]);
  assert.equal(await oso.authorize(eve, "read", site), false);
});

test("a list holds the ids in order, and a star for all of them", async () => {
  const oso = await fresh([...FACTS, ["is_public", tools], ["is_operator", eve]]);
  assert.deepEqual(await oso.list(ada, "read", "Repository"), ["site", "tools"]);
  assert.deepEqual(await oso.list(bob, "write", "Repository"), ["tools"]);
  assert.deepEqual(await oso.list(ada, "visit", "Organization"), ["*"]);
  assert.deepEqual(await oso.list(eve, "restart", "Repository"), ["*"]);
});

test("actions are those that a check allows", async () => {
  const oso = await fresh(FACTS);
  assert.deepEqual(await oso.actions(bob, tools), ["read", "write"]);
  assert.deepEqual(await oso.actions(ada, site), ["read"]);
  assert.deepEqual(await oso.actions(eve, ACME), ["visit"]);
});

test("a list of more than 25,000 ids comes whole, and in pages", async () => {
  const oso = await fresh();
  const ids = Array.from({ length: 25_432 }, (_, n) => `r${String(n).padStart(5, "0")}`);
  for (let start = 0; start < ids.length; start += 5000) {
    const part = ids.slice(start, start + 5000);
    await oso.batch((tx) => part.forEach((id) => tx.insert(["has_role", ada, "reader", Repository(id)])));
  }
  assert.deepEqual(await oso.list(ada, "read", "Repository"), ids);

  const pages = [];
  let token;
  do {
    const page = await oso.listPaginated(ada, "read", "Repository", 10_000, token);
    pages.push(page.results);
    token = page.nextPageToken;
  } while (token !== null);
  assert.deepEqual(pages.map((page) => page.length), [10_000, 10_000, 5432]);
  assert.deepEqual(pages.flat(), ids);

  const whole = await oso.listPaginated(ada, "read", "Repository", 30_000);
  assert.equal(whole.results.length, 25_432);
  assert.equal(whole.nextPageToken, null);
});

test("a page belongs to its question and has a least size", async () => {
  const oso = await fresh();
  await assert.rejects(oso.listPaginated(ada, "read", "Repository", 9999), /`page_size`: 9999 is too small: use at least 10000/);
  await assert.rejects(oso.listPaginated(ada, "read", "Repository", 10_000, "made up"), /`page_token` is damaged/);
});

test("an expectation may come before or after the check", async () => {
  const oso = await fresh(FACTS);
  for (const early of [true, false]) {
    const sent = [];
    const handle = parityHandle();
    if (early) handle.expect(true);
    const api = oso.api;
    const report = api.postExpectedResult;
    api.postExpectedResult = (result) => sent.push(report.call(api, result));
    assert.equal(await oso.authorize(ada, "read", site, { parityHandle: handle }), true);
    if (!early) handle.expect(true);
    assert.deepEqual(await Promise.all(sent), [{ message: "recorded: agreed" }]);
    assert.throws(() => handle.expect(true), /set expected result twice/);
    delete api.postExpectedResult;
  }
});
