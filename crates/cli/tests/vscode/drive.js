"use strict";
// Runs the extension with a stand-in for VS Code: opens a document, waits for diagnostics, asks for a hover and for
// actions, edits, and ends. Usage: node drive.js EXTENSION FENCEPOST

const assert = require("assert");
const fs = require("fs");
const Module = require("module");
const path = require("path");
const [extensionPath, executable] = process.argv.slice(2);

const listeners = {};
const on = name => listener => { (listeners[name] = listeners[name] || []).push(listener); return { dispose() {} }; };
const fire = (name, event) => (listeners[name] || []).forEach(listener => listener(event));
const until = async (condition, what) => {
  for (let i = 0; i < 1200; i++) {
    const value = await condition();
    if (value) return value;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  throw new Error("not in time: " + what);
};

const configuration = {
  path: executable, languages: ["fencepost"], model: "", limitTime: 30, limitMemory: 512, orders: true, flags: [],
  compileCommands: "", delay: 10,
};
const found = new Map(), messages = [], providers = {}, commands = {};
class Range { constructor(a, b, c, d) { this.start = { line: a, character: b }; this.end = { line: c, character: d }; } }
class Kind { constructor(value) { this.value = value; } append(part) { return new Kind(this.value ? this.value + "." + part : part); } }
Kind.Empty = new Kind("");
const vscode = {
  Range,
  Diagnostic: class { constructor(range, message, severity) { Object.assign(this, { range, message, severity }); } },
  DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
  DiagnosticRelatedInformation: class { constructor(location, message) { Object.assign(this, { location, message }); } },
  Location: class { constructor(uri, range) { Object.assign(this, { uri, range }); } },
  Hover: class { constructor(contents, range) { Object.assign(this, { contents, range }); } },
  MarkdownString: class { constructor(value) { this.value = value; } },
  CodeAction: class { constructor(title, kind) { Object.assign(this, { title, kind }); } },
  CodeActionKind: Kind,
  WorkspaceEdit: class { constructor() { this.changes = []; } replace(uri, range, text) { this.changes.push({ uri, range, text }); } },
  Uri: { parse: text => ({ toString: () => text, scheme: text.split(":")[0], fsPath: text.replace("file://", "") }) },
  languages: {
    createDiagnosticCollection: () => ({ set: (uri, list) => found.set(uri.toString(), list), clear: () => found.clear(), dispose() {} }),
    registerHoverProvider: (_, provider) => { providers.hover = provider; return { dispose() {} }; },
    registerCodeActionsProvider: (_, provider) => { providers.actions = provider; return { dispose() {} }; },
  },
  commands: {
    registerCommand: (name, run) => { commands[name] = run; return { dispose() {} }; },
    executeCommand: name => commands[name](),
  },
  window: { showWarningMessage: text => messages.push(text), showErrorMessage: text => messages.push(text), activeTextEditor: null },
  workspace: {
    getConfiguration: () => ({ get: name => configuration[name] }),
    workspaceFolders: [], textDocuments: [],
    onDidOpenTextDocument: on("open"), onDidChangeTextDocument: on("change"), onDidSaveTextDocument: on("save"),
    onDidCloseTextDocument: on("close"), onDidChangeConfiguration: on("configuration"),
  },
};
const load = Module._load;
Module._load = (name, ...rest) => name === "vscode" ? vscode : load(name, ...rest);

(async () => {
  const extension = require(path.join(extensionPath, "extension.js"));
  const uri = vscode.Uri.parse("file://" + path.resolve("sb.fp"));
  let text = fs.readFileSync("sb.fp", "utf8");
  const document = { uri, languageId: "fencepost", version: 1, getText: () => text };
  vscode.workspace.textDocuments.push(document);
  extension.activate({ subscriptions: [] });
  const first = await until(() => (found.get(uri.toString()) || []).length && found.get(uri.toString()), "diagnostics");
  assert.strictEqual(first[0].source, "fencepost");
  assert.strictEqual(first[0].severity, 0);
  assert(first[0].relatedInformation.length > 0);
  const actions = await until(async () => {
    const list = await providers.actions.provideCodeActions(document, new Range(1, 0, 1, 0), {});
    return list.length && list;
  }, "actions");
  assert.strictEqual(actions[0].kind.value, "quickfix");
  assert(actions[0].edit.changes.length > 0);
  const hover = await providers.hover.provideHover(document, { line: 1, character: 36 });
  assert(hover.contents.value.startsWith("**relaxed**"), hover.contents.value);
  // An empty program has nothing to complain about.
  const end = { line: 99, character: 0 };
  text = "atomic x;\nthread t { x.store(1, rlx); }\n";
  document.version = 2;
  fire("change", { document, contentChanges: [{ range: { start: { line: 0, character: 0 }, end }, text }] });
  await until(() => found.get(uri.toString()).length === 0, "no diagnostics");
  await commands["fencepost.restart"]();
  await extension.deactivate();
  // A server that cannot be started is told.
  configuration.path = "/nowhere/at/all";
  await commands["fencepost.restart"]();
  await until(() => messages.some(message => message.includes("cannot be started")), "a message");
  await extension.deactivate();
  console.log("all well");
  process.exit(0);
})().catch(error => { console.error(error); process.exit(1); });
