// Starts the language server of Portcullis, and shows what its commands return.

import { type ExtensionContext, window, workspace } from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";

/** What the server answers to `portcullis.showSql`. */
interface Sql {
  question: string;
  sql: string;
}

let client: LanguageClient | undefined;

/** Ends once the last start has succeeded or failed; the next one waits for it. */
let started: Promise<void> = Promise.resolve();

export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(
    workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("portcullis")) {
        await restart();
      }
    }),
  );
  await restart();
}

export async function deactivate(): Promise<void> {
  const last = client;
  client = undefined;
  await last?.dispose();
}

/** Starts the server after the last start; the client itself reports a server that cannot be started. */
function restart(): Promise<void> {
  const ignore = () => {};
  started = started.then(deactivate).catch(ignore).then(start).catch(ignore);
  return started;
}

async function start(): Promise<void> {
  client = new LanguageClient("portcullis", "Portcullis", server(), options);
  await client.start();
}

/** The command that the settings ask for. */
function server(): ServerOptions {
  const settings = workspace.getConfiguration("portcullis");
  const pages = settings.get<string>("pages", "");
  const args = ["lsp", "--dialect", settings.get<string>("dialect", "sqlite")];
  const database = settings.get<string>("database", "");
  return {
    command: settings.get<string>("command", "portcullis"),
    args: [...args, ...flag("--pages", pages), ...flag("--database", database)],
  };
}

/** A flag with its value, if there is one. */
function flag(name: string, value: string): string[] {
  return value === "" ? [] : [name, value];
}

const options: LanguageClientOptions = {
  // Only YAML files whose names say that they are data bindings.
  documentSelector: [{ language: "polar" }, { language: "yaml", pattern: "**/*bindings*.{yaml,yml}" }],
  middleware: {
    // The server shows the result of a command as a message, which is too narrow for SQL.
    executeCommand: async (command, args, next) => {
      const result: unknown = await next(command, args);
      if (isSql(result)) {
        const content = `-- ${result.question}\n${result.sql}\n`;
        await window.showTextDocument(await workspace.openTextDocument({ language: "sql", content }));
      }
      return result;
    },
  },
};

function isSql(result: unknown): result is Sql {
  return typeof result === "object" && result !== null && "sql" in result && "question" in result;
}
