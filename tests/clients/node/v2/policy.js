// The policy and what is known about it.

"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { client, fresh } = require("./client");
const { POLICY, User, Repository } = require("../world");

const NOTHING = { roles: [], permissions: [], relations: {} };

test("metadata lists every block, and the global one", async () => {
  const oso = await fresh();
  assert.deepEqual(await oso.getPolicyMetadata(), {
    resources: {
      User: NOTHING,
      Organization: { roles: ["member", "owner"], permissions: ["invite"], relations: {} },
      Repository: {
        roles: ["maintainer", "reader"],
        permissions: ["read", "write"],
        relations: { organization: "Organization" },
      },
      global: { roles: ["auditor"], permissions: ["audit"], relations: {} },
    },
  });
});

test("a policy replaces the one before it, and its text is read back", async () => {
  const oso = await fresh();
  await oso.policy(POLICY);
  assert.deepEqual(await oso.api.getPolicy(), { policy: { filename: "policy.polar", src: POLICY } });
  await oso.policy("actor User {}");
  assert.deepEqual(await oso.getPolicyMetadata(), { resources: { User: NOTHING, global: NOTHING } });
});

test("a policy that does not validate, or whose tests fail, is refused with its reason and changes nothing", async () => {
  const oso = await fresh([["is_public", Repository("site")]]);
  await assert.rejects(oso.policy('resource Repository { "read" if "raeder"; }'), /`raeder`[^]*Request ID: \S+\)$/);
  const failing = `${POLICY}
test "everybody writes" { assert allow(User{"ada"}, "write", Repository{"site"}); }`;
  await assert.rejects(oso.policy(failing), /everybody writes/);
  assert.equal(await oso.authorize(User("ada"), "read", Repository("site")), true);
});

test("clearing takes facts and policy", async () => {
  const oso = await fresh([["is_public", Repository("site")]]);
  await oso.api.clearData();
  assert.deepEqual(await oso.get(["is_public"]), []);
  assert.deepEqual(await oso.api.getPolicy(), { policy: null });
  assert.equal(await client().authorize(User("ada"), "read", Repository("site")), false);
});
