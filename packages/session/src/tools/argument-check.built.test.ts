import { describe, expect, it } from 'vitest';

import { ArgumentCheck, inputSchemaProblem, type JsonSchema } from './argument-check.ts';
import { isCheap } from './check-cost.ts';

const fileSchema = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    lines: { type: 'array', items: { type: 'integer' } },
    mode: { enum: ['read', 'write'] },
  },
  required: ['path'],
  additionalProperties: false,
} satisfies JsonSchema;

const problemsOf = (schema: JsonSchema, args: unknown): Promise<readonly string[]> =>
  new ArgumentCheck(schema).problemsOf(args);

/** With them a schema has 16 Ki characters, nearly. */
const manyConstants = Array.from({ length: 1300 }, () => ({ const: 1 }));

describe('the argument check', () => {
  it('says nothing about arguments that fit', async () => {
    expect(await problemsOf(fileSchema, { path: 'a', lines: [1], mode: 'read' })).toEqual([]);
    expect(await problemsOf({}, { anything: true })).toEqual([]);
  });

  it('names the place and the expectation of every problem', async () => {
    expect(await problemsOf(fileSchema, { path: 1, lines: [1, 'two'], mode: 'rw', 'odd key': 1, other: 2 })).toEqual([
      'arguments["odd key"]: is not a known property',
      'arguments.other: is not a known property',
      'arguments.path: must be string',
      'arguments.lines[1]: must be integer',
      'arguments.mode: must be one of ["read","write"]',
    ]);
    expect(await problemsOf(fileSchema, {})).toEqual(['arguments.path: is required']);
  });

  it('does not take inherited members for given ones', async () => {
    expect(await problemsOf({ type: 'object', required: ['toString'] }, {})).toEqual([
      'arguments.toString: is required',
    ]);
  });

  it('lists ten problems at most, and only the first of long arguments', async () => {
    const schema = { type: 'object', properties: { a: { items: { type: 'string' } } } };
    const twelve = await problemsOf(schema, { a: Array.from({ length: 12 }, () => 0) });
    expect(twelve).toHaveLength(11);
    expect(twelve[10]).toBe('and 2 more');
    expect(await problemsOf(schema, { a: Array.from({ length: 100_000 }, () => 0) })).toEqual([
      'arguments.a[0]: must be string',
    ]);
  });

  it('breaks off a pattern that would run for ever', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
    expect(await problemsOf(schema, { a: `${'a'.repeat(60)}!` })).toEqual([
      'arguments: took too long to check against the input schema',
    ]);
    expect(await problemsOf(schema, { a: 'aaa' })).toEqual([]);
  });

  it('breaks off references that double at every step', async () => {
    const $defs: Record<string, unknown> = { d0: { type: 'object' } };
    for (let depth = 1; depth <= 40; depth += 1) {
      const previous = { $ref: `#/$defs/d${depth - 1}` };
      $defs[`d${depth}`] = { allOf: [previous, previous] };
    }
    expect(await problemsOf({ type: 'object', $defs, $ref: '#/$defs/d40' }, {})).toEqual([
      'arguments: took too long to check against the input schema',
    ]);
  });

  it.each([
    ['anyOf', { items: { anyOf: manyConstants } }],
    ['contains', { contains: { anyOf: manyConstants } }],
  ])('does not let much of a schema meet many values with %s', async (_, list) => {
    const schema = { type: 'object', properties: { a: { type: 'array', ...list } } };
    const args = { a: Array.from({ length: 2000 }, () => 0) };
    // Such a check is made in the thread, which a time limit ends.
    expect(isCheap(JSON.stringify(schema).length, args)).toBe(false);
    expect(await problemsOf(schema, args)).not.toEqual([]);
  });

  it('reads draft-07 schemas and patterns that are not Unicode-aware', async () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { a: { type: 'string', pattern: '^\\-x$' }, b: { items: [{ type: 'string' }] } },
    };
    expect(await problemsOf(schema, { a: '-x', b: [1] })).toEqual(['arguments.b[0]: must be string']);
  });

  it('keeps two schemas with one $id apart', async () => {
    const one = { $id: 'https://example.test/s', type: 'object', required: ['a'] };
    const two = { $id: 'https://example.test/s', type: 'object', required: ['b'] };
    expect(await problemsOf(one, {})).toEqual(['arguments.a: is required']);
    expect(await problemsOf(two, {})).toEqual(['arguments.b: is required']);
  });
});

describe('an input schema that cannot be used', () => {
  const deep: Record<string, unknown> = {};
  let level = deep;
  for (let depth = 0; depth < 20_000; depth += 1) {
    const next = {};
    level.not = next;
    level = next;
  }

  it.each<[string, JsonSchema, RegExp]>([
    ['has an unknown type', { type: 'object', properties: { a: { type: 'text' } } }, /type/],
    ['misuses a keyword', { type: 'object', required: 'path' }, /required/],
    ['is not of an object', { type: 'string' }, /its type is not object/],
    ['has a broken pattern', { properties: { a: { pattern: '(' } } }, /regular expression/i],
    ['refers outside itself', { $ref: 'https://example.test/other' }, /can't resolve reference/],
    ['is of another dialect', { $schema: 'http://json-schema.org/draft-04/schema#' }, /neither 2020-12 nor draft-07/],
    ['has a dialect that is no text', { $schema: 7 }, /neither 2020-12 nor draft-07/],
    ['is huge', { description: 'x'.repeat(300_000) }, /larger than 256 KiB/],
    ['is nested without end', deep, /nested too deeply/],
  ])('causes a report when it %s', async (_, schema, reason) => {
    const problem = await inputSchemaProblem('odd', schema);
    expect(problem?.code).toBe('E-MAN-003');
    expect(problem?.message).toMatch(/^input_schema of odd cannot be used: /);
    expect(problem?.message).toMatch(reason);
    expect(problem?.message.length).toBeLessThan(400);
  });

  it('makes every call an error that says so', async () => {
    expect(await problemsOf({ type: 'string' }, {})).toEqual([
      'the tool has an unusable input schema: its type is not object',
    ]);
  });

  it('causes no report when it can be used', async () => {
    expect(await inputSchemaProblem('file', fileSchema)).toBeNull();
  });
});
