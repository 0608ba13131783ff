import { readFileSync } from 'node:fs';

import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

import { expectationSchema } from '@svc/svc/look-back/test/expectation.ts';

const schemaFile = new URL('../../docs/expect.schema.json', import.meta.url);
const page = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8');

/** The keys of `expect.yaml` as the page describes them, and how. */
const described = new Map(
  [...page.matchAll(/^\| `([a-z]+)` \| (.*) \|$/gm)].map(([, key = '', text = '']) => [key, text]),
);

describe('expect.yaml', () => {
  it('comes with its schema, each key with the words of the page', async () => {
    const { properties, ...rest } = z.toJSONSchema(expectationSchema, { io: 'input' });
    const known = Object.entries(properties ?? {}).map(([key, schema]) => {
      const description = described.get(key)?.replaceAll('`', '');
      expect(description, key).toBeDefined();
      return [key, { description, ...(schema as object) }];
    });
    const schema = { ...rest, title: 'expect.yaml', properties: Object.fromEntries(known) as object };
    await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(schemaFile.pathname);
  });

  it('has a schema that takes what the program takes, and refuses what it refuses', () => {
    const fits = new Ajv2020({ strict: false }).compile(JSON.parse(readFileSync(schemaFile, 'utf8')) as object);
    for (const [text, isRight] of [
      ['{}', true],
      ['{ requests: changed, ignore: [/system] }', true],
      ['{ requests: "sha256:0123456789abcdef", grants: { /shell_allow/git: granted, /read_only: null } }', true],
      ['{ tasks: [{ state: completed, result: Done. }, { state: canceled }] }', true],
      ['{ request: changed }', false],
      ['{ requests: any }', false],
      ['{ ignore: [system] }', false],
      ['{ tasks: [{ state: done }] }', false],
      ['{ tasks: [{ result: Done. }] }', false],
      ['{ grants: { /read_only: [] } }', false],
    ] as const) {
      const value: unknown = parse(text);
      expect([text, fits(value), expectationSchema.safeParse(value).success]).toEqual([text, isRight, isRight]);
    }
  });
});
