// Loaded with --require: the library of the Model Context Protocol is loaded once the file is there that HELD_UNTIL names, and no sooner.
const { existsSync } = require('node:fs');
const Module = require('node:module');

const load = Module.prototype.load;
const clock = new Int32Array(new SharedArrayBuffer(4));
Module.prototype.load = function (file) {
  if (file.includes('modelcontextprotocol-server')) {
    while (!existsSync(process.env.HELD_UNTIL)) Atomics.wait(clock, 0, 0, 20);
  }
  return load.call(this, file);
};
