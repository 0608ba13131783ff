// Loaded with --require: the library of the Model Context Protocol is read once the file is there that HELD_UNTIL names, and no sooner.
const fs = require('node:fs');

const { existsSync, readFileSync } = fs;
const clock = new Int32Array(new SharedArrayBuffer(4));
fs.readFileSync = (file, ...rest) => {
  if (String(file).includes('modelcontextprotocol-server')) {
    while (!existsSync(process.env.HELD_UNTIL)) Atomics.wait(clock, 0, 0, 20);
  }
  return readFileSync(file, ...rest);
};
