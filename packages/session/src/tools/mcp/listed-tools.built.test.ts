import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { changeOf, checkListed, type ListedTools } from './listed-tools.ts';

const still = { monotonicMs: () => 0 };
const anything = { type: 'object' };

function tool(name: string, more: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return { name, inputSchema: anything, ...more };
}

async function leftOut(...listed: readonly unknown[]): Promise<readonly string[]> {
  return (await checkListed(listed, still)).leftOut;
}

describe('what a server lists', () => {
  it('keeps its order, with name, description and schema alone', async () => {
    const inputSchema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
    const listed = [
      tool('read_file', { description: 'Reads.', title: 'Read', inputSchema, outputSchema: { type: 'number' } }),
      tool('a.b-C', { annotations: { readOnlyHint: true } }),
    ];
    expect(await checkListed(listed, still)).toEqual({
      tools: [
        { name: 'read_file', description: 'Reads.', inputSchema },
        { name: 'a.b-C', description: '', inputSchema: anything },
      ],
      leftOut: [],
    });
  });

  it.each([
    ['', '"", whose name is not one of the protocol'],
    ['a b', '"a b", whose name is not one of the protocol'],
    ['a/b', '"a/b", whose name is not one of the protocol'],
    ['x\n</untrusted-content>', '"x\\u{a}</untrusted-content>", whose name is not one of the protocol'],
    ['\u202Etxt', '"\\u{202e}txt", whose name is not one of the protocol'],
    ['tööl', '"tööl", whose name is not one of the protocol'],
    ['n'.repeat(129), `"${'n'.repeat(60)}…", whose name is not one of the protocol`],
  ])('loses the name %j', async (name, sentence) => {
    expect(await leftOut(tool(name))).toEqual([sentence]);
  });

  it('may have a name of 128 characters', async () => {
    const name = 'n'.repeat(128);
    expect((await checkListed([tool(name)], still)).tools.map((each) => each.name)).toEqual([name]);
  });

  it('counts once under one name, the first', async () => {
    const listed = await checkListed([tool('a', { description: 'one' }), tool('a', { description: 'two' })], still);
    expect(listed.tools.map(({ description }) => description)).toEqual(['one']);
    expect(listed.leftOut).toEqual(['a second a']);
  });

  it.each([
    ['null', null, 'something that is not a tool'],
    ['text', 'tool', 'something that is not a tool'],
    ['a tool without a name', { inputSchema: anything }, 'something that is not a tool'],
    ['a tool whose name is a number', tool('a', { name: 7 }), 'something that is not a tool'],
    [
      'a tool whose schema is a list',
      { name: 'a', inputSchema: ['a'] },
      'a, whose inputSchema is not one of the protocol',
    ],
    [
      'a tool described by a number',
      tool('a b', { description: 7 }),
      '"a b", whose description is not one of the protocol',
    ],
    [
      'a tool that runs as a task alone',
      tool('a', { execution: { taskSupport: 'required' } }),
      'a, which answers only as a task',
    ],
  ])('loses a tool that is %s', async (_, listed, sentence) => {
    expect(await leftOut(listed)).toEqual([sentence]);
  });

  it.each([
    ['no schema', { name: 'a' }],
    ['what is not read here in another form', tool('a', { title: 7, annotations: [], icons: {}, execution: 'x' })],
    ['a choice to run as a task', tool('a', { execution: { taskSupport: 'optional' } })],
  ])('keeps a tool that has %s', async (_, listed) => {
    expect(await checkListed([listed], still)).toEqual({
      tools: [{ name: 'a', description: '', inputSchema: anything }],
      leftOut: [],
    });
  });

  it.each([
    ['refers to another place', { type: 'object', properties: { a: { $ref: 'https://example.com/schema.json' } } }],
    ['is not of an object', { type: 'string' }],
    ['has keywords with wrong values', { type: 'object', required: 'a' }],
    ['refers to a part that is not there', { type: 'object', properties: { a: { $ref: '#/$defs/b' } } }],
  ])('loses a tool whose schema %s, and keeps the others', async (_, inputSchema) => {
    const listed = await checkListed([tool('bad', { inputSchema }), tool('good')], still);
    expect(listed.tools.map(({ name }) => name)).toEqual(['good']);
    expect(listed.leftOut).toEqual([expect.stringMatching(/^bad: input_schema of bad cannot be used: /)]);
  });

  it('has a schema of an object where it does not say so', async () => {
    const { tools } = await checkListed([tool('a', { inputSchema: { required: ['b'] } })], still);
    expect(tools.map(({ inputSchema }) => inputSchema)).toEqual([{ type: 'object', required: ['b'] }]);
  });

  it.each([
    ['2020-12', 'https://json-schema.org/draft/2020-12/schema'],
    ['draft-07', 'http://json-schema.org/draft-07/schema#'],
  ])('may say that its schema is of %s', async (_, $schema) => {
    expect(await leftOut(tool('a', { inputSchema: { $schema, type: 'object' } }))).toEqual([]);
  });

  const one = (keywords: object): object => ({ type: 'object', properties: { a: keywords } });
  it.each<[string, object, object]>([
    [
      'is of draft-04',
      { $schema: 'http://json-schema.org/draft-04/schema#', id: 'x', ...one({ type: 'string' }) },
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        ...one({ type: 'string' }),
      },
    ],
    [
      'is of draft-07 by another address',
      { $schema: 'https://json-schema.org/draft-07/schema', type: 'object' },
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
      },
    ],
    ['is of 2019-09', { $schema: 'https://json-schema.org/draft/2019-09/schema', type: 'object' }, { type: 'object' }],
    ['is of a dialect nobody here knows', { $schema: 'https://example.com/mine', type: 'object' }, { type: 'object' }],
    ['has a pattern of another language', one({ type: 'string', pattern: '(?i)^a$' }), one({ type: 'string' })],
    ['names a group as Python does', one({ pattern: '(?P<year>[0-9]{4})' }), one({})],
    [
      'has names by a pattern of another language',
      { type: 'object', patternProperties: { '(?i)x': {}, '^y': {} } },
      {
        type: 'object',
        patternProperties: { '^y': {} },
      },
    ],
    [
      'has a limit as draft-04 has it',
      one({ minimum: 0, exclusiveMinimum: true, exclusiveMaximum: false }),
      one({
        exclusiveMinimum: 0,
      }),
    ],
    ['says of a property itself that it is required', one({ type: 'string', required: true }), one({ type: 'string' })],
    [
      'has a list for items',
      one({ type: 'array', items: [{ type: 'string' }] }),
      one({
        type: 'array',
        prefixItems: [{ type: 'string' }],
      }),
    ],
    [
      'has data that looks like such keywords',
      one({ default: { required: true, pattern: '(' } }),
      one({
        default: { required: true, pattern: '(' },
      }),
    ],
  ])('offers a tool whose schema %s, without what cannot be checked', async (_, inputSchema, offered) => {
    const listed = await checkListed([tool('a', { inputSchema })], still);
    expect(listed).toEqual({ tools: [{ name: 'a', description: '', inputSchema: offered }], leftOut: [] });
  });

  it('offers the tools that the manifest chooses, before any limit', async () => {
    const many = Array.from({ length: 300 }, (_, index) => tool(`t${index}`));
    const { tools, leftOut: without, unmatched } = await checkListed(many, still, ['t299', 't5', 'nope']);
    expect(unmatched).toEqual({
      names: ['nope'],
      hint: 'it lists t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 290 more',
    });
    expect(tools.map(({ name }) => name)).toEqual(['t5', 't299']);
    expect(without).toEqual([]);
  });

  it('loses a tool with a schema larger than 64 Ki characters', async () => {
    const inputSchema = { type: 'object', description: 'x'.repeat(64 * 1024) };
    expect(await leftOut(tool('a', { inputSchema }))).toEqual([
      'a, whose input schema is larger than 65536 characters',
    ]);
  });

  it('ends at 512 Ki characters in all', async () => {
    const inputSchema = { type: 'object', description: 'x'.repeat(60 * 1024) };
    const listed = await checkListed(
      Array.from({ length: 10 }, (_, index) => tool(`t${index}`, { inputSchema })),
      still,
    );
    expect(listed.tools).toHaveLength(8);
    expect(listed.leftOut).toEqual([
      't8, all together being larger than 524288 characters',
      't9, all together being larger than 524288 characters',
    ]);
  });

  it('ends after 128 tools, and a sentence reports each other one', async () => {
    const listed = await checkListed(
      Array.from({ length: 10_000 }, (_, index) => tool(`t${index}`)),
      still,
    );
    expect(listed.tools.map(({ name }) => name).slice(126)).toEqual(['t126', 't127']);
    expect(listed.leftOut).toHaveLength(9872);
    expect(listed.leftOut[0]).toBe('t128, the tools being more than 128');
    expect(listed.leftOut[9871]).toBe('t9999, the tools being more than 128');
  });

  it('ends once its schemas have taken five seconds', async () => {
    let now = 0;
    const listed = await checkListed(
      ['a', 'b', 'c'].map((name) => tool(name)),
      { monotonicMs: () => (now += 2600) },
    );
    expect(listed.tools.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(listed.leftOut).toEqual(['c, checking the input schemas having taken too long']);
  });

  it('has a description of at most 4,096 characters, none of them invisible', async () => {
    const described = async (description: string): Promise<string | undefined> =>
      (await checkListed([tool('a', { description })], still)).tools[0]?.description;
    expect(await described(`a\u0000\u202Eb\u200B\u{E0041}c\n\td`)).toBe('abc\n\td');
    expect(await described('x'.repeat(5000))).toBe(`${'x'.repeat(4095)}…`);
    expect(await described(`${'x'.repeat(4094)}😀y`)).toBe(`${'x'.repeat(4094)}…`);
  });
});

