import { expect, it } from 'vitest';

import { isJsonMediaType } from './hygiene.ts';

it.each([
  'application/json',
  'Application/JSON',
  'application/json; charset=utf-8',
  'application/json;charset=latin1',
  'application/json \t; a="b;c"',
  'application/json;',
])('isJsonMediaType takes %j for JSON', (contentType) => {
  expect(isJsonMediaType(contentType)).toBe(true);
});

it.each([
  undefined,
  '',
  'json',
  'text/plain',
  'application/jsonp',
  'application/json-seq',
  'application/vnd.api+json',
  'text/plain; application/json',
  'application/json, text/plain',
  'application/json\u{a0}',
  'application /json',
])('isJsonMediaType takes %j for something else', (contentType) => {
  expect(isJsonMediaType(contentType)).toBe(false);
});
