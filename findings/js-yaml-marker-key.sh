#!/bin/sh
# js-yaml 5.5.0: a key at the top of a document that begins with three hyphens and a space is written without quotes. What it wrote is the
# marker at the start of a document and something behind it, which js-yaml itself cannot read again, nor can `yaml` 2.9.1, which puts such a
# key into quotes. A tool that keeps headings or lines of a diff as keys writes files that nobody can open.
# Seen with Node 20.19.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts js-yaml@5.5.0 yaml@2.9.1
cat >write.js <<'JS'
import { dump, load } from 'js-yaml';
import { parse, stringify } from 'yaml';

const key = '--- a';
const read = (text, by) => {
  try {
    return Object.keys(by(text))[0] === key ? 'took' : 'changed';
  } catch {
    return 'refused';
  }
};
const written = dump({ [key]: 1 });
console.log(`it writes ${written.trim()}, which js-yaml ${read(written, load)} and yaml ${read(written, parse)}`);
console.log(`yaml writes ${stringify({ [key]: 1 }).trim()}, which js-yaml ${read(stringify({ [key]: 1 }), load)}`);
JS
seen=$(node write.js)
echo "$seen"
[ "$seen" = 'it writes --- a: 1, which js-yaml refused and yaml refused
yaml writes "--- a": 1, which js-yaml took' ]
