#!/usr/bin/env node
'use strict';
// Runs a program's bundle, and the files that it reads when they are needed, with V8's code cache: compiling them anew would be most of a start's time.
// The cache is one file. It lies beside the bundle, and in the home of the user where that may not be written.
const { openSync, readFileSync, readSync, realpathSync } = require('node:fs');
const path = require('node:path');
const { Script } = require('node:vm');

/** What had run of the bundle before its code was kept. */
const [byCommand, byStart] = [1, 2];
/** The part that is the bundle's code after a session: a fifth more, which a start that waits for its first task does not read. */
const sessionCode = 'session';
/** V8 forgets what has long not run. */
const youngSecs = 60;
/** Of the index of a cache and the code of a bundle: twenty times what they have. */
const maxBytes = 2 ** 24;

/** Runs `dist/<name>.cjs`, which is one function, with the words of the command line. */
function runProgram(name) {
  let dist;
  try {
    dist = path.dirname(realpathSync.native(path.join(__dirname, '..', 'dist', `${name}.cjs`)));
  } catch {
    process.stderr.write(`${name}: it is not built yet; run npm install and npm run build in its folder\n`);
    process.exit(70);
  }
  const bundle = path.join(dist, `${name}.cjs`);
  const source = readFileSync(bundle, 'latin1');
  const build = hashOf(source);
  const cacheName = `${bundle}.${build}.${process.version}-${process.arch}`;
  let cacheFile = `${cacheName}.cache`;

  // A guess: a wrong one is slower, nothing else.
  const runsTask = process.argv.some((word) => /^--task|\s/.test(word));
  let kept = keptCode();
  let code = keptMain();
  let script = compiled();
  if (script.cachedDataRejected) {
    // It was made under other flags of the engine; those of this process have a cache of their own.
    cacheFile = `${cacheName}.${flagsOf(new Script('').createCachedData()).toString(16)}.cache`;
    kept = keptCode();
    code = keptMain();
    if (code !== undefined) script = compiled();
  }
  if (code === undefined || script.cachedDataRejected) kept = null;
  let flags = kept === null ? null : flagsOf(code);
  code = undefined;

  function compiled() {
    return new Script(source, { filename: bundle, ...(code === undefined ? {} : { cachedData: code }) });
  }

  function keptMain() {
    return (runsTask ? kept?.part(sessionCode, build) : undefined) ?? kept?.main();
  }

  function keptCode() {
    const inHome = () => require('./code-cache.cjs').openInHome(process.env['HOME'], path.basename(cacheFile));
    return keptIn(() => openSync(cacheFile)) ?? keptIn(inHome);
  }

  /** Files that were compiled here, for the cache has nothing of them: their hash and their script. */
  const fresh = new Map();

  /** A file of a folder of `dist`, `late/` say, as a module; null for one that is not there, and for one that has no hash. */
  function loadFile(folder, name, parent) {
    const file = folder + name;
    const filename = `${dist}/${file}`;
    const known = require.cache[filename];
    if (known !== undefined) return known;
    let text;
    try {
      text = readFileSync(filename, 'latin1');
    } catch {
      return null;
    }
    const hash = hashOf(text);
    if (hash === undefined) return null;
    const data = kept?.part(file, hash);
    const wrapped = `(function (exports, require, module, __filename, __dirname) {${text}\n})`;
    const own = new Script(wrapped, { filename, ...(data === undefined ? {} : { cachedData: data }) });
    if (data === undefined) fresh.set(file, [hash, own]);
    const loaded = new module.constructor(filename, parent);
    loaded.filename = filename;
    require.cache[filename] = loaded;
    let isLoaded = false;
    try {
      const directory = filename.slice(0, -name.length - 1);
      own.runInThisContext()(loaded.exports, requireOf(loaded, folder), loaded, filename, directory);
      isLoaded = true;
    } finally {
      if (!isLoaded) delete require.cache[filename];
    }
    loaded.loaded = true;
    return loaded;
  }

  /** What a file in a folder of `dist` requires: Node would search each file's package, and compile it anew. */
  function requireOf(loaded, folder) {
    return (id) => {
      const [, place, name] = /^(\.\.?\/(?:\w+\/)?)([^/]+)$/.exec(id) ?? [];
      if (name === undefined) return loaded.require(id);
      const inFolder = place.startsWith('./') ? folder + place.slice(2) : place.slice(3);
      // Node loads the others, and says what is missing.
      return (loadFile(inFolder, name, loaded) ?? { exports: loaded.require(id) }).exports;
    };
  }

  let isStarted = false;

  /** Keeps what is compiled by now, `made` being what has run of the bundle; with 0, of other files alone. */
  function keepCode(made, hasEnded = false) {
    const isNew = made > (kept?.level ?? 0);
    const ofSession = hasEnded && isStarted && runsTask && kept?.has(sessionCode) !== true;
    const main = isNew || ofSession ? script.createCachedData() : null;
    const parts = [...fresh].map(([file, [hash, own]]) => [file, hash, own.createCachedData()]);
    if (ofSession) parts.push([sessionCode, build, main]);
    const any = parts[0]?.[2] ?? main;
    // A component may have set a flag of the engine meanwhile, and V8 rejects what was compiled under other flags.
    if (any === null || (flags !== null && flagsOf(any) !== flags)) return;
    const level = Math.max(made, kept?.level ?? 0);
    require('./code-cache.cjs').keep({ cacheFile, kept, level, main: isNew ? main : null, parts });
    kept = keptCode();
    flags = flagsOf(any);
  }

  const onStarted = () => {
    isStarted = true;
    if ((kept?.level ?? 0) < byStart) keepCode(byStart);
  };
  // Nothing is left to do. Without this, Node would take the heap apart piece by piece before it gives all of it back.
  process.on('beforeExit', () => process.exit());
  process.on('exit', () => {
    const isYoung = process.uptime() < youngSecs;
    if (isYoung) keepCode(isStarted ? byStart : byCommand, true);
    else if (fresh.size > 0) keepCode(0);
  });

  // The files that are read when first needed require this one: they are to find it as it runs here. `require('node:module')` has the same
  // class, and takes longer.
  const loaded = new module.constructor(bundle, module);
  loaded.filename = bundle;
  require.cache[bundle] = loaded;
  script.runInThisContext()(loaded.exports, requireOf(loaded, ''), loaded, bundle, dist);
  void loaded.exports.main(process.argv.slice(2), { build, onStarted });
}

