import { readFileSync } from 'node:fs';

import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { manifestJsonSchema, artifactKeys, capsuleKeys } from './json-schema.ts';

const committed: unknown = JSON.parse(
  readFileSync(new URL('../../../../docs/svc.schema.json', import.meta.url), 'utf8'),
);
const accepts = new Ajv({ strict: false }).compile(manifestJsonSchema());

describe('the JSON Schema of svc.yaml', () => {
  it('equals the committed docs/svc.schema.json (else run node scripts/generate-schemas.mjs)', () => {
    expect(committed).toEqual(manifestJsonSchema());
  });

  it('describes every key, and no key that does not exist', () => {
    const { capsule, artifact } = manifestJsonSchema()['definitions'] as Record<string, unknown>;
    expect(keysOf(capsule, '').toSorted()).toEqual(Object.keys(capsuleKeys).toSorted());
    expect(keysOf(artifact, '').toSorted()).toEqual(Object.keys(artifactKeys).toSorted());
  });

  it('accepts a capsule and an artifact, and refuses an unknown key of either', () => {
    expect(accepts(parse('{name: a, version: "1", inference: {command: x, transport: process}}'))).toBe(true);
    expect(accepts(parse('{name: a, version: "1", runtime: tool}'))).toBe(true);
    expect(accepts(parse('{name: a, version: "1", inference: {}, lifecyle: {}}'))).toBe(false);
    expect(accepts(parse('{name: a, version: "1", runtime: tool, lifecycle: {}}'))).toBe(false);
  });
});

/** The key paths of a schema's properties, as the tables spell them. */
function keysOf(schema: unknown, path: string): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {}, additionalProperties, items, anyOf = [] } = schema as Schema;
  const own = Object.entries(properties).flatMap(([key, value]) => {
    const inner = path === '' ? key : `${path}.${key}`;
    return [inner].concat(keysOf(value, inner));
  });
  const named = keysOf(additionalProperties, `${path}.*`);
  return [...own, ...named, ...keysOf(items, `${path}[]`), ...anyOf.flatMap((option) => keysOf(option, path))];
}

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly additionalProperties?: unknown;
  readonly items?: unknown;
  readonly anyOf?: readonly unknown[];
}
