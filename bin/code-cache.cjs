'use strict';
// Keeps the code cache of a program: beside its bundle, or in the home of the user, ~/.svc/cache/code/, where that folder may not be written, as when
// root installed it. The engine runs what it reads from there as if it had compiled it, so nothing is read that another user could have written.
const fs = require('node:fs');
const path = require('node:path');

/** Of one program: of several builds, versions of Node and flags of its engine. Each has one to five megabytes. */
const maxKept = 6;
/** Writing one takes milliseconds. */
const begunMs = 60_000;

/** Whether this user alone can have written it. */
function isOwn({ uid, mode }) {
  return uid === process.getuid() && (mode & 0o022) === 0;
}

/** Null where it belongs into no home: there is none, or it is another user's, as under sudo. */
function folderIn(home) {
  if (process.getuid === undefined || home === undefined || !path.isAbsolute(home)) return null;
  return fs.statSync(home).uid === process.getuid() ? path.join(home, '.svc', 'cache', 'code') : null;
}

/** Opens what was kept under this name. Throws where nothing was, and where another user could have put it there. */
exports.openInHome = (home, name) => {
  const folder = folderIn(home);
  if (folder === null || !isOwn(fs.lstatSync(folder))) throw new Error('no folder of this user alone');
  const file = fs.openSync(path.join(folder, name), fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
  if (isOwn(fs.fstatSync(file))) return file;
  fs.closeSync(file);
  throw new Error(`others can write ${name}`);
};

/**
 * Writes the cache anew: `main` is of the bundle, and each of `parts` has the name, the hash and the code of another file. What is not among them
 * stays as the cache has it by now, `kept` being what this process read of it.
 */
exports.keep = ({ cacheFile, kept, level, main, parts }) => {
  try {
    const code = encoded({ kept, level, main: main ?? kept.main(), parts });
    try {
      // Whatever the mask, others may not write what they all run.
      write(cacheFile, code, 0o644);
    } catch {
      // Root installed it, or the file system is read-only.
      keepInHome(process.env['HOME'], path.basename(cacheFile), code);
    }
  } catch {
    // Every start works without a cache.
  }
};

/** The lengths of the index and of the bundle's code, the index, and the code, as bin/svc.cjs reads it. */
function encoded({ kept, level, main, parts }) {
  const all = new Map(parts.map(([file, hash, data]) => [file, [hash, data]]));
  for (const [file, hash] of keptParts(kept)) {
    const data = all.has(file) ? undefined : kept.part(file, hash);
    if (data !== undefined) all.set(file, [hash, data]);
  }
  let from = main.length;
  const places = [...all].map(([file, [hash, { length }]]) => [file, [hash, (from += length) - length, length]]);
  const index = Buffer.from(JSON.stringify({ level, parts: Object.fromEntries(places) }));
  const lengths = Buffer.from(`${index.length} ${main.length}`.padEnd(20));
  return Buffer.concat([lengths, index, main, ...[...all.values()].map(([, data]) => data)]);
}

/** The other files that a cache has, and their hashes. Of one that is damaged nothing is kept. */
function keptParts(kept) {
  try {
    return Object.entries(kept?.parts() ?? {}).map(([file, [hash]]) => [file, hash]);
  } catch {
    return [];
  }
}

/** Whole on the disk before it has its name: V8 does not survive a damaged one. Removes those that have long not been written. */
function write(file, code, mode) {
  const temporary = `${file}.${process.pid}`;
  try {
    fs.writeFileSync(temporary, code, { mode, flush: true });
    fs.renameSync(temporary, file);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
  const folder = path.dirname(file);
  const [program] = path.basename(file).split('.');
  const ofProgram = fs.readdirSync(folder).filter((name) => name.startsWith(`${program}.cjs.`));
  const writtenAt = (name) => fs.statSync(path.join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const caches = ofProgram.filter((name) => name.endsWith('.cache'));
  const oldestLast = caches.sort((one, other) => writtenAt(other) - writtenAt(one));
  // What a process that was killed had begun to write.
  const begun = ofProgram.filter((name) => /\.cache\.\d+$/.test(name) && writtenAt(name) < Date.now() - begunMs);
  for (const name of [...oldestLast.slice(maxKept), ...begun]) fs.rmSync(path.join(folder, name), { force: true });
}

/** Throws the error of the file system, and for a folder that others can write into. */
function keepInHome(home, name, code) {
  const folder = folderIn(home);
  if (folder === null) return;
  for (const each of [path.dirname(path.dirname(folder)), path.dirname(folder), folder]) {
    if (!fs.existsSync(each)) fs.mkdirSync(each, { mode: 0o700 });
  }
  if (!isOwn(fs.lstatSync(folder))) throw new Error(`others can write into ${folder}`);
  write(path.join(folder, name), code, 0o600);
}
