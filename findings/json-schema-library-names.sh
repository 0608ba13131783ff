#!/bin/sh
# json-schema-library 11.6.2: `additionalProperties: false` and data with a property named `toString` or `constructor` end in a TypeError, since
# the names of the schema are looked up in an object that has these by itself. `enum` with an object takes it in one order of its keys only, although the
# order says nothing in JSON; `const` takes both. ajv 8.20.0 and @cfworker/json-schema 4.1.6 answer all of it. A model may name a property as it
# likes.
# Seen with Node 20.19.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts \
  json-schema-library@11.6.2 ajv@8.20.0 @cfworker/json-schema@4.1.6
cat >check.js <<'JS'
import { Validator } from '@cfworker/json-schema';
import Ajv from 'ajv/dist/2020.js';
import { compileSchema } from 'json-schema-library';

const $schema = 'https://json-schema.org/draft/2020-12/schema';
const libraries = {
  'json-schema-library': (schema, data) => compileSchema({ $schema, ...schema }).validate(data).valid,
  ajv: (schema, data) => new Ajv({ strict: false }).compile(schema)(data),
  cfworker: (schema, data) => new Validator(schema, '2020-12').validate(data).valid,
};
const closed = { properties: { a: {} }, additionalProperties: false };
const point = { x: 1, y: 2 };
const cases = {
  'other name': [closed, { b: 1 }],
  toString: [closed, { toString: 1 }],
  constructor: [closed, { constructor: 1 }],
  'const in another order': [{ const: point }, { y: 2, x: 1 }],
  'enum in another order': [{ enum: [point] }, { y: 2, x: 1 }],
};
for (const [name, [schema, data]] of Object.entries(cases)) {
  const seen = Object.entries(libraries).map(([library, validate]) => {
    try {
      return `${library} ${validate(schema, data)}`;
    } catch (error) {
      return `${library} ${error.name}`;
    }
  });
  console.log(`${name}: ${seen.join(', ')}`);
}
JS
seen=$(node check.js)
printf '%s\n' "$seen"
[ "$seen" = 'other name: json-schema-library false, ajv false, cfworker false
toString: json-schema-library TypeError, ajv false, cfworker false
constructor: json-schema-library TypeError, ajv false, cfworker false
const in another order: json-schema-library true, ajv true, cfworker true
enum in another order: json-schema-library false, ajv true, cfworker true' ]
