// What all journeys share: the browser, a service with known content, and what is true of every page.
//
// The service's address, its printed link and the folder for screenshots come from the environment. With
// STUDIO_DIST, files of that folder (as `node studio/build.js FOLDER` makes them) are shown instead of those in
// the program, to try a change without building it.
import { chromium } from "playwright-core";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { POLICY } from "../../studio/src/example_policy.js";

export { POLICY };

export const URL_OF_SERVICE = process.env.STUDIO_URL;
export const LINK = process.env.STUDIO_LINK;
export const KEY = process.env.STUDIO_KEY;
const SHOTS = process.env.STUDIO_SHOTS;
const DIST = process.env.STUDIO_DIST;

/** What every journey may make the browser say. */
const USUAL = [
  // A draft or a question with errors.
  /status of 400 .*\/studio\/draft\//,
  // Chromium keeps the look of a text that replaces a selection, by a style that the page's policy forbids.
  // The editor draws the line again in any case.
  /Applying inline style violates/,
];

/** How long a step may take; many times what it needs. */
const PATIENCE = 15_000;

const of = (text) => {
  const [, type, id] = /^(\w+):(.*)$/s.exec(text);
  return { type, id };
};

/** A fact from its predicate and `Type:id` texts. */
export const fact = (predicate, ...args) => ({ predicate, args: args.map(of) });

export const FACTS = [
  fact("has_role", "User:alice", "String:member", "Organization:acme"),
  fact("has_role", "User:bob", "String:admin", "Organization:acme"),
  fact("has_relation", "Repository:docs", "String:organization", "Organization:acme"),
  fact("has_relation", "Repository:site", "String:organization", "Organization:acme"),
  fact("is_public", "Repository:site"),
];

/** A request to the service itself, with a key. */
export async function api(method, path, body, key = KEY) {
  const response = await fetch(`${URL_OF_SERVICE}/api/${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const answer = await response.json();
  assert.ok(response.ok, JSON.stringify(answer));
  return answer;
}

/** The policy and the facts that journeys begin with. */
export async function reset(policy = POLICY, facts = FACTS) {
  await api("POST", "clear_data");
  if (policy) await api("POST", "policy", { src: policy, filename: "policy.polar" });
  if (facts.length) await api("POST", "batch", [{ inserts: facts }]);
}

/** Opens a session without the page's form. */
export async function signIn(context, key = KEY) {
  const headers = { Origin: URL_OF_SERVICE };
  const response = await context.request.post(`${URL_OF_SERVICE}/studio/session`, { data: { key }, headers });
  assert.equal(response.status(), 200, await response.text());
}

/** Opens the studio with a session, and waits until its editor is there. */
export async function open(context, { key = KEY, hash = "" } = {}) {
  await signIn(context, key);
  const page = await context.newPage();
  await page.goto(`${URL_OF_SERVICE}/studio/${hash}`);
  await page.locator(".cm-content").waitFor();
  return page;
}

/** Fills in a question about access. */
export async function ask(page, actor, action, resource) {
  await page.getByRole("combobox", { name: "Actor" }).fill(actor);
  await page.getByRole("combobox", { name: "Action" }).fill(action);
  await page.getByRole("combobox", { name: "Resource" }).fill(resource);
  await page.keyboard.press("Escape");
}

/** Replaces the text of the editor. */
export async function write(page, text) {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

/** The text of the editor, all of it. */
export const draft = (page) =>
  page.evaluate(() => document.querySelector(".editor").shadowRoot.querySelector(".cm-content").innerText);

async function override(context) {
  if (!DIST) return;
  const types = { js: "text/javascript", css: "text/css", html: "text/html", svg: "image/svg+xml" };
  await context.route(/\/studio\/([\w.]*)$/, async (route) => {
    const name = new URL(route.request().url()).pathname.split("/").pop() || "index.html";
    const file = join(DIST, `${name}.gz`);
    if (!existsSync(file)) return route.continue();
    const response = await route.fetch();
    const headers = { ...response.headers(), "content-type": types[name.split(".").pop()] };
    delete headers["content-encoding"];
    delete headers["content-length"];
    await route.fulfill({ status: 200, headers, body: gunzipSync(readFileSync(file)) });
  });
}

/**
 * Runs journeys one after the other, each in a browser of its own kind: no request leaves the service, and the
 * browser reports no error, except those that a journey expects.
 * @param {Record<string, (context: import("playwright-core").BrowserContext, expected: RegExp[]) => Promise<void>>} journeys
 */
export async function run(journeys) {
  // A page that comes from the test itself is not one of this machine to Chromium.
  const trusting = DIST ? ["--disable-features=LocalNetworkAccessChecks"] : [];
  const args = ["--no-sandbox", ...trusting];
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args });
  let failed = 0;
  for (const [name, journey] of Object.entries(journeys)) {
    if (process.argv[2] && !name.includes(process.argv[2])) continue;
    const began = performance.now();
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    context.setDefaultTimeout(PATIENCE);
    const troubles = [];
    const expected = [...USUAL];
    context.on("request", (request) => {
      const { origin, protocol } = new URL(request.url());
      if (origin !== URL_OF_SERVICE && !["data:", "blob:"].includes(protocol)) troubles.push(`asks ${request.url()}`);
    });
    context.on("console", (message) => {
      if (message.type() === "error") troubles.push(`${message.text()} ${message.location().url}`);
    });
    context.on("weberror", (error) => troubles.push(String(error.error().stack)));
    try {
      await override(context);
      await reset();
      await journey(context, expected);
      const left = troubles.filter((trouble) => !expected.some((known) => known.test(trouble)));
      assert.deepEqual(left, [], "the browser reports nothing");
      console.log(`ok ${name} (${Math.round(performance.now() - began)} ms)`);
    } catch (error) {
      failed += 1;
      mkdirSync(SHOTS, { recursive: true });
      const shot = join(SHOTS, `${name.replaceAll(/\W+/g, "-")}.png`);
      await context.pages().at(-1)?.screenshot({ path: shot }).catch(() => null);
      console.log(`FAILED ${name}: ${error.stack}\n${troubles.join("\n")}\nthe page as it was: ${shot}`);
    }
    await context.close();
  }
  await browser.close();
  process.exitCode = failed ? 1 : 0;
}
