#!/usr/bin/env node
'use strict';
// Runs a program's bundle with its V8 code cache: compiling it anew would be most of a start's time. The cache lies beside the bundle, and in the home
// of the user where that may not be written.
const { readFileSync, realpathSync, renameSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { Script } = require('node:vm');

/** Runs `dist/<name>.cjs`, which is one function, with the words of the command line. */
function runProgram(name) {
  let bundle;
  try {
    bundle = realpathSync.native(path.join(__dirname, '..', 'dist', `${name}.cjs`));
  } catch {
    process.stderr.write(`${name}: it is not built yet; run npm install and npm run build in its folder\n`);
    process.exit(70);
  }
  const source = readFileSync(bundle, 'latin1');
  // The build begins the file with its hash: V8 would take the cache of another file of the same length for its own.
  const [, build] = /^\/\*([0-9a-f]+)\*\//.exec(source) ?? [];
  const cacheFile = `${bundle}.${build}.${process.version}-${process.arch}.cache`;

  let cachedData;
  try {
    cachedData = readFileSync(cacheFile);
  } catch {
    cachedData = cacheInHome();
  }

  let script = compiled(cachedData);
  if (script.cachedDataRejected) {
    // What is beside the bundle is of this build under other flags of the engine, and may not be ours to replace.
    const other = cacheInHome();
    if (other !== undefined) script = compiled(other);
  }

  function compiled(data) {
    return new Script(source, { filename: bundle, ...(data === undefined ? {} : { cachedData: data }) });
  }

  function cacheInHome() {
    return require('./home-code-cache.cjs').readCodeCache(process.env['HOME'], path.basename(cacheFile));
  }

  /** Right after a start, when what a start needs has been compiled and little else. */
  function keepCodeCache() {
    const temporary = `${cacheFile}.${process.pid}`;
    const data = script.createCachedData();
    try {
      // Whole on the disk before it has its name: V8 does not survive a damaged one. Whatever the mask, others may not write what they all run.
      writeFileSync(temporary, data, { mode: 0o644, flush: true });
      renameSync(temporary, cacheFile);
      return;
    } catch {
      // Root installed it, or the file system is read-only.
    }
    try {
      require('./home-code-cache.cjs').keepCodeCache(process.env['HOME'], path.basename(cacheFile), data);
    } catch {
      // Every start works without a cache.
    }
  }

  const isMissing = cachedData === undefined || script.cachedDataRejected;
  // The files that are read when first needed require this one: they are to find it as it runs here. `require('node:module')` has the same
  // class, and takes longer.
  const loaded = new module.constructor(bundle, module);
  loaded.filename = bundle;
  require.cache[bundle] = loaded;
  const requireFrom = (id) => loaded.require(id);
  script.runInThisContext()(loaded.exports, requireFrom, loaded, bundle, path.dirname(bundle));
  void loaded.exports.main(process.argv.slice(2), { build, onStarted: isMissing ? keepCodeCache : undefined });
}

if (require.main === module) runProgram('svc');
else exports.runProgram = runProgram;
