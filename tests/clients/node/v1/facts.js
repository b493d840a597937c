// Facts go in, come back and go away.

"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { fresh } = require("./client");
const { User, Repository, ACME, GLOBEX, inOrder } = require("../world");

const [ada, bob, site, tools] = [User("ada"), User("bob"), Repository("site"), Repository("tools")];

const FACTS = [
  ["has_role", ada, "reader", site],
  ["has_role", ada, "maintainer", tools],
  ["has_role", bob, "member", ACME],
  ["has_role", bob, "auditor"],
];

async function holds(oso, ...facts) {
  assert.deepEqual(inOrder(await oso.get("has_role")), inOrder(facts));
}

test("a fact that is told comes back in the answer, and is read back", async () => {
  const oso = await fresh();
  assert.deepEqual(await oso.tell(...FACTS[0]), FACTS[0]);
  assert.deepEqual(await oso.tell(...FACTS[0]), FACTS[0]);
  await holds(oso, FACTS[0]);
  const stars = ["has_stars", site, { type: "Integer", id: "250" }];
  assert.deepEqual(await oso.tell(...stars), stars);
  await assert.rejects(oso.tell("is_friendly", ada), /^Error: Oso Cloud error: is_friendly\(User\) is not used in policy/);
});

test("a pattern has values, wildcards and wildcards of one type", async () => {
  const oso = await fresh(FACTS);
  assert.deepEqual(await oso.get("has_role", ada, "reader", site), [FACTS[0]]);
  for (const any of [null, {}, { type: null, id: null }]) {
    assert.deepEqual(await oso.get("has_role", any, "reader", any), [FACTS[0]]);
  }
  assert.deepEqual(await oso.get("has_role", bob, null, { type: "Organization" }), [FACTS[2]]);
  assert.deepEqual(await oso.get("has_role", { type: "User" }, { type: "String" }, ACME), [FACTS[2]]);
  assert.deepEqual(inOrder(await oso.get("has_role", bob)), inOrder(FACTS.slice(2)));
  assert.deepEqual(await oso.get("has_role", User("eve")), []);
});

test("a fact is deleted by its values or by wildcards, and one that is not there is no error", async () => {
  const oso = await fresh(FACTS);
  await oso.delete(...FACTS[0]);
  await oso.delete(...FACTS[0]);
  await holds(oso, ...FACTS.slice(1));
  await oso.delete("has_role", null, null, { type: "Repository" });
  await holds(oso, ...FACTS.slice(2));
  await oso.delete("has_role", bob, null);
  await holds(oso, FACTS[2]);
});

test("many facts are told and deleted at once", async () => {
  const oso = await fresh();
  await oso.bulkTell(FACTS);
  await holds(oso, ...FACTS);
  await oso.bulkDelete([FACTS[0], ["has_role", bob, null, null], ["has_role", User("eve"), "auditor"]]);
  await holds(oso, FACTS[1], FACTS[3]);
});

test("a bulk deletes first and then tells, all or nothing", async () => {
  const oso = await fresh(FACTS);
  const told = ["has_role", ada, "member", GLOBEX];
  await oso.bulk([["has_role", ada, null, null]], [told]);
  await holds(oso, FACTS[2], FACTS[3], told);
  await assert.rejects(oso.bulk([["has_role", ada, null, null]], [["is_friendly", ada]]), /not used in policy/);
  await oso.bulk();
  await holds(oso, FACTS[2], FACTS[3], told);
});

test("statistics count what is stored", async () => {
  const oso = await fresh(FACTS);
  const { policy, facts } = await oso.api.getStats();
  assert.deepEqual(facts, { total: 4, predicates: { has_role: 4 } });
  assert.deepEqual(policy.versions.map((version) => typeof version), ["string"]);
});
