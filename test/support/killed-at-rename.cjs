// Preloaded with NODE_OPTIONS: kills the process in place of the rename that KILL_AT names, as `<file>` or as `<file> <number>` for a later one.
const fs = require('node:fs');
const path = require('node:path');

const [file, number = '1'] = (process.env.KILL_AT ?? '').split(' ');
const { renameSync } = fs;
let seen = 0;
fs.renameSync = (from, to) => {
  if (path.basename(String(to)) === file) seen += 1;
  if (seen === Number(number)) process.kill(process.pid, 'SIGKILL');
  return renameSync(from, to);
};
