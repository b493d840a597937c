// Questions about what an actor may do, and over any predicate.

"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { fresh } = require("./client");
const { POLICY, User, Repository, ACME } = require("../world");

const [ada, bob, eve] = ["ada", "bob", "eve"].map(User);
const [site, tools] = ["site", "tools"].map(Repository);

const FACTS = [
  ["has_relation", site, "organization", ACME],
  ["has_role", ada, "member", ACME],
  ["has_role", bob, "maintainer", tools],
  ["is_operator", eve],
];
const CONTEXT = [["has_role", eve, "member", ACME], ["is_public", tools]];

test("a check follows roles, hierarchies and relations, and context facts count for it alone", async () => {
  const oso = await fresh(FACTS);
  assert.equal(await oso.authorize(ada, "read", site), true);
  assert.equal(await oso.authorize(ada, "write", site), false);
  assert.equal(await oso.authorize(eve, "read", site, CONTEXT), true);
  assert.equal(await oso.authorize(eve, "read", site), false);
});

test("of some resources those are kept that the actor may act on, in their order and as often", async () => {
  const oso = await fresh(FACTS);
  const asked = [tools, site, Repository("vault"), site];
  assert.deepEqual(await oso.authorizeResources(ada, "read", asked), [site, site]);
  assert.deepEqual(await oso.authorizeResources(eve, "read", asked, CONTEXT), [tools, site, site]);
  assert.deepEqual(await oso.authorizeResources(eve, "restart", asked), asked);
  assert.deepEqual(await oso.authorizeResources(eve, "write", asked), []);
  assert.deepEqual(await oso.authorizeResources(eve, "write", []), []);
});

test("a list of more than 25,000 ids comes whole", async () => {
  const oso = await fresh();
  const ids = Array.from({ length: 25_432 }, (_, n) => `r${String(n).padStart(5, "0")}`);
  for (let start = 0; start < ids.length; start += 5000) {
    await oso.bulkTell(ids.slice(start, start + 5000).map((id) => ["has_role", ada, "reader", Repository(id)]));
  }
  assert.deepEqual(await oso.list(ada, "read", "Repository"), ids);
});

test("a list takes context, and has a star for all ids", async () => {
  const oso = await fresh(FACTS);
  assert.deepEqual(await oso.list(ada, "read", "Repository"), ["site"]);
  assert.deepEqual(await oso.list(eve, "read", "Repository", CONTEXT), ["site", "tools"]);
  assert.deepEqual(await oso.list(eve, "restart", "Repository"), ["*"]);
});

test("actions of one resource, and of many at once", async () => {
  const oso = await fresh(FACTS);
  assert.deepEqual(await oso.actions(bob, tools), ["read", "write"]);
  assert.deepEqual(await oso.actions(eve, site), ["restart"]);
  assert.deepEqual(await oso.actions(eve, site, CONTEXT), ["read", "restart"]);
  assert.deepEqual(await oso.bulkActions(bob, [tools, site, tools]), [["read", "write"], [], ["read", "write"]]);
  assert.deepEqual(await oso.bulkActions(bob, [site, tools], [["is_public", site]]), [["read"], ["read", "write"]]);
  assert.deepEqual(await oso.bulkActions(bob, []), []);
});

test("a query answers with stored and derived facts", async () => {
  const oso = await fresh(FACTS);
  assert.deepEqual(await oso.query("has_role", bob, null, { type: "Repository" }),
    [["has_role", bob, "maintainer", tools], ["has_role", bob, "reader", tools]]);
  assert.deepEqual(await oso.query("has_role", { type: "User" }, "reader", site), [["has_role", ada, "reader", site]]);
  assert.deepEqual(await oso.query("allow", ada, "write", null), []);
  assert.deepEqual(await oso.query_with_context(["allow", eve, "read", { type: "Repository" }], { contextFacts: CONTEXT }),
    [["allow", eve, "read", site], ["allow", eve, "read", tools]]);
});

test("what holds for every value comes back as a wildcard", async () => {
  const oso = await fresh(FACTS);
  assert.deepEqual(await oso.query("trusts", eve, null), [["trusts", eve, null]]);
  assert.deepEqual(await oso.query("allow", eve, "restart", null),
    [["allow", eve, "restart", { type: "Repository" }]]);
});

test("metadata lists every block, and a policy's text is read back", async () => {
  const oso = await fresh();
  const { resources } = await oso.getPolicyMetadata();
  assert.deepEqual(Object.keys(resources).sort(), ["Organization", "Repository", "User", "global"]);
  assert.deepEqual(resources.Repository, {
    roles: ["maintainer", "reader"], permissions: ["read", "write"], relations: { organization: "Organization" },
  });
  assert.deepEqual(await oso.api.getPolicy(), { policy: { filename: "policy.polar", src: POLICY } });
  await oso.policy(POLICY);
  await assert.rejects(oso.policy('resource Repository { "read" if "raeder"; }'), /^Error: Oso Cloud error: [^]*raeder/);
});
