#!/bin/sh
# @bytecodealliance/componentize-js 0.23.0 builds components from JavaScript for an engine without the tables of Unicode: `normalize` is not there, a regular
# expression with `\p{L}` is a syntax error, and one that ignores case folds less. All three belong to ECMAScript itself (ECMA-262 16, 22.1.3.15,
# 22.2.2.9, 22.2.2.7.3), not to Intl, which is missing as well. What sorts and writes for people answers without an error, by code units and without
# groups of digits. The build says nothing of it: a component that was tried in Node fails, or answers otherwise, where it runs.
# Seen with Node 20.19 and @bytecodealliance/jco 1.35.0.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts \
  @bytecodealliance/componentize-js@0.23.0 @bytecodealliance/jco@1.35.0 @bytecodealliance/preview2-shim@0.26.1
cat >look.wit <<'WIT'
package local:look;

world look {
  export tell: func() -> list<string>;
}
WIT
cat >look.mjs <<'JS'
const looks = {
  composed: () => 'e\u0301'.normalize('NFC').length,
  letters: () => 'na\u00EFve 7'.replace(new RegExp('\\p{L}', 'gu'), 'x'),
  folded: () => new RegExp('\\u017F', 'iu').test('s'),
  sorted: () => ['z', '\u00E4', 'a'].sort((one, other) => one.localeCompare(other)).join(''),
  grouped: () => (1234567.5).toLocaleString('en-US'),
  intl: () => typeof Intl,
};

export function tell() {
  return Object.entries(looks).map(([name, look]) => {
    try {
      return `${name} ${look()}`;
    } catch (error) {
      return `${name} ${error.name}`;
    }
  });
}
JS
cat >build.mjs <<'JS'
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { componentize } from '@bytecodealliance/componentize-js';
import { transpile } from '@bytecodealliance/jco';

import { tell } from './look.mjs';

const { component } = await componentize(await readFile('look.mjs', 'utf8'), await readFile('look.wit', 'utf8'), {});
const { files } = await transpile(component, { name: 'look' });
for (const [name, bytes] of Object.entries(files)) {
  const path = join('built', name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
}
const built = await import('./built/look.js');
const there = built.tell();
for (const [index, here] of tell().entries()) {
  const [name, ...said] = there[index].split(' ');
  console.log(`${name}: Node ${here.slice(name.length + 1)}, component ${said.join(' ')}`);
}
JS
timeout 120 node build.mjs >seen.txt
cat seen.txt
cat >expected.txt <<'TXT'
composed: Node 1, component TypeError
letters: Node xxxxx 7, component SyntaxError
folded: Node true, component false
sorted: Node aäz, component azä
grouped: Node 1,234,567.5, component 1234567.5
intl: Node object, component undefined
TXT
diff expected.txt seen.txt
