#!/bin/sh
# @modelcontextprotocol/server-memory 2026.8.31: calls that come at the same time overwrite each other. Each one reads the file, adds its
# entity and writes the file, and nothing keeps two of them apart. Of ten entities that ten calls create at once, all reported as created,
# one is left. Models that call several tools in one answer, and clients that send these calls together, lose what they stored.
# Seen with Node 20.19.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts \
  @modelcontextprotocol/server-memory@2026.8.31 @modelcontextprotocol/sdk@1.32.2
cat >remember.js <<'JS'
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const file = join(process.cwd(), 'memory.jsonl');
const client = new Client({ name: 'reader', version: '1.0.0' });
const args = ['node_modules/@modelcontextprotocol/server-memory/dist/index.js'];
const env = { ...process.env, MEMORY_FILE_PATH: file };
await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }));

const names = Array.from({ length: 10 }, (_, index) => `entity-${index}`);
const create = (name) => {
  const entities = [{ name, entityType: 'test', observations: ['seen'] }];
  return client.callTool({ name: 'create_entities', arguments: { entities } });
};
const stored = () => readFileSync(file, 'utf8').trim().split('\n').length;

for (const name of names) await create(name);
console.log(`one after the other: ${stored()} of 10`);
rmSync(file);
const results = await Promise.all(names.map(create));
const succeeded = results.filter(({ isError }) => isError !== true).length;
console.log(`at once: ${succeeded} succeeded, ${stored() < 10 ? 'fewer are stored' : 'all are stored'}`);
await client.close();
JS
seen=$(node remember.js)
echo "$seen"
[ "$seen" = 'one after the other: 10 of 10
at once: 10 succeeded, fewer are stored' ]
