#!/usr/bin/env node
'use strict';
// Runs the bundle with its V8 code cache beside it: compiling it anew would be most of a start's time.
const { readFileSync, renameSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { Script } = require('node:vm');
const { createRequire, wrap } = require('node:module');

const bundle = path.join(__dirname, '..', 'dist', 'svc.cjs');
const cacheFile = `${bundle}.${process.version}-${process.arch}.cache`;

let source;
try {
  source = readFileSync(bundle, 'latin1');
} catch {
  process.stderr.write('svc: it is not built yet; run npm install and npm run build in its folder\n');
  process.exit(70);
}

let cachedData;
try {
  cachedData = readFileSync(cacheFile);
} catch {
  // None yet: it is written below.
}

const script = new Script(wrap(source), {
  filename: bundle,
  ...(cachedData === undefined ? {} : { cachedData }),
});

/** Right after a start: a component that runs later sets an engine flag, and the cache would not be taken under another set of flags. */
function keepCodeCache() {
  const temporary = `${cacheFile}.${process.pid}`;
  try {
    writeFileSync(temporary, script.createCachedData());
    renameSync(temporary, cacheFile);
  } catch {
    // A directory that may not be written keeps none; every start works without it.
  }
}

const isMissing = cachedData === undefined || script.cachedDataRejected;
const loaded = { exports: {} };
script.runInThisContext()(loaded.exports, createRequire(bundle), loaded, bundle, path.dirname(bundle));
void loaded.exports.main(process.argv.slice(2), isMissing ? keepCodeCache : undefined);
