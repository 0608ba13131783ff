#!/usr/bin/env node
'use strict';
// Runs the bundle with its V8 code cache beside it: compiling it anew would be most of a start's time.
const { readFileSync, renameSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { Script } = require('node:vm');
const { wrap } = require('node:module');

const bundle = join(__dirname, '..', 'dist', 'svc.cjs');
const cacheFile = `${bundle}.${process.version}-${process.arch}.cache`;

let source;
try {
  source = readFileSync(bundle, 'latin1');
} catch {
  process.stderr.write('svc: it is not built yet; run npm ci in its folder\n');
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

if (cachedData === undefined || script.cachedDataRejected) {
  // After a run, when the functions that a start needs have been compiled. A directory that may not be written keeps none.
  process.once('exit', () => {
    if (process.argv[2] !== 'run') return;
    const temporary = `${cacheFile}.${process.pid}`;
    try {
      writeFileSync(temporary, script.createCachedData());
      renameSync(temporary, cacheFile);
    } catch {
      // Every start works without it.
    }
  });
}

const loaded = { exports: {} };
script.runInThisContext()(loaded.exports, require, loaded, bundle, dirname(bundle));
void loaded.exports.main(process.argv.slice(2));
