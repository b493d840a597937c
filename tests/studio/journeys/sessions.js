// Keys, rights, connections, and what everybody needs: keyboard, colours, a telephone, a shared link.
import axe from "axe-core";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { api, ask, draft, open, run, signIn, write, KEY, LINK, POLICY, URL_OF_SERVICE } from "../browser.js";

const READER = process.env.STUDIO_READER;
const signal = (name) => spawnSync("kill", [`-${name}`, process.env.STUDIO_PID]);

/** The serious faults that axe finds. */
async function faults(page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join("; ")}`);
}

await run({
  async "the printed link opens the studio once, and no key is in the page"(context, expected) {
    expected.push(/401 \(Unauthorized\)/);
    const page = await context.newPage();
    const began = performance.now();
    await page.goto(LINK);
    await page.locator(".cm-content").waitFor();
    console.log(`   usable after ${Math.round(performance.now() - began)} ms`);
    assert.equal(page.url(), `${URL_OF_SERVICE}/studio/`);
    assert.ok(!(await page.content()).includes(KEY));
    assert.equal(await page.evaluate(() => document.cookie + localStorage.length + sessionStorage.length), "00");
    await page.reload();
    await page.locator(".cm-content").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    assert.equal(await page.locator(".studio").count(), 0, "nothing stays of what it showed");
    await context.clearCookies();
    const again = await context.newPage();
    await again.goto(LINK);
    await again.getByText("this link was used before").waitFor();
    // A link in the same tab changes only the fragment.
    await signIn(context);
    await again.goto(LINK);
    await again.locator(".cm-content").waitFor();
    assert.equal(again.url(), `${URL_OF_SERVICE}/studio/`);
  },

  async "a wrong key is a clear message, and a right one opens the studio"(context, expected) {
    expected.push(/401 \(Unauthorized\)/);
    const page = await context.newPage();
    await page.goto(`${URL_OF_SERVICE}/studio/`);
    await page.getByLabel("API key").fill("e_0123456789_1_wrong");
    await page.keyboard.press("Enter");
    await page.getByText("the API key is unknown or was revoked").waitFor();
    assert.deepEqual(await faults(page), []);
    await page.getByLabel("API key").fill(KEY);
    await page.keyboard.press("Enter");
    await page.locator(".cm-content").waitFor();
  },

  async "an answer that comes before the first frame is shown"(context, expected) {
    expected.push(/401 \(Unauthorized\)/);
    await context.addInitScript(() => {
      window.requestAnimationFrame = () => 0;
    });
    const page = await context.newPage();
    await page.goto(`${URL_OF_SERVICE}/studio/`);
    await page.getByLabel("API key").waitFor();
  },

  async "an editor that asks a thousand questions at once gets all answers"(context) {
    const page = await open(context, { key: READER });
    const answered = await page.evaluate(() => new Promise((resolve) => {
      const socket = new WebSocket(new URL("lsp", location.href).href.replace(/^http/, "ws"));
      const send = (message) => socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
      let n_answered = 0;
      socket.onopen = () => send({ id: 0, method: "initialize", params: { capabilities: {} } });
      socket.onmessage = ({ data }) => {
        const { id } = JSON.parse(data);
        if (id === 0) {
          send({ method: "initialized", params: {} });
          const uri = "studio:///burst.polar";
          send({
            method: "textDocument/didOpen",
            params: { textDocument: { uri, languageId: "polar", version: 1, text: "actor User {}" } },
          });
          for (let id = 1; id <= 1000; id += 1) {
            send({ id, method: "textDocument/documentSymbol", params: { textDocument: { uri } } });
          }
        } else if (id !== undefined) {
          n_answered += 1;
          if (n_answered === 1000) socket.close();
        }
      };
      socket.onclose = () => resolve(n_answered);
      setTimeout(() => socket.close(), 10000);
    }));
    assert.equal(answered, 1000);
  },

  async "a read-only key changes nothing"(context) {
    const page = await open(context, { key: READER });
    await page.getByText("read-only", { exact: true }).waitFor();
    await write(page, `${POLICY}\n# a draft`);
    await page.getByText("draft", { exact: true }).waitFor();
    assert.ok(await page.getByRole("button", { name: "Store…" }).isDisabled());
    assert.equal(await page.getByRole("button", { name: "Store…" }).getAttribute("title"), "Your key is read-only");
    await ask(page, "User:alice", "push", "Repository:docs");
    await page.locator(".suggestions li").first().waitFor();
    assert.equal(await page.locator(".suggestions").getByRole("button", { name: "Store" }).count(), 0);
    await page.getByRole("tab", { name: "Facts" }).click();
    await page.getByText("5 facts").waitFor();
    assert.equal(await page.getByRole("button", { name: "Delete this fact" }).count(), 0);
  },

  async "a session that ends keeps the draft"(context, expected) {
    expected.push(/401 \(Unauthorized\)/, /WebSocket/);
    const page = await open(context);
    await write(page, `${POLICY}\n# my draft`);
    await ask(page, "User:alice", "read", "Repository:docs");
    await page.locator(".verdict.yes").waitFor();
    await page.locator(".cm-content").press("Control+End");
    // What is asked about the draft so far is answered.
    await page.waitForTimeout(500);
    await context.clearCookies();
    await page.keyboard.insertText(", and more of it");
    await page.getByText("The session has ended").waitFor();
    await page.getByText("enter a key, or open a new link that the program printed").waitFor();
    let connects = 0;
    page.on("websocket", () => connects++);
    await page.getByLabel("API key").fill(KEY);
    await page.waitForTimeout(600);
    assert.equal(connects, 0, "without a session nothing connects");
    await page.keyboard.press("Enter");
    await page.getByText("The session has ended").waitFor({ state: "detached" });
    await page.getByText(/checked in/).waitFor({ timeout: 2000 });
    await ask(page, "User:alice", "push", "Repository:docs");
    await page.locator(".verdict.no").waitFor();
    assert.match(await draft(page), /# my draft, and more of it/);
  },

  async "a lost connection is shown and heals"(context, expected) {
    expected.push(/ERR_INTERNET_DISCONNECTED|WebSocket|Failed to load/);
    const page = await open(context);
    await ask(page, "User:alice", "read", "Repository:docs");
    await page.locator(".verdict.yes").waitFor();
    await context.setOffline(true);
    await ask(page, "User:alice", "push", "Repository:docs");
    await page.getByText("The service cannot be reached").waitFor();
    await context.setOffline(false);
    await page.getByText("The service cannot be reached").waitFor({ state: "detached" });
    await page.locator(".verdict.no").waitFor();
  },

  async "a link shares the draft and the question, and stores nothing"(context) {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const page = await open(context);
    await write(page, `${POLICY}\n# shared`);
    await ask(page, "User:alice", "read", "Repository:docs");
    await page.locator(".verdict.yes").waitFor();
    await page.getByRole("button", { name: "Share" }).click();
    await page.getByText("is in the clipboard").waitFor();
    const address = await page.evaluate(() => navigator.clipboard.readText());
    const other = await context.newPage();
    await other.goto(address);
    await other.locator(".verdict.yes").waitFor();
    assert.match(await draft(other), /# shared/);
    assert.equal((await api("GET", "policy")).policy.src, POLICY);
    await other.getByText("came from a link").waitFor();
    // The same link in a tab that is open, without a draft of its own.
    const same = await open(context);
    await same.goto(address);
    await same.locator(".cm-line", { hasText: "# shared" }).waitFor();
    assert.equal(same.url(), `${URL_OF_SERVICE}/studio/`);
    const damaged = await context.newPage();
    await damaged.goto(`${URL_OF_SERVICE}/studio/#s=AAAA`);
    await damaged.getByText("This link is damaged").waitFor();
  },

  async "it is usable by keyboard, in light and dark, and on a telephone"(context) {
    const page = await open(context);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("User:alice");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    await page.keyboard.type("push");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    await page.keyboard.type("Repository:docs");
    await page.keyboard.press("Escape");
    await page.locator(".verdict.no").waitFor();
    for (const [at, tab] of ["Answer", "SQL", "Tests", "Facts", "Rules", "Decisions", "Your database"].entries()) {
      await page.keyboard.press(`Alt+${at + 1}`);
      await page.getByRole("tab", { name: tab, selected: true }).waitFor();
      await page.waitForTimeout(400);
      const colorScheme = at % 2 ? "dark" : "light";
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      assert.deepEqual(await faults(page), [], `${tab}, ${colorScheme}`);
    }
    await page.getByRole("tab", { selected: true }).press("Home");
    await page.getByRole("tab", { name: "Answer", selected: true }).waitFor();
    await page.keyboard.press("End");
    await page.getByRole("tab", { name: "Your database", selected: true }).waitFor();
    await page.getByRole("radio", { name: "Access" }).press("ArrowRight");
    await page.getByRole("radio", { name: "Any predicate", checked: true }).press("ArrowLeft");
    await page.getByRole("combobox", { name: "Actor" }).waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.keyboard.press("Alt+1");
    await page.locator(".verdict.no").waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `the page is ${wide} pixels too wide`);
    assert.deepEqual(await faults(page), [], "on a telephone");
  },

  async "editors are limited, and what is not a message of theirs does no harm"(context, expected) {
    expected.push(/WebSocket connection/);
    const page = await open(context);
    await page.getByText(/checked in/).waitFor();
    const { opened, reasons, large } = await page.evaluate(async () => {
      const address = new URL("lsp", location.href.replace("http", "ws"));
      const begin = () =>
        new Promise((done) => {
          const socket = new WebSocket(address);
          socket.onopen = () => socket.send(JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: { capabilities: {} } }));
          socket.onmessage = () => done(socket);
          socket.onclose = ({ reason }) => done(reason);
        });
      const sockets = [];
      for (let n = 0; n < 9; n++) sockets.push(await begin());
      const open = sockets.filter((socket) => typeof socket !== "string");
      for (const text of ["", "{", "[]", '{"jsonrpc":"2.0","method":"exit"}', "\u0000".repeat(100)]) open[0].send(text);
      const closed = new Promise((done) => (open[1].onclose = () => done(true)));
      open[1].send("x".repeat(5 * 1024 * 1024));
      const large = await closed;
      // Eight again, counting the page's own editor.
      globalThis.held = [...open.slice(2), await begin(), await begin()];
      return { opened: open.length, reasons: sockets.filter((socket) => typeof socket === "string"), large };
    });
    assert.deepEqual([opened, reasons.length, large], [7, 2, true]);
    const other = await context.newPage();
    await other.goto(`${URL_OF_SERVICE}/studio/`);
    await other.getByText("this key has 8 editors open").waitFor();
    assert.match(reasons[0], /^this key has 8 editors open/);
    await page.reload();
    await page.getByText(/checked in/).waitFor();
    await other.getByText(/checked in/).waitFor();
  },

  async "the page ends its connections when the service stops"(context, expected) {
    expected.push(/ERR_CONNECTION|WebSocket|Failed to load/);
    const page = await open(context);
    await page.getByText(/checked in/).waitFor();
    signal("TERM");
    await page.getByText("connecting to the language server").waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("User:alice");
    await page.getByText("The service cannot be reached").waitFor();
  },
});
