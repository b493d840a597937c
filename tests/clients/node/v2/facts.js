// Facts go in, come back and go away.

"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { fresh } = require("./client");
const { User, Repository, ACME, GLOBEX, inOrder } = require("../world");

const text = (id) => ({ type: "String", id });
const [ada, bob, site, tools] = [User("ada"), User("bob"), Repository("1"), Repository("2")];

const FACTS = [
  ["has_role", ada, "reader", site],
  ["has_role", ada, "maintainer", tools],
  ["has_role", bob, "reader", site],
  ["has_role", bob, "member", ACME],
  ["has_role", bob, "auditor"],
];

/** The stored facts that match, in an order of their own. */
const stored = async (oso, pattern) => inOrder(await oso.get(pattern));

/** Facts as the client gives them out: a plain text is a value as well. */
function are(...facts) {
  const plain = (arg, at) => (at > 0 && typeof arg === "string" ? text(arg) : arg);
  return inOrder(facts.map((fact) => fact.map(plain)));
}

test("an inserted fact is read back, and inserting it again changes nothing", async () => {
  const oso = await fresh();
  await oso.insert(FACTS[0]);
  await oso.insert(FACTS[0]);
  assert.deepEqual(await oso.get(FACTS[0]), [["has_role", ada, text("reader"), site]]);
});

test("numbers, big integers and booleans are values of their types", async () => {
  const oso = await fresh();
  await oso.insert(["has_stars", site, 250]);
  await oso.insert(["has_stars", tools, 9007199254740993n]);
  await oso.insert(["is_archived", tools, true]);
  assert.deepEqual(await oso.get(["has_stars", site, null]), [["has_stars", site, { type: "Integer", id: "250" }]]);
  assert.deepEqual(await stored(oso, ["has_stars", null, 9007199254740993n]),
    are(["has_stars", tools, { type: "Integer", id: "9007199254740993" }]));
  assert.deepEqual(await oso.get(["is_archived", null, true]), [["is_archived", tools, { type: "Boolean", id: "true" }]]);
  assert.deepEqual(await oso.get(["is_archived", null, false]), []);
});

test("a pattern has values, wildcards and wildcards of one type", async () => {
  const oso = await fresh(FACTS);
  assert.deepEqual(await stored(oso, ["has_role", ada, "reader", site]), are(FACTS[0]));
  for (const any of [null, {}, { type: null, id: null }]) {
    assert.deepEqual(await stored(oso, ["has_role", any, "reader", any]), are(FACTS[0], FACTS[2]));
  }
  for (const anyRepository of [{ type: "Repository" }, { type: "Repository", id: null }]) {
    assert.deepEqual(await stored(oso, ["has_role", bob, null, anyRepository]), are(FACTS[2]));
  }
  assert.deepEqual(await stored(oso, ["has_role", { type: "User" }, { type: "String" }, ACME]), are(FACTS[3]));
  assert.deepEqual(await stored(oso, ["has_role", User("eve"), null, null]), []);
});

test("a position that a pattern does not mention matches anything, also no argument", async () => {
  const oso = await fresh(FACTS);
  assert.deepEqual(await stored(oso, ["has_role"]), are(...FACTS));
  assert.deepEqual(await stored(oso, ["has_role", bob]), are(...FACTS.slice(2)));
  assert.deepEqual(await stored(oso, ["has_role", bob, null, null]), are(...FACTS.slice(2)));
  assert.deepEqual(await stored(oso, ["_"]), are(...FACTS));
});

test("an id may hold anything", async () => {
  const oso = await fresh();
  const ids = ["a b&c=d", "ünï/コード", "'; DROP TABLE facts; --", "100%", "a+b", "\\' OR 1=1 --", "[]", "🦀"];
  await oso.batch((tx) => ids.forEach((id) => tx.insert(["has_role", User(id), "reader", site])));
  for (const id of ids) {
    assert.deepEqual(await stored(oso, ["has_role", User(id), null, null]), are(["has_role", User(id), "reader", site]));
  }
});

test("a fact is deleted by its values or by wildcards, and one that is not there is no error", async () => {
  const oso = await fresh(FACTS);
  await oso.delete(FACTS[0]);
  await oso.delete(FACTS[0]);
  assert.deepEqual(await stored(oso, ["has_role"]), are(...FACTS.slice(1)));
  await oso.delete(["has_role", bob, null, { type: "Repository" }]);
  assert.deepEqual(await stored(oso, ["has_role"]), are(FACTS[1], FACTS[3], FACTS[4]));
  // A pattern to delete has exactly its arguments: the global role has one less.
  await oso.delete(["has_role", null, null, null]);
  assert.deepEqual(await stored(oso, ["has_role"]), are(FACTS[4]));
});

test("a batch applies its changes in their order", async () => {
  const oso = await fresh(FACTS);
  await oso.batch((tx) => {
    tx.insert(["has_role", ada, "owner", GLOBEX]);
    tx.delete(["has_role", ada, null, null]);
    tx.insert(["has_role", ada, "member", GLOBEX]);
    tx.delete(["has_role", bob, null]);
  });
  assert.deepEqual(await stored(oso, ["has_role"]), are(FACTS[2], FACTS[3], ["has_role", ada, "member", GLOBEX]));
});

test("a batch with one bad fact changes nothing", async () => {
  const oso = await fresh(FACTS);
  const bad = oso.batch((tx) => {
    tx.delete(["has_role", null, null, null]);
    tx.insert(["is_friendly", ada]);
  });
  await assert.rejects(bad, /is_friendly\(User\) is not used in policy/);
  assert.deepEqual(await stored(oso, ["has_role"]), are(...FACTS));
});

test("an empty batch is not even sent", async () => {
  const oso = await fresh(FACTS);
  await oso.batch(() => {});
  await oso.batch(async () => {});
  assert.deepEqual(await stored(oso, ["has_role"]), are(...FACTS));
});

test("a client reads what it wrote, and sends the offset of its last write", async () => {
  const oso = await fresh();
  await oso.insert(FACTS[0]);
  const offset = oso.api.lastOffset;
  assert.match(offset, /^\S+$/);
  assert.equal(oso.api._headers().OsoOffset, offset);
  assert.equal((await oso.get(FACTS[0])).length, 1);
});
