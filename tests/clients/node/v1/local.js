// SQL that the service returns, run on the application's PostgreSQL through `pg` and through Kysely.

"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { Kysely, PostgresDialect, sql } = require("kysely");
const { client, fresh } = require("./client");
const { User, Repository, withDatabase } = require("../world");

const [ada, bob, ops] = ["ada", "bob", "ops"].map(User);
const [site, vault, missing] = ["1", "3", "4711"].map(Repository);
const STORED = [["has_role", bob, "maintainer", vault], ["is_operator", ops]];

test("a check is one row with a boolean", () => withDatabase(async (pool) => {
  const oso = await fresh(STORED);
  const allowed = async (...question) => (await pool.query(await oso.authorizeLocal(...question))).rows;
  assert.deepEqual(await allowed(ada, "read", site), [{ allowed: true }]);
  assert.deepEqual(await allowed(ada, "write", site), [{ allowed: false }]);
  assert.deepEqual(await allowed(bob, "write", vault), [{ allowed: true }]);
  assert.deepEqual(await allowed(ops, "restart", missing), [{ allowed: true }]);
  assert.deepEqual(await allowed(ops, "frob", missing), [{ allowed: false }]);
}));

test("a list is a condition, also next to those of Kysely", () => withDatabase(async (pool) => {
  const oso = await fresh(STORED);
  const db = new Kysely({ dialect: new PostgresDialect({ pool }) });
  const list = async (actor, action) => {
    const condition = sql.raw(await oso.listLocal(actor, action, "Repository", "repositories.id"));
    const rows = await db.selectFrom("repositories").where("id", "<", 100).where(condition).select("id").orderBy("id").execute();
    return rows.map((row) => row.id);
  };
  assert.deepEqual(await list(ada, "read"), ["1", "2", "4"]);
  assert.deepEqual(await list(bob, "write"), ["3"]);
  assert.deepEqual(await list(ops, "restart"), ["1", "2", "3", "4"]);
  assert.deepEqual(await list(ops, "frob"), []);
}));

test("without a document the SQL holds what stored facts decide", () => withDatabase(async (pool) => {
  await fresh(STORED);
  const condition = await client({ dataBindings: undefined }).listLocal(bob, "write", "Repository", "id");
  assert.deepEqual((await pool.query(`SELECT id FROM repositories WHERE ${condition}`)).rows, [{ id: "3" }]);
}));
