#!/bin/sh
# Two builders of components from JavaScript, and neither hands over all 64-bit integers. componentize-qjs 0.4.5 makes numbers of s64 and u64: beyond
# 2^53 the last digits are lost in both directions. @bytecodealliance/componentize-js 0.23.0 makes a BigInt, but of a negative s64 the one of the same
# bits without a sign: what counts or compares with it goes wrong. The binding of JavaScript to the component
# model has ToBigInt64. Nothing is an error.
# Seen with Node 24.21 and @bytecodealliance/jco 1.35.0.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts componentize-qjs@0.4.5 \
  @bytecodealliance/componentize-js@0.23.0 @bytecodealliance/jco@1.35.0 @bytecodealliance/preview2-shim@0.26.1
# What it builds needs WebAssembly that Node 20 does not have.
npm install --silent --no-audit --no-fund --no-save --prefix node24 node@24.21.0
cat >numbers.wit <<'WIT'
package local:numbers;

world numbers {
  export same: func(id: u64) -> u64;
  export kind: func(change: s64) -> string;
  export is-less: func(change: s64) -> bool;
}
WIT
cat >numbers.mjs <<'JS'
export const same = (id) => id;
export const kind = (change) => `${typeof change} ${change}`;
export const isLess = (change) => change < 0;
JS
cat >look.mjs <<'JS'
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { componentize as withStarlingMonkey } from '@bytecodealliance/componentize-js';
import { transpile } from '@bytecodealliance/jco';
import { componentize as withQuickJs } from 'componentize-qjs';

const source = await readFile('numbers.mjs', 'utf8');
const builds = {
  'componentize-js': async () => await withStarlingMonkey(source, await readFile('numbers.wit', 'utf8'), {}),
  'componentize-qjs': async () => await withQuickJs({ witPath: 'numbers.wit', jsSource: source, world: 'numbers', sync: true }),
};
for (const [name, build] of Object.entries(builds)) {
  const { component } = await build();
  const { files } = await transpile(component, { name: 'numbers' });
  for (const [file, bytes] of Object.entries(files)) {
    const path = join(name, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
  }
  const { same, kind, isLess } = await import(`./${name}/numbers.js`);
  console.log(`${name}: ${same(9007199254740993n)}, ${same(1234567890123456789n)}, ${kind(-5n)}, ${isLess(-5n)}`);
}
JS
timeout 120 node24/node_modules/node/bin/node look.mjs >seen.txt
cat seen.txt
cat >expected.txt <<'TXT'
componentize-js: 9007199254740993, 1234567890123456789, bigint 18446744073709551611, false
componentize-qjs: 9007199254740992, 1234567890123456768, number -5, true
TXT
diff expected.txt seen.txt
