// What the suites run against: the servers and the database that `tests/clients/main.rs` starts, as its environment names
// them, and the policy that they share.

"use strict";

const { readFileSync } = require("node:fs");
const { createServer } = require("node:http");
const { createServer: createListener } = require("node:net");
const { join } = require("node:path");
const { Pool } = require("pg");

function variable(name) {
  const text = process.env[name];
  if (!text) throw new Error(`${name} is not set: run \`cargo test --test clients\`, or see tests/clients/README.md`);
  return text;
}

const shared = (name) => join(__dirname, "..", name);

/** A server in development mode, empty at first. */
const URL = variable("OSO_URL");
/** A key to all of it, and one that may only read. */
const KEY = variable("OSO_AUTH");
const READ_ONLY_KEY = variable("READ_ONLY_AUTH");
/** A server that has no seat for any request: each is answered with 503. */
const BUSY_URL = variable("BUSY_URL");
/** A server that takes one request a second. */
const SLOW_URL = variable("SLOW_URL");

const POLICY = readFileSync(shared("policy.polar"), "utf8");
const BINDINGS = shared("bindings.yaml");

const value = (type) => (id) => ({ type, id });
const User = value("User");
const Organization = value("Organization");
const Repository = value("Repository");

const ACME = Organization("a0000000-0000-4000-8000-000000000001");
const GLOBEX = Organization("b0000000-0000-4000-8000-000000000002");

/** Facts in an order that does not depend on who gives them. */
function inOrder(facts) {
  const text = ([predicate, ...args]) => [predicate, ...args.map((arg) => arg.id ?? arg)].join(" ");
  return [...facts].sort((one, other) => (text(one) < text(other) ? -1 : 1));
}

/** Runs `body` with connections to the application's database. */
async function withDatabase(body) {
  const pool = new Pool({ max: 2 });
  try {
    return await body(pool);
  } finally {
    await pool.end();
  }
}

/** A port on which nobody listens. */
async function closedUrl() {
  const listener = createListener();
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address();
  await new Promise((resolve) => listener.close(resolve));
  return `http://127.0.0.1:${port}`;
}

/**
 * Runs `body` with the address of a server that gives these answers, one a request and the last one again and again,
 * and returns the requests that came. Only for a status that the real server has no setting for.
 */
async function withAnswers(answers, body) {
  const requests = [];
  const server = createServer((request, response) => {
    const { status, headers, json } = answers[Math.min(requests.length, answers.length - 1)];
    requests.push({ at: Date.now(), path: request.url, headers: request.headers });
    request.resume().on("end", () => {
      response.writeHead(status, { "Content-Type": "application/json", ...headers });
      response.end(JSON.stringify(json));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await body(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return requests;
}

module.exports = {
  URL, KEY, READ_ONLY_KEY, BUSY_URL, SLOW_URL, POLICY, BINDINGS, ACME, GLOBEX, User, Organization, Repository,
  inOrder, withDatabase, closedUrl, withAnswers,
};
