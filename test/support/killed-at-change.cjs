// Preloaded with NODE_OPTIONS: kills the process in place of the change that KILL_AT counts to, of those that it makes to files of the folder KILL_IN. It
// counts what is opened anew, written, brought to the disk, closed, renamed and removed. A killed write leaves half of its bytes.
const fs = require('node:fs');
const path = require('node:path');

const { KILL_IN: folder = '', KILL_AT: at = '' } = process.env;
const ours = new Set();
let seen = 0;

function isOurs(target) {
  return typeof target === 'number' ? ours.has(target) : path.dirname(String(target)) === folder;
}

function changes(target, half = () => {}) {
  if (!isOurs(target)) return;
  seen += 1;
  if (seen !== Number(at)) return;
  half();
  process.kill(process.pid, 'SIGKILL');
}

const { writeSync, openSync } = fs;

function writesHalf(descriptor, [bytes, offset = 0, length = bytes.length - offset, position = null]) {
  return () => writeSync(descriptor, bytes, offset, Math.floor(length / 2), position);
}

fs.openSync = (target, flags, ...more) => {
  const isWritten = flags === 'wx';
  if (isWritten) changes(target);
  const descriptor = openSync(target, flags, ...more);
  // Its names are brought to the disk by the folder itself.
  if ((isWritten && isOurs(target)) || target === folder) ours.add(descriptor);
  return descriptor;
};
const changing = [
  'write',
  'writeSync',
  'fsync',
  'fsyncSync',
  'ftruncateSync',
  'closeSync',
  'renameSync',
  'rmSync',
  'unlinkSync',
];
for (const name of changing) {
  const { [name]: plain } = fs;
  const counted = (target, ...args) => {
    changes(target, name.startsWith('write') ? writesHalf(target, args) : undefined);
    if (name === 'closeSync') ours.delete(target);
    return plain(target, ...args);
  };
  // What `promisify` makes of it lies in a key.
  fs[name] = Object.defineProperties(counted, Object.getOwnPropertyDescriptors(plain));
}
for (const name of ['open', 'rm']) {
  const { [name]: plain } = fs.promises;
  fs.promises[name] = (target, ...args) => {
    changes(target);
    return plain(target, ...args);
  };
}
