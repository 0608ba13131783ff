#!/usr/bin/env node
'use strict';
// Runs a program's bundle, and the files that it reads when they are needed, with V8's code cache: compiling them anew would be most of a start's time.
// The cache is one file. It lies beside the bundle, and in the home of the user where that may not be written.
const { openSync, readFileSync, readSync, realpathSync } = require('node:fs');
const path = require('node:path');
const { Script } = require('node:vm');

/** What was compiled of the bundle before the cache was made: by a command, by a start, by a session from its start to its end. */
const [byCommand, byStart, bySession] = [1, 2, 3];
/** V8 forgets what has long not run. */
const youngMs = 60_000;
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

  let kept = keptCode();
  let script = compiled(kept?.main);
  if (script.cachedDataRejected) {
    // It was made under other flags of the engine; those of this process have a cache of their own.
    cacheFile = `${cacheName}.${flagsOf(new Script('').createCachedData()).toString(16)}.cache`;
    kept = keptCode();
    if (kept !== null) script = compiled(kept.main);
    if (script.cachedDataRejected) kept = null;
  }
  let level = kept?.index.level ?? 0;
  let flags = kept === null ? null : flagsOf(kept.main);
  if (kept !== null) kept.main = null;

  function compiled(data) {
    return new Script(source, { filename: bundle, ...(data === undefined ? {} : { cachedData: data }) });
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

  /** Keeps what is compiled by now. `made` says what has run of the bundle; what is kept of a bundle that has run further stays. */
  function keepCode(made) {
    const main = made > level ? script.createCachedData() : null;
    const parts = [...fresh].map(([file, [hash, own]]) => [file, hash, own.createCachedData()]);
    const any = main ?? parts[0]?.[2];
    // A component may have set a flag of the engine meanwhile, and V8 rejects what was compiled under other flags.
    if (any === undefined || (flags !== null && flagsOf(any) !== flags)) return;
    require('./code-cache.cjs').keep({ cacheFile, kept, level: Math.max(made, level), main, parts });
    level = Math.max(made, level);
    flags = flagsOf(any);
  }

  let isStarted = false;
  const onStarted = () => {
    isStarted = true;
    if (level < byStart) keepCode(byStart);
  };
  process.on('exit', () => {
    const made = isStarted ? bySession : byCommand;
    if (fresh.size > 0 || (made > level && performance.now() < youngMs))
      keepCode(performance.now() < youngMs ? made : 0);
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
  const first = read(20, ofIndex + ofMain);
  if (first === undefined) return null;
  let index;
  try {
    index = JSON.parse(first.latin1Slice(0, ofIndex));
  } catch {
    return null;
  }
  return {
    index,
    main: first.subarray(ofIndex),
    readMain: () => read(begin, ofMain),
    part(file, hash) {
      const [of, from, length] = index.parts[file] ?? [];
      return of === hash ? read(begin + from, length) : undefined;
    },
  };
}

if (require.main === module) runProgram('svc');
else exports.runProgram = runProgram;
