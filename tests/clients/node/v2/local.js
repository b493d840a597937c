// SQL that the service returns, run on the application's PostgreSQL through `pg` and through Kysely.

"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { Kysely, PostgresDialect, sql } = require("kysely");
const { client, fresh, parityHandle, typedVar } = require("./client");
const { User, Repository, ACME, GLOBEX, withDatabase } = require("../world");

const [ada, bob, eve, ops] = ["ada", "bob", "eve", "ops"].map(User);
const [site, tools, vault, docs, missing] = ["1", "2", "3", "4", "4711"].map(Repository);

// Stored in the service; the rest are rows of schema.sql.
const STORED = [
  ["has_role", bob, "maintainer", vault],
  ["has_role", ada, "maintainer", site],
  ["is_operator", ops],
];

async function allowed(pool, query) {
  const { rows, fields } = await pool.query(query);
  assert.deepEqual([rows.length, fields.map((field) => field.name)], [1, ["allowed"]]);
  return rows[0].allowed;
}

async function actions(pool, query) {
  const { rows } = await pool.query(`SELECT array_agg(actions) AS all FROM (${query}) AS actions`);
  return rows[0].all;
}

/** The repositories that a condition over `id` lets through. */
async function through(pool, condition) {
  const { rows } = await pool.query(`SELECT id FROM repositories WHERE id > 0 AND ${condition} ORDER BY id`);
  return rows.map((row) => row.id);
}

test("a check is one row with a boolean", () => withDatabase(async (pool) => {
  const oso = await fresh(STORED);
  assert.equal(await allowed(pool, await oso.authorizeLocal(ada, "read", tools)), true);
  assert.equal(await allowed(pool, await oso.authorizeLocal(ada, "write", tools)), false);
  assert.equal(await allowed(pool, await oso.authorizeLocal(bob, "write", vault)), true);
  assert.equal(await allowed(pool, await oso.authorizeLocal(bob, "read", site)), false);
  assert.equal(await allowed(pool, await oso.authorizeLocal(bob, "read", docs)), true);
  assert.equal(await allowed(pool, await oso.authorizeLocal(ops, "restart", missing)), true);
  assert.equal(await allowed(pool, await oso.authorizeLocal(ops, "frob", site)), false);
  const context = [["has_role", eve, "reader", site]];
  assert.equal(await allowed(pool, await oso.authorizeLocal(eve, "read", site, context)), true);
  assert.equal(await allowed(pool, await oso.authorizeLocal(eve, "read", site, { contextFacts: context })), true);
}));

test("a report about a check that the application ran itself is taken", () => withDatabase(async (pool) => {
  const oso = await fresh(STORED);
  const handle = parityHandle();
  assert.equal(await allowed(pool, await oso.authorizeLocal(ada, "read", tools, { parityHandle: handle })), true);
  handle.expect(true);
  const { message } = await oso.api.postExpectedResult({ request_id: handle.requestId, expected: true });
  assert.match(message, /^not recorded: no decision is known/);
}));

test("actions are rows of one column", () => withDatabase(async (pool) => {
  const oso = await fresh(STORED);
  assert.deepEqual(await actions(pool, await oso.actionsLocal(ada, site)), ["read", "write"]);
  assert.deepEqual(await actions(pool, await oso.actionsLocal(ada, tools)), ["read"]);
  assert.deepEqual(await actions(pool, await oso.actionsLocal(eve, GLOBEX)), ["invite", "visit"]);
  assert.equal(await actions(pool, await oso.actionsLocal(bob, site)), null);
  const context = [["has_role", bob, "reader", site]];
  assert.deepEqual(await actions(pool, await oso.actionsLocal(bob, site, context)), ["read"]);
}));

test("a list is a condition over the column that the caller names", () => withDatabase(async (pool) => {
  const oso = await fresh(STORED);
  const list = async (...question) => through(pool, await oso.listLocal(...question));
  assert.deepEqual(await list(ada, "read", "Repository", "id"), ["1", "2", "4"]);
  assert.deepEqual(await list(ada, "write", "Repository", "repositories.id"), ["1"]);
  assert.deepEqual(await list(bob, "read", "Repository", '"repositories"."id"'), ["3", "4"]);
  assert.deepEqual(await list(ops, "restart", "Repository", "id"), ["1", "2", "3", "4"]);
  assert.deepEqual(await list(ada, "frob", "Repository", "id"), []);
  const context = [["has_role", eve, "reader", vault]];
  assert.deepEqual(await list(eve, "read", "Repository", "id", context), ["3", "4"]);
}));