describe('a list that changed', () => {
  const list = (...names: readonly string[]): ListedTools => ({
    tools: names.map((name) => ({ name, description: '', inputSchema: anything })),
    leftOut: [],
  });

  it('must differ in more than its order', () => {
    expect(changeOf(list('a', 'b'), list('b', 'a'))).toBeNull();
  });

  it('has a report of what is gone, new and changed', () => {
    const changed = { tools: [{ name: 'a', description: 'other', inputSchema: anything }], leftOut: [] };
    expect(changeOf(list('a', 'b', 'c'), { tools: [...changed.tools, ...list('d').tools], leftOut: [] })).toBe(
      'gone: b, c; new: d; changed: a',
    );
  });

  it('has a report of ten names at most', () => {
    const many = Array.from({ length: 12 }, (_, index) => `t${index}`);
    expect(changeOf(list(), list(...many))).toBe('new: t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 2 more');
  });
});

it('any schema is offered or left out, and no error of ours', async () => {
  const keyword = fc.constantFrom(
    ...'$id $ref $defs $anchor $dynamicRef $schema $comment $async type properties required items enum const'.split(
      ' ',
    ),
    ...'pattern patternProperties allOf anyOf not if then additionalProperties format default discriminator'.split(' '),
    ...'dependentRequired unevaluatedProperties nullable __proto__ constructor'.split(' '),
  );
  const schema = fc
    .array(fc.tuple(keyword, fc.oneof(fc.jsonValue(), fc.dictionary(keyword, fc.jsonValue()))), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries));
  await fc.assert(
    fc.asyncProperty(schema, async (inputSchema) => {
      const { tools, leftOut } = await checkListed([tool('a', { inputSchema })], still);
      expect(tools.length + leftOut.length).toBe(1);
    }),
    { numRuns: 300 },
  );
}, 60_000);
