#!/usr/bin/env node
'use strict';
// Runs the bundle with its V8 code cache beside it: compiling it anew would be most of a start's time.
const { readFileSync, realpathSync, renameSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { Script } = require('node:vm');

let bundle;
try {
  bundle = realpathSync.native(path.join(__dirname, '..', 'dist', 'svc.cjs'));
} catch {
  process.stderr.write('svc: it is not built yet; run npm install and npm run build in its folder\n');
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
  // None yet: it is written below.
}

const script = new Script(source, {
  filename: bundle,
  ...(cachedData === undefined ? {} : { cachedData }),
});

/** Right after a start, when what a start needs has been compiled and little else. */
function keepCodeCache() {
  const temporary = `${cacheFile}.${process.pid}`;
  try {
    // Whole on the disk before it has its name: V8 does not survive a damaged one.
    writeFileSync(temporary, script.createCachedData(), { flush: true });
    renameSync(temporary, cacheFile);
  } catch {
    // A directory that may not be written keeps none; every start works without it.
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