/** The build begins each file with its hash: V8 would take the cache of another file of the same length for its own. */
function hashOf(text) {
  return /^\/\*([0-9a-f]+)\*\//.exec(text)?.[1];
}

/** V8 writes a hash of its flags into the fourth word of what it makes. */
function flagsOf(data) {
  return data.readUInt32LE(12);
}

/** What a cache holds, as bin/code-cache.cjs writes it; null for one that is not whole. The file stays open: another process may replace it. */
function keptIn(open) {
  let fd;
  try {
    fd = open();
  } catch {
    return null;
  }
  const read = (from, length) => {
    const data = Buffer.allocUnsafeSlow(length);
    return readSync(fd, data, 0, length, from) === length ? data : undefined;
  };
  const [ofIndex, ofMain] = (read(0, 20)?.latin1Slice() ?? '').split(' ').map(Number);
  if (!(ofIndex > 0 && ofMain > 0 && ofIndex + ofMain < maxBytes)) return null;
  const begin = 20 + ofIndex;
  // Looked through as a text: it names hundreds of parts, and a start reads a few of them.
  const index = read(20, ofIndex)?.latin1Slice() ?? '';
  const start = '{"level":';
  const level = Number(index.charAt(start.length));
  if (!index.startsWith(start) || !index.endsWith('}}') || !(level > 0)) return null;
  return {
    level,
    parts: () => JSON.parse(index).parts,
    has: (file) => index.includes(`"${file}":[`),
    main: () => read(begin, ofMain),
    part(file, hash) {
      const entry = `"${file}":["${hash}",`;
      const at = index.indexOf(entry);
      if (at === -1) return undefined;
      const [from, length] = index
        .slice(at + entry.length, index.indexOf(']', at))
        .split(',')
        .map(Number);
      return from > 0 && length > 0 && length < maxBytes ? read(begin + from, length) : undefined;
    },
  };
}

if (require.main === module) runProgram('svc');
else exports.runProgram = runProgram;
