// The language server over a WebSocket. A lost connection is opened again, with the editor's latest text.

const URI = "file:///policy.polar";

/** More characters than any policy may have. Of a longer text only so much is sent: the server refuses it too. */
const MOST = 2_000_000;

/** A session with the language server. */
export class LanguageServer {
  /**
   * @param {{text: () => string, onDiagnostics: (found: object[]) => void, onStatus: (online: boolean, trouble?: string) => void,
   *   mayConnect: () => boolean}} editor
   */
  constructor(editor) {
    this.editor = editor;
    this.version = 0;
    this.pending = new Map();
    this.nextId = 1;
    this.delay = 250;
    this.ended = false;
    this.isOpen = false;
    this.sent = null;
    this.connect();
  }

  /** Connects, unless there is a connection, or no session that may have one. */
  connect() {
    clearTimeout(this.timer);
    if (this.ended || this.socket || !this.editor.mayConnect()) return;
    const url = new URL("lsp", location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.hash = "";
    this.socket = new WebSocket(url);
    this.socket.onopen = () => this.begin();
    this.socket.onmessage = ({ data }) => this.receive(JSON.parse(data));
    this.socket.onclose = ({ reason }) => this.lose(reason);
  }

  async begin() {
    const textDocument = {
      publishDiagnostics: {},
      hover: { contentFormat: ["markdown", "plaintext"] },
      completion: { completionItem: { snippetSupport: false } },
      codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix"] } } },
    };
    try {
      await this.request("initialize", { processId: null, rootUri: null, capabilities: { textDocument } });
    } catch {
      return;
    }
    this.notify("initialized", {});
    this.isOpen = true;
    this.sent = this.text();
    const opened = { uri: URI, languageId: "polar", version: ++this.version, text: this.sent };
    this.notify("textDocument/didOpen", { textDocument: opened });
  }

  /** The text of the editor, as far as it is sent. */
  text() {
    const text = this.editor.text();
    if (text.length <= MOST) return text;
    // Half of a character is no text.
    return text.slice(0, MOST).replace(/[\ud800-\udbff]$/, "");
  }

  /** The connection has ended. There is a reason only if the service refused the editor. */
  lose(reason) {
    this.isOpen = false;
    this.socket = null;
    for (const { reject } of this.pending.values()) reject(new Error("the connection was lost"));
    this.pending.clear();
    this.editor.onStatus(false, reason);
    if (this.ended) return;
    this.timer = setTimeout(() => this.connect(), this.delay);
    this.delay = Math.min(this.delay * 2, 4000);
  }

  /** Sends the latest text, if the server does not have it. */
  sync() {
    const text = this.text();
    if (!this.isOpen || text === this.sent) return;
    this.sent = text;
    this.notify("textDocument/didChange", {
      textDocument: { uri: URI, version: ++this.version },
      contentChanges: [{ text }],
    });
  }

  /** A request about the document. */
  ask(method, params = {}) {
    if (!this.isOpen) return Promise.resolve(null);
    this.sync();
    return this.request(`textDocument/${method}`, { textDocument: { uri: URI }, ...params }).catch(() => null);
  }

  request(method, params) {
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.send({ id, method, params });
    });
  }

  notify(method, params) {
    this.send({ method, params });
  }

  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
    }
  }

  receive(message) {
    if (message.method === "textDocument/publishDiagnostics") {
      // Only now it is certain that the server accepts the text.
      this.delay = 250;
      this.editor.onStatus(true);
      if (message.params.version === undefined || message.params.version === this.version) {
        this.editor.onDiagnostics(message.params.diagnostics);
      }
      return;
    }
    const waiting = this.pending.get(message.id);
    this.pending.delete(message.id);
    if (message.error) waiting?.reject(new Error(message.error.message));
    else waiting?.resolve(message.result);
  }

  end() {
    this.ended = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }
}
