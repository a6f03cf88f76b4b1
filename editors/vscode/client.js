"use strict";
// A language client without dependencies: starts the server, frames messages, matches answers to requests. It knows
// nothing of an editor, so that it can be tried from Node.

const { spawn } = require("child_process");
const { EventEmitter } = require("events");

class Client extends EventEmitter {
  // Emits `notification` (method, params), `exit` (code, what it complained about) and `failed` (error).
  constructor(path, args = ["lsp"]) {
    super();
    this.pending = new Map();
    this.next = 1;
    this.rest = Buffer.alloc(0);
    this.complaints = "";
    this.ended = false;
    this.process = spawn(path, args, { stdio: ["pipe", "pipe", "pipe"] });
    this.process.on("error", error => this.end("failed", error));
    this.process.on("exit", code => this.end("exit", code, this.complaints));
    this.process.stdin.on("error", () => {});
    this.process.stderr.on("data", data => { this.complaints = (this.complaints + data).slice(-4000); });
    this.process.stdout.on("data", data => this.receive(data));
  }

  end(event, ...details) {
    if (this.ended) return;
    this.ended = true;
    for (const { reject } of this.pending.values()) reject(new Error("the language server is gone"));
    this.pending.clear();
    this.emit(event, ...details);
  }

  send(message) {
    if (this.ended) return;
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  notify(method, params) { this.send({ method, params }); }

  request(method, params) {
    if (this.ended) return Promise.reject(new Error("the language server is gone"));
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.send({ id, method, params });
    });
  }

  receive(data) {
    this.rest = Buffer.concat([this.rest, data]);
    for (;;) {
      const end = this.rest.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = /Content-Length: *(\d+)/i.exec(this.rest.subarray(0, end).toString());
      if (!length) return this.process.kill();
      const start = end + 4, stop = start + Number(length[1]);
      if (this.rest.length < stop) return;
      const message = JSON.parse(this.rest.subarray(start, stop).toString());
      this.rest = this.rest.subarray(stop);
      this.handle(message);
    }
  }

  handle(message) {
    const waiting = message.method === undefined && this.pending.get(message.id);
    if (waiting) {
      this.pending.delete(message.id);
      if (message.error) waiting.reject(new Error(message.error.message));
      else waiting.resolve(message.result);
    } else if (message.method !== undefined && message.id === undefined) {
      this.emit("notification", message.method, message.params);
    }
  }

  async stop() {
    try {
      await this.request("shutdown", null);
      this.notify("exit", null);
    } catch {
      this.process.kill();
    }
  }
}

module.exports = { Client };
