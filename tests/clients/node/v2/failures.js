// What the client makes of every status, and of the address to fall back to.

"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { client, fresh, typedVar } = require("./client");
const { URL, BUSY_URL, SLOW_URL, READ_ONLY_KEY, User, Repository, closedUrl, withAnswers } = require("../world");

const [ada, site] = [User("ada"), Repository("site")];

/** The error of a call; its message always names the request. */
async function failure(call) {
  const error = await call.then(() => assert.fail("it did not fail"), (error) => error);
  assert.match(error.message, /^Oso Cloud error: [^]+ \(Request ID: \S+\)$/);
  return error;
}

test("400: the message says what is wrong", async () => {
  const oso = await fresh();
  const error = await failure(oso.insert(["is_friendly", ada]));
  assert.equal(error.statusCode, 400);
  assert.match(error.message, /is_friendly\(User\) is not used in policy/);
});

test("401: an unknown key is refused", async () => {
  await fresh();
  const error = await failure(client({}, { key: "e_0123456789_12345_unknown" }).get(["has_role"]));
  assert.equal(error.statusCode, 401);
  assert.match(error.message, /the API key is unknown or was revoked/);
});

test("403: a key that may only read asks, and changes nothing", async () => {
  await fresh([["is_public", site]]);
  const reader = client({}, { key: READ_ONLY_KEY });
  assert.equal(await reader.authorize(ada, "read", site), true);
  const error = await failure(reader.delete(["is_public", null]));
  assert.equal(error.statusCode, 403);
  assert.match(error.message, /this API key is read-only/);
});

test("404: there is no metadata before the first policy, and nothing but the service's own paths", async () => {
  const oso = await fresh();
  await oso.api.clearData();
  assert.equal((await failure(oso.getPolicyMetadata())).statusCode, 404);
  assert.equal((await failure(client({}, { url: `${URL}/elsewhere` }).get(["has_role"]))).statusCode, 404);
});

test("413: over a limit, which the message names", async () => {
  const oso = await fresh();
  const context = Array.from({ length: 101 }, (_, n) => ["has_role", User(`u${n}`), "reader", site]);
  const error = await failure(oso.authorize(ada, "read", site, context));
  assert.equal(error.statusCode, 413);
  assert.match(error.message, /100/);
});

test("a body of 10 MiB is not even sent", async () => {
  const oso = await fresh();
  const long = "x".repeat(300);
  const facts = Array.from({ length: 25_000 }, (_, n) => ["has_role", User(`${long}${n}`), "reader", site]);
  await assert.rejects(oso.batch((tx) => facts.forEach((fact) => tx.insert(fact))), /Request payload too large/);
});

test("503: the error tells when to try again", async () => {
  const error = await failure(client({}, { url: BUSY_URL }).authorize(ada, "read", site));
  assert.equal(error.statusCode, 503);
  assert.equal(error.retryAfter, 1);
  assert.match(error.message, /the service is not available at the moment/);
});

test("429: over a rate the error tells when to try again", async () => {
  const calls = Array.from({ length: 10 }, () => client({}, { url: SLOW_URL }).get(["has_role"]));
  const refused = (await Promise.allSettled(calls)).filter((call) => call.status === "rejected");
  assert.notEqual(refused.length, 0);
  for (const { reason } of refused) {
    assert.deepEqual([reason.statusCode, reason.retryAfter], [429, 1]);
    assert.match(reason.message, /this key is over its rate limit of 1 requests per second/);
  }
});

test("503 and 429 are tried three times, and 401 once", async () => {
  for (const [status, times] of [[503, 3], [429, 3], [401, 1]]) {
    const requests = await withAnswers([{ status, json: { message: "no" } }], async (url) => {
      assert.equal((await failure(client({}, { url }).get(["has_role"]))).statusCode, status);
    });
    assert.equal(requests.length, times);
  }
});

test("409: a list waits as long as it is told, and goes on", async () => {
  const wait = { status: 409, headers: { "Retry-After": "1" }, json: { message: "the page is not ready" } };
  const page = { status: 200, json: { results: ["site"], next_page_token: null } };
  const requests = await withAnswers([wait, page], async (url) => {
    assert.deepEqual(await client({}, { url }).list(ada, "read", "Repository"), ["site"]);
  });
  assert.equal(requests.length, 2);
  assert.ok(requests[1].at - requests[0].at >= 950, "it waited a second");
});

test("questions go to the address to fall back to when nobody listens, or when the server cannot", async () => {
  await fresh([["is_public", site]]);
  const action = typedVar("String");
  for (const url of [await closedUrl(), BUSY_URL]) {
    const oso = client({ fallbackUrl: URL }, { url });
    assert.equal(await oso.authorize(ada, "read", site), true);
    assert.deepEqual(await oso.list(ada, "read", "Repository"), ["site"]);
    assert.deepEqual(await oso.actions(ada, site), ["read"]);
    assert.deepEqual(await oso.buildQuery(["allow", ada, action, site]).evaluate(action), ["read"]);
    assert.equal(typeof (await oso.authorizeLocal(ada, "read", site)), "string");
    assert.ok("Repository" in (await oso.getPolicyMetadata()).resources);
    // The client falls back without its parameters, so it gets every fact.
    assert.equal((await oso.get(["has_role"])).length, 1);
    await assert.rejects(oso.insert(["is_public", site]), /Oso Cloud error/);
  }
  const hasty = client({ fallbackUrl: URL, fetchTimeoutMillis: 0 });
  assert.equal(await hasty.authorize(ada, "read", site), true);
});

test("the client logs how long the server took", async () => {
  await fresh();
  const lines = [];
  const oso = client({ debug: { logger: (level, message, metadata) => lines.push({ level, message, metadata }) } });
  await oso.authorize(ada, "read", site);
  const [{ level, metadata }] = lines;
  assert.equal(level, "debug");
  assert.deepEqual([metadata.path, metadata.status], ["/authorize", 200]);
  assert.ok(Number.isInteger(metadata.serverMs) && metadata.serverMs <= metadata.totalMs, JSON.stringify(metadata));
});
