// What the client makes of every status, and of the address to fall back to. Its errors have a message and no more.

"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { client, fresh } = require("./client");
const { URL, BUSY_URL, SLOW_URL, READ_ONLY_KEY, User, Repository, closedUrl, withAnswers } = require("../world");

const [ada, site] = [User("ada"), Repository("site")];

test("400: the message says what is wrong", async () => {
  const oso = await fresh();
  await assert.rejects(oso.tell("is_friendly", ada), { message: /^Oso Cloud error: is_friendly\(User\) is not used/ });
});

test("401: an unknown key is refused", async () => {
  const oso = client({}, { key: "e_0123456789_12345_unknown" });
  await assert.rejects(oso.get("has_role"), { message: "Oso Cloud error: the API key is unknown or was revoked: send another one" });
});

test("403: a key that may only read asks, and changes nothing", async () => {
  await fresh([["is_public", site]]);
  const reader = client({}, { key: READ_ONLY_KEY });
  assert.deepEqual(await reader.authorizeResources(ada, "read", [site]), [site]);
  await assert.rejects(reader.delete("is_public", null), { message: "Oso Cloud error: this API key is read-only: send a read-write key" });
});

test("404: there is no metadata before the first policy", async () => {
  const oso = await fresh();
  await oso.api.clearData();
  await assert.rejects(oso.getPolicyMetadata(), { message: /^Oso Cloud error: .*policy/ });
});

test("413: over a limit, which the message names", async () => {
  const oso = await fresh();
  const context = Array.from({ length: 101 }, (_, n) => ["has_role", User(`u${n}`), "reader", site]);
  await assert.rejects(oso.authorize(ada, "read", site, context), { message: /^Oso Cloud error: .*100/ });
  const long = "x".repeat(300);
  const facts = Array.from({ length: 30_000 }, (_, n) => ["has_role", User(`${long}${n}`), "reader", site]);
  await assert.rejects(oso.bulkTell(facts), { message: /^Oso Cloud error: the body is larger than the limit/ });
});

test("503: tried again and again, for a third of a second", async () => {
  const oso = client({}, { url: BUSY_URL });
  const started = Date.now();
  await assert.rejects(oso.tell("is_public", site), { message: "Oso Cloud error: the service is not available at the moment: wait as long as `Retry-After` says, and try again" });
  assert.ok(Date.now() - started >= 300, "it waited 10, 20, 40, 80 and 160 ms");
});

test("429: over a rate, tried again and again as well", async () => {
  const calls = Array.from({ length: 10 }, () => client({}, { url: SLOW_URL }).get("has_role"));
  const refused = (await Promise.allSettled(calls)).filter((call) => call.status === "rejected");
  assert.notEqual(refused.length, 0);
  for (const { reason } of refused) {
    assert.equal(reason.message, "Oso Cloud error: this key is over its rate limit of 1 requests per second: wait as long as `Retry-After` says, and try again");
  }
});

test("409: an error at once, which a server gives to pages only, and this client asks for none", async () => {
  const wait = { status: 409, headers: { "Retry-After": "1" }, json: { message: "the page is not ready" } };
  const requests = await withAnswers([wait], (url) =>
    assert.rejects(client({}, { url }).list(ada, "read", "Repository"), { message: "Oso Cloud error: the page is not ready" }));
  assert.equal(requests.length, 1);
});

test("questions go to the address to fall back to when nobody listens, or when the server cannot", async () => {
  await fresh([["is_public", site]]);
  for (const url of [await closedUrl(), BUSY_URL]) {
    const oso = client({ fallbackUrl: URL }, { url });
    assert.equal(await oso.authorize(ada, "read", site), true);
    assert.deepEqual(await oso.authorizeResources(ada, "read", [site]), [site]);
    assert.deepEqual(await oso.list(ada, "read", "Repository"), ["site"]);
    assert.deepEqual(await oso.actions(ada, site), ["read"]);
    assert.deepEqual(await oso.query("is_public", null), [["is_public", site]]);
    await assert.rejects(oso.tell("is_public", site), /ECONNREFUSED|not available/);
  }
});
