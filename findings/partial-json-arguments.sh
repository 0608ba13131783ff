#!/bin/sh
# The arguments of a call, as far as a model has written them, read by libraries for cut JSON. best-effort-json-parser 1.5.1 ends a number at the
# hyphen of its exponent: `2e-3` is 2, and the rest is part of the next name. Half a name that is an earlier one, as `to` of `topic`, takes that
# one's value away: jsonrepair 3.15.0 makes it null, best-effort-json-parser leaves it out. json_repair 0.64.4 for Python has two surrogates for
# a character that was escaped as a pair, as json.dumps writes it, and nothing can encode that text. partial-json 0.1.7 and
# jiter 0.19.0 read the same pieces as they are.
# Seen with Node 20 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export npm_config_cache="$folder/npm"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts best-effort-json-parser@1.5.1 jsonrepair@3.15.0 partial-json@0.1.7
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check json-repair==0.64.4 jiter==0.19.0
cat >pieces.txt <<'TXT'
{"rate":2e-3,"test":true,"to":"a"
{"to":"ada","text":"Hi","to
{"text":"Done \ud83d\ude80 at
TXT
cat >read.js <<'JS'
import { readFileSync } from 'node:fs';

import { parse as bestEffort } from 'best-effort-json-parser';
import { jsonrepair } from 'jsonrepair';
import { parse as partial } from 'partial-json';

const libraries = { 'best-effort-json-parser': bestEffort, jsonrepair: (text) => JSON.parse(jsonrepair(text)), 'partial-json': partial };
for (const piece of readFileSync('pieces.txt', 'utf8').trim().split('\n'))
  for (const [name, read] of Object.entries(libraries)) console.log(`${name}: ${JSON.stringify(read(piece))}`);
JS
cat >read.py <<'PY'
import json

import jiter
import json_repair

libraries = {
    "json_repair": lambda text: json_repair.loads(text, stream_stable=True),
    "jiter": lambda text: jiter.from_json(text.encode(), partial_mode="trailing-strings"),
}
with open("pieces.txt") as file:
    for piece in file.read().splitlines():
        for name, read in libraries.items():
            seen = read(piece)
            try:
                print(f"{name}: {json.dumps(seen, ensure_ascii=False)}".encode().decode())
            except UnicodeEncodeError as error:
                print(f"{name}: {json.dumps(seen)} {error.reason}")
PY
seen=$(node read.js && PYTHONUTF8=1 python/bin/python read.py)
printf '%s\n' "$seen"
[ "$seen" = 'best-effort-json-parser: {"rate":2,"e-3,\"test\"":true,"to":"a"}
jsonrepair: {"rate":0.002,"test":true,"to":"a"}
partial-json: {"rate":0.002,"test":true,"to":"a"}
best-effort-json-parser: {"text":"Hi"}
jsonrepair: {"to":null,"text":"Hi"}
partial-json: {"to":"ada","text":"Hi"}
best-effort-json-parser: {"text":"Done 🚀 at"}
jsonrepair: {"text":"Done 🚀 at"}
partial-json: {"text":"Done 🚀 at"}
json_repair: {"rate": 0.002, "test": true, "to": "a"}
jiter: {"rate": 0.002, "test": true, "to": "a"}
json_repair: {"to": "ada", "text": "Hi"}
jiter: {"to": "ada", "text": "Hi"}
json_repair: {"text": "Done \ud83d\ude80 at"} surrogates not allowed
jiter: {"text": "Done 🚀 at"}' ]
