#!/usr/bin/env node
'use strict';
const path = require('node:path');

const bundle = path.join(__dirname, '..', 'dist', 'svc-sandbox.cjs');

let program;
try {
  program = require(bundle);
} catch (error) {
  if (error.code !== 'MODULE_NOT_FOUND') throw error;
  process.stderr.write('svc-sandbox: it is not built yet; run npm install and npm run build in its folder\n');
  process.exit(70);
}

void program.main(process.argv.slice(2));
