'use strict';
// Keeps the code cache of svc in the home of the user, ~/.svc/cache/code/, where the folder of svc may not be written, as when root installed it.
// The engine runs what it reads from there as if it had compiled it, so nothing is read that another user could have written.
const fs = require('node:fs');
const path = require('node:path');

/** Of several builds, and of one under several versions of Node; each is half a megabyte. */
const mostKept = 6;

/** Whether this user alone can have written it. */
function isOwn({ uid, mode }) {
  return uid === process.getuid() && (mode & 0o022) === 0;
}

/** Null where it belongs into no home: there is none, or it is another user's, as under sudo. */
function folderIn(home) {
  if (process.getuid === undefined || home === undefined || !path.isAbsolute(home)) return null;
  return fs.statSync(home).uid === process.getuid() ? path.join(home, '.svc', 'cache', 'code') : null;
}

/** What was kept under this name; undefined where nothing was, or another user could have put it there. */
exports.readCodeCache = (home, name) => {
  try {
    const folder = folderIn(home);
    if (folder === null || !isOwn(fs.lstatSync(folder))) return undefined;
    const file = fs.openSync(path.join(folder, name), fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
    try {
      return isOwn(fs.fstatSync(file)) ? fs.readFileSync(file) : undefined;
    } finally {
      fs.closeSync(file);
    }
  } catch {
    // A start without a cache compiles its file itself.
    return undefined;
  }
};

/** Throws the error of the file system, and for a folder that others can write into. */
exports.keepCodeCache = (home, name, data) => {
  const folder = folderIn(home);
  if (folder === null) return;
  for (const each of [path.dirname(path.dirname(folder)), path.dirname(folder), folder]) {
    if (!fs.existsSync(each)) fs.mkdirSync(each, { mode: 0o700 });
  }
  if (!isOwn(fs.lstatSync(folder))) throw new Error(`others can write into ${folder}`);
  const temporary = path.join(folder, `${name}.${process.pid}`);
  // Whole on the disk before it has its name: V8 does not survive a damaged one.
  fs.writeFileSync(temporary, data, { mode: 0o600, flush: true });
  fs.renameSync(temporary, path.join(folder, name));
  const writtenAt = (file) => fs.statSync(path.join(folder, file)).mtimeMs;
  const oldestLast = fs.readdirSync(folder).sort((one, other) => writtenAt(other) - writtenAt(one));
  for (const file of oldestLast.slice(mostKept)) fs.rmSync(path.join(folder, file), { force: true });
};
