"use strict";
// Fencepost in VS Code: starts `fencepost lsp` and shows what it says. Plain JavaScript, nothing to build.

const vscode = require("vscode");
const { Client } = require("./client.js");

let client = null;
let diagnostics = null;
let restarts = 0;

const settings = () => vscode.workspace.getConfiguration("fencepost");
const serverSettings = () => {
  const all = settings(), names = ["model", "limitTime", "limitMemory", "orders", "flags", "compileCommands", "delay"];
  return Object.fromEntries(names.map(name => [name, all.get(name)]));
};
const ours = document =>
  settings().get("languages").includes(document.languageId) && ["file", "untitled"].includes(document.uri.scheme);

const position = p => ({ line: p.line, character: p.character });
const range = r => new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);
const identifier = document => ({ uri: document.uri.toString() });

function shown(found) {
  const severities = [undefined, vscode.DiagnosticSeverity.Error, vscode.DiagnosticSeverity.Warning,
    vscode.DiagnosticSeverity.Information, vscode.DiagnosticSeverity.Hint];
  const one = new vscode.Diagnostic(range(found.range), found.message, severities[found.severity]);
  one.source = found.source;
  one.code = found.code;
  one.relatedInformation = (found.relatedInformation || []).map(related => new vscode.DiagnosticRelatedInformation(
    new vscode.Location(vscode.Uri.parse(related.location.uri), range(related.location.range)), related.message));
  return one;
}

function edit(found) {
  const whole = new vscode.WorkspaceEdit();
  for (const { textDocument, edits } of found.documentChanges || [])
    for (const change of edits) whole.replace(vscode.Uri.parse(textDocument.uri), range(change.range), change.newText);
  return whole;
}

function open(document) {
  if (!client || !ours(document)) return;
  const { languageId, version } = document;
  client.notify("textDocument/didOpen",
    { textDocument: { ...identifier(document), languageId, version, text: document.getText() } });
}

function start() {
  const mine = client = new Client(settings().get("path"));
  mine.on("notification", (method, params) => {
    if (mine !== client) return;
    if (method === "textDocument/publishDiagnostics")
      diagnostics.set(vscode.Uri.parse(params.uri), params.diagnostics.map(shown));
    else if (method === "window/showMessage")
      vscode.window.showWarningMessage(params.message);
  });
  mine.on("failed", error => {
    vscode.window.showErrorMessage(
      `Fencepost cannot be started (${error.message}). Is it installed? The setting fencepost.path names it.`);
  });
  mine.on("exit", (code, complaints) => {
    if (mine !== client) return;
    diagnostics.clear();
    // Once or twice may happen; more than that needs a look.
    if (restarts++ < 3) return start();
    vscode.window.showErrorMessage(`The Fencepost server ended with ${code}. ${complaints}`);
  });
  const folders = (vscode.workspace.workspaceFolders || []).map(({ uri, name }) => ({ uri: uri.toString(), name }));
  mine.request("initialize", {
    processId: process.pid, capabilities: {}, workspaceFolders: folders, initializationOptions: serverSettings(),
  }).then(() => {
    mine.notify("initialized", {});
    vscode.workspace.textDocuments.forEach(open);
  }, () => {});
}

function stop() {
  const old = client;
  client = null;
  diagnostics.clear();
  return old ? old.stop() : undefined;
}

// The playground, in a terminal: its address can be clicked there.
function play() {
  const editor = vscode.window.activeTextEditor;
  const file = editor && ours(editor.document) ? [editor.document.uri.fsPath] : [];
  vscode.window.createTerminal({ name: "Fencepost playground", shellPath: settings().get("path"), shellArgs: ["play", ...file] })
    .show();
}

function activate(context) {
  diagnostics = vscode.languages.createDiagnosticCollection("fencepost");
  start();
  const languages = ["fencepost", "c", "cpp", "rust"];
  context.subscriptions.push(
    diagnostics,
    vscode.workspace.onDidOpenTextDocument(open),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (!client || !ours(document) || !contentChanges.length) return;
      const changes = contentChanges.map(({ range: { start, end }, text }) =>
        ({ range: { start: position(start), end: position(end) }, text }));
      client.notify("textDocument/didChange",
        { textDocument: { ...identifier(document), version: document.version }, contentChanges: changes });
    }),
    vscode.workspace.onDidSaveTextDocument(document => {
      if (client && ours(document)) client.notify("textDocument/didSave", { textDocument: identifier(document) });
    }),
    vscode.workspace.onDidCloseTextDocument(document => {
      if (client && ours(document)) client.notify("textDocument/didClose", { textDocument: identifier(document) });
    }),
    vscode.workspace.onDidChangeConfiguration(event => {
      if (event.affectsConfiguration("fencepost.path") || event.affectsConfiguration("fencepost.languages"))
        return vscode.commands.executeCommand("fencepost.restart");
      if (client && event.affectsConfiguration("fencepost"))
        client.notify("workspace/didChangeConfiguration", { settings: { fencepost: serverSettings() } });
    }),
    vscode.languages.registerHoverProvider(languages, {
      async provideHover(document, at) {
        if (!client || !ours(document)) return null;
        const found = await client.request("textDocument/hover",
          { textDocument: identifier(document), position: position(at) }).catch(() => null);
        return found && new vscode.Hover(new vscode.MarkdownString(found.contents.value), found.range && range(found.range));
      },
    }),
    vscode.languages.registerCodeActionsProvider(languages, {
      async provideCodeActions(document, where, context) {
        if (!client || !ours(document)) return [];
        const found = await client.request("textDocument/codeAction", {
          textDocument: identifier(document),
          range: { start: position(where.start), end: position(where.end) },
          context: { diagnostics: [], only: context.only && [context.only.value] },
        }).catch(() => []);
        return found.map(one => {
          const action = new vscode.CodeAction(one.title, vscode.CodeActionKind.Empty.append(one.kind));
          action.edit = edit(one.edit);
          action.isPreferred = one.isPreferred;
          action.diagnostics = (one.diagnostics || []).map(shown);
          return action;
        });
      },
    }),
    vscode.commands.registerCommand("fencepost.restart", async () => { await stop(); restarts = 0; start(); }),
    vscode.commands.registerCommand("fencepost.play", play),
  );
}

module.exports = { activate, deactivate: () => stop() };