test("a condition stands under NOT and OR, and in a statement with parameters", () => withDatabase(async (pool) => {
  const oso = await fresh(STORED);
  const condition = await oso.listLocal(ada, "read", "Repository", "id");
  assert.deepEqual(await through(pool, `NOT ${condition}`), ["3"]);
  assert.deepEqual(await through(pool, `(id = 3 OR ${condition})`), ["1", "2", "3", "4"]);
  const update = `UPDATE repositories SET name = $1 WHERE id = $2 AND ${condition}`;
  assert.equal((await pool.query(update, ["website", "1"])).rowCount, 1);
  assert.equal((await pool.query(update, ["mine", "3"])).rowCount, 0);
}));

test("an actor's id is data, whatever it says", () => withDatabase(async (pool) => {
  for (const id of ["'; DROP TABLE repositories; --", "\\' OR 1=1 --", "$1 ? :x %s {y}", "a\nb"]) {
    const oso = await fresh([["has_role", User(id), "reader", vault]]);
    assert.deepEqual(await through(pool, await oso.listLocal(User(id), "read", "Repository", "id")), ["3", "4"]);
    assert.equal(await allowed(pool, await oso.authorizeLocal(User(id), "read", site)), false);
    // With parameters of its own the statement is prepared, and every place of a parameter counts.
    const condition = await oso.listLocal(User(id), "read", "Repository", "id");
    const { rows } = await pool.query(`SELECT id FROM repositories WHERE id = $1 AND ${condition}`, [3]);
    assert.equal(rows.length, 1);
  }
}));

test("a query selects its variables into columns", () => withDatabase(async (pool) => {
  const oso = await fresh(STORED);
  const [action, repository] = [typedVar("String"), typedVar("Repository")];
  const query = oso.buildQuery(["allow", ada, action, repository]).in(repository, [site.id, tools.id, vault.id]);
  const select = await query.evaluateLocalSelect({ "Repository id": repository, action });
  const { rows } = await pool.query(`SELECT * FROM (${select}) AS found ORDER BY 1, 2`);
  assert.deepEqual(rows, [
    { "Repository id": "1", action: "read" },
    { "Repository id": "1", action: "write" },
    { "Repository id": "2", action: "read" },
  ]);
  await assert.rejects(query.evaluateLocalSelect({ one: action, two: action }), /duplicated String variable/);
}));

test("a query without columns selects a boolean", () => withDatabase(async (pool) => {
  const oso = await fresh(STORED);
  const repository = typedVar("Repository");
  const holds = oso.buildQuery(["allow", ada, "read", repository]).and(["popular", repository]);
  assert.deepEqual((await pool.query(await holds.evaluateLocalSelect())).rows, [{ result: true }]);
  const fails = holds.and(["dormant", repository]);
  assert.deepEqual((await pool.query(await fails.evaluateLocalSelect({}))).rows, [{ result: false }]);
}));

test("a query filters a column", () => withDatabase(async (pool) => {
  const oso = await fresh(STORED);
  const repository = typedVar("Repository");
  const query = oso.buildQuery(["allow", ada, "read", repository])
    .and(["has_relation", repository, "organization", ACME]);
  assert.deepEqual(await through(pool, await query.evaluateLocalFilter("id", repository)), ["1", "2"]);
  const popular = query.and(["popular", repository]).withContextFacts([["has_role", ada, "reader", docs]]);
  assert.deepEqual(await through(pool, await popular.evaluateLocalFilter("repositories.id", repository)), ["1"]);
}));

test("Kysely takes a condition next to its own, and runs whole statements", () => withDatabase(async (pool) => {
  const db = new Kysely({ dialect: new PostgresDialect({ pool }) });
  const oso = await fresh(STORED);
  const readable = sql.raw(await oso.listLocal(ada, "read", "Repository", "repository.id"));
  const rows = await db.selectFrom("repositories as repository")
    .innerJoin("organizations", "organizations.id", "repository.organization_id")
    .select(["repository.id", "organizations.name as of"])
    .where("repository.stars", ">", 10).where(readable).orderBy("repository.id").limit(10).execute();
  assert.deepEqual(rows, [{ id: "1", of: "acme" }, { id: "4", of: "globex" }]);

  const check = sql.raw(await oso.authorizeLocal(ada, "read", tools));
  assert.deepEqual((await check.execute(db)).rows, [{ allowed: true }]);

  const repository = typedVar("Repository");
  const popular = await oso.buildQuery(["popular", repository]).evaluateLocalFilter("id", repository);
  const changed = await db.updateTable("repositories").set({ name: "popular" })
    .where("id", "in", [1, 2]).where(sql.raw(popular)).executeTakeFirst();
  assert.equal(changed.numUpdatedRows, 1n);
}));

test("without a document, and with one that cannot be, the client or the service says so", async () => {
  await fresh(STORED);
  const without = client({ dataBindings: undefined });
  await assert.rejects(without.listLocal(ada, "read", "Repository", "id"), /Data bindings file missing or empty/);
  await assert.rejects(client({ dataBindings: __filename }).listLocal(ada, "read", "Repository", "id"), /Request ID/);
});
