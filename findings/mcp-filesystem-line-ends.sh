#!/bin/sh
# @modelcontextprotocol/server-filesystem 2026.8.31: `edit_file` of one line in a file with CRLF line ends writes every line of the file with
# LF. The diff that the model and the person get shows the one line. A version control system then shows the whole file as changed.
# Seen with Node 20.19.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts \
  @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/sdk@1.32.2
cat >edit.js <<'JS'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

mkdirSync('allowed');
const allowed = realpathSync('allowed');
const path = `${allowed}/three.txt`;
writeFileSync(path, 'one\r\ntwo\r\nthree\r\n');
const client = new Client({ name: 'editor', version: '1.0.0' });
const args = ['node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', allowed];
await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }));
const edits = [{ oldText: 'two', newText: '2' }];
const { content } = await client.callTool({ name: 'edit_file', arguments: { path, edits } });
const changed = content[0].text.split('\n').filter((line) => /^[-+](?![-+])/.test(line));
console.log(`the diff: ${JSON.stringify(changed)}`);
console.log(`the file: ${JSON.stringify(readFileSync(path, 'utf8'))}`);
await client.close();
JS
seen=$(node edit.js)
printf '%s\n' "$seen"
[ "$seen" = 'the diff: ["-two","+2"]
the file: "one\n2\nthree\n"' ]
