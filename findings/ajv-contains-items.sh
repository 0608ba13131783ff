#!/bin/sh
# ajv 8.20.0 with JSON Schema 2020-12: `contains` makes `unevaluatedItems` say nothing. The items that `contains` found are evaluated, and no others (core,
# 10.3.1.3 and 11.2); ajv takes all for evaluated, so a list that has to have a text and may have numbers besides takes anything.
# @cfworker/json-schema 4.1.6 and jsonschema 4.26.0 for Python refuse what does not fit. With `prefixItems` or `items` in the place of
# `contains` all three agree. Clients of MCP for JavaScript check results by ajv.
# Seen with Node 20 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export npm_config_cache="$folder/npm"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts ajv@8.20.0 @cfworker/json-schema@4.1.6
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check jsonschema==4.26.0
cat >cases.json <<'JSON'
[
  [{ "contains": { "type": "string" }, "unevaluatedItems": { "type": "number" } }, ["roof", 1]],
  [{ "contains": { "type": "string" }, "unevaluatedItems": { "type": "number" } }, ["roof", null]],
  [{ "contains": { "type": "string" }, "unevaluatedItems": false }, ["roof", null]],
  [{ "prefixItems": [{ "type": "string" }], "unevaluatedItems": false }, ["roof", null]]
]
JSON
cat >check.js <<'JS'
import { readFileSync } from 'node:fs';

import { Validator } from '@cfworker/json-schema';
import Ajv from 'ajv/dist/2020.js';

for (const [schema, data] of JSON.parse(readFileSync('cases.json', 'utf8'))) {
  const ajv = new Ajv({ strict: false }).compile(schema)(data);
  console.log(`${JSON.stringify(data)} ajv ${ajv}, cfworker ${new Validator(schema, '2020-12').validate(data).valid}`);
}
JS
cat >check.py <<'PY'
import json

from jsonschema import Draft202012Validator

with open("cases.json") as file:
    for schema, data in json.load(file):
        print(json.dumps(data), "jsonschema", Draft202012Validator(schema).is_valid(data))
PY
seen=$(node check.js && python/bin/python check.py)
printf '%s\n' "$seen"
[ "$seen" = '["roof",1] ajv true, cfworker true
["roof",null] ajv true, cfworker false
["roof",null] ajv true, cfworker false
["roof",null] ajv false, cfworker false
["roof", 1] jsonschema True
["roof", null] jsonschema False
["roof", null] jsonschema False
["roof", null] jsonschema False' ]
