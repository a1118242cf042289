// Starts `hammock lsp` for the files that the setting `hammock.filePatterns` selects.
const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

async function start() {
  const settings = vscode.workspace.getConfiguration("hammock");
  const server = { command: settings.get("serverPath"), args: ["lsp"], transport: TransportKind.stdio };
  const patterns = settings.get("filePatterns");
  const documentSelector = patterns.map((pattern) => ({ scheme: "file", language: "python", pattern }));
  client = new LanguageClient("hammock", "Hammock", server, { documentSelector });
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `Hammock's language server does not start: ${error.message}. The setting "hammock.serverPath" names the program.`
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running && running.needsStop()) {
    await running.stop();
  }
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("hammock.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("hammock") && restart())
  );
  await start();
}

module.exports = { activate, deactivate: stop };
