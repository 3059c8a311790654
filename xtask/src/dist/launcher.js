#!/usr/bin/env node
// Starts the program of this platform, which is a package of its own.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");

const platform = `${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "gcwatch.exe" : "gcwatch";
let program;
try {
  program = require.resolve(`gcwatch-${platform}/${file}`);
} catch {
  console.error(`gcwatch: there is no package gcwatch-${platform}; was it installed with --omit=optional?`);
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`gcwatch: ${error.message}`);
  process.exit(1);
});
// A terminal sends Ctrl-C to both; gcwatch decides what it means. What is sent to this process alone is passed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => {
  process.exit(signal === null ? code : 128 + os.constants.signals[signal]);
});
