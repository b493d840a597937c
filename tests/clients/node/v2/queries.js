// Questions over any predicate, built step by step.

"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { fresh, typedVar } = require("./client");
const { User, Repository, ACME, GLOBEX } = require("../world");

const [ada, bob] = ["ada", "bob"].map(User);
const [site, tools, vault] = ["site", "tools", "vault"].map(Repository);

const FACTS = [
  ["has_relation", site, "organization", ACME],
  ["has_relation", vault, "organization", GLOBEX],
  ["has_role", ada, "member", ACME],
  ["has_role", ada, "maintainer", tools],
  ["has_stars", site, 250],
  ["has_stars", tools, 7],
  ["is_archived", tools, true],
];

test("without variables the answer is a boolean", async () => {
  const oso = await fresh(FACTS);
  assert.equal(await oso.buildQuery(["allow", ada, "read", site]).evaluate(), true);
  assert.equal(await oso.buildQuery(["allow", ada, "write", site]).evaluate(), false);
  assert.equal(await oso.buildQuery(["has_stars", site, 250]).evaluate(), true);
  assert.equal(await oso.buildQuery(["is_archived", tools, true]).evaluate(), true);
  assert.equal(await oso.buildQuery(["is_archived", tools, false]).evaluate(), false);
});

test("a variable answers with its values", async () => {
  const oso = await fresh(FACTS);
  const [action, repository] = [typedVar("String"), typedVar("Repository")];
  assert.deepEqual(await oso.buildQuery(["allow", ada, action, tools]).evaluate(action), ["read", "write"]);
  const readable = oso.buildQuery(["allow", ada, "read", repository]);
  assert.deepEqual((await readable.evaluate(repository)).sort(), ["site", "tools"]);
  const stars = typedVar("Integer");
  assert.deepEqual(await oso.buildQuery(["has_stars", site, stars]).evaluate(stars), ["250"]);
  const archived = typedVar("Boolean");
  assert.deepEqual(await oso.buildQuery(["is_archived", tools, archived]).evaluate(archived), ["true"]);
});

test("a tuple of variables answers with tuples", async () => {
  const oso = await fresh(FACTS);
  const [action, repository] = [typedVar("String"), typedVar("Repository")];
  const pairs = await oso.buildQuery(["allow", ada, action, repository]).evaluate([action, repository]);
  assert.deepEqual(pairs.sort(), [["read", "site"], ["read", "tools"], ["write", "tools"]]);
});

test("a map of variables answers with a map", async () => {
  const oso = await fresh(FACTS);
  const [user, action, repository] = ["User", "String", "Repository"].map(typedVar);
  const query = oso.buildQuery(["allow", user, action, repository]);
  assert.deepEqual(await query.evaluate(new Map([[repository, action]])),
    new Map([["site", ["read"]], ["tools", ["read", "write"]]]));
  const nested = await query.evaluate(new Map([[user, new Map([[repository, [action]]])]]));
  assert.deepEqual(nested, new Map([["ada", new Map([["site", [["read"]]], ["tools", [["read"], ["write"]]]])]]));
});

test("further conditions narrow a query, and leave the one that they extend as it was", async () => {
  const oso = await fresh(FACTS);
  const [repository, organization] = [typedVar("Repository"), typedVar("Organization")];
  const readable = oso.buildQuery(["allow", ada, "read", repository]);
  const inside = readable.and(["has_relation", repository, "organization", organization]);
  assert.deepEqual(await inside.evaluate([repository, organization]), [["site", ACME.id]]);
  assert.deepEqual(await inside.and(["popular", repository]).evaluate(repository), ["site"]);
  assert.deepEqual(await inside.and(["dormant", repository]).evaluate(repository), []);
  assert.deepEqual((await readable.evaluate(repository)).sort(), ["site", "tools"]);
});

test("a variable may be held to some values", async () => {
  const oso = await fresh(FACTS);
  const [action, repository] = [typedVar("String"), typedVar("Repository")];
  const query = oso.buildQuery(["allow", ada, action, repository]);
  assert.deepEqual(await query.in(repository, ["tools", "vault"]).evaluate([repository, action]),
    [["tools", "read"], ["tools", "write"]]);
  assert.deepEqual(await query.in(repository, []).evaluate(repository), []);
  assert.throws(() => query.in(typedVar("Repository"), ["site"]), /variables that are used in the query/);
  assert.throws(() => query.in(repository, ["a"]).in(repository, ["b"]), /only set values on each variable once/);
});

test("context facts count for one query", async () => {
  const oso = await fresh(FACTS);
  const repository = typedVar("Repository");
  const query = oso.buildQuery(["allow", bob, "read", repository]);
  const context = [["has_role", bob, "member", GLOBEX], ["is_public", site]];
  assert.deepEqual((await query.withContextFacts(context).evaluate(repository)).sort(), ["site", "vault"]);
  assert.deepEqual(await query.evaluate(repository), []);
});

test("what holds for every value is a star", async () => {
  const oso = await fresh(FACTS);
  const [action, organization] = [typedVar("String"), typedVar("Organization")];
  const query = oso.buildQuery(["allow", bob, action, organization]);
  assert.deepEqual(await query.evaluate([action, organization]), [["visit", "*"]]);
  assert.deepEqual(await query.evaluate(new Map([[organization, action]])), new Map([["*", ["visit"]]]));
});

test("a query that nothing bounds, or of an abstract type, is refused with its reason", async () => {
  const oso = await fresh(FACTS);
  const [resource, repository] = [typedVar("Resource"), typedVar("Repository")];
  await assert.rejects(oso.buildQuery(["allow", ada, "read", resource]).evaluate(resource), /`Resource`/);
  await assert.rejects(oso.buildQuery(["stranger", repository]).evaluate(), /no predicate `stranger` with 1 argument/);
});
