import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { KeptLists } from './listed-tools.ts';
import { eachFolder } from '../../../../../test/support/each-folder.ts';

const sha256 = 'a'.repeat(64);
const list = {
  tools: [{ name: 'echo', description: 'Says it again.', inputSchema: { type: 'object', required: ['text'] } }],
  leftOut: ['"a b", whose name is not one of the protocol'],
};

let cache: string;

eachFolder('svc-kept-', (made) => {
  cache = made;
});

it('a list is kept for one content of an artifact and no other', async () => {
  await new KeptLists(cache).write(sha256, list);
  expect(await new KeptLists(cache).read(sha256)).toEqual(list);
  expect(await new KeptLists(cache).read('b'.repeat(64))).toBeNull();
});

it.each([
  ['half a file', '{"tools":[{"name":"echo"'],
  ['a file of another shape', '{"tools":[{"name":"echo"}],"leftOut":[]}'],
  ['a list without a tool', '{"tools":[],"leftOut":[]}'],
  ['a file that is too large', `{"tools":[],"leftOut":[]}${' '.repeat(8 * 1024 * 1024)}`],
])('KeptLists reads nothing from %s', async (_, text) => {
  mkdirSync(join(cache, 'mcp-tools'));
  writeFileSync(join(cache, 'mcp-tools', `${sha256}.json`), text);
  expect(await new KeptLists(cache).read(sha256)).toBeNull();
});

it('a list without a tool is kept for what was left out', async () => {
  await new KeptLists(cache).write(sha256, { ...list, tools: [] });
  expect(await new KeptLists(cache).read(sha256)).toBeNull();
  expect(await new KeptLists(cache).leftOut(sha256)).toEqual(list.leftOut);
  expect(await new KeptLists(cache).leftOut('b'.repeat(64))).toBeNull();
});

it('a directory in its place is nothing that is kept', async () => {
  mkdirSync(join(cache, 'mcp-tools', `${sha256}.json`), { recursive: true });
  expect(await new KeptLists(cache).read(sha256)).toBeNull();
});
