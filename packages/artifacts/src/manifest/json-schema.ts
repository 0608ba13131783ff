/** Makes the JSON Schema of `svc.yaml`, which editors check manifests with. */

import * as z from 'zod/mini';

import { artifactKeys, capsuleKeys } from './key-descriptions.ts';
import { artifactManifest, capsuleManifest } from './schema.ts';
import { isJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';

/** A JSON Schema, or a part of one. */
type JsonSchema = JsonObject;

/**
 * The JSON Schema (draft 7, which editors know best) of `svc.yaml`: an artifact's when it has a top-level `runtime`,
 * a capsule's otherwise. Rules across keys and `${VARIABLE}` references are beyond it. Not for the start of a capsule: it is slow.
 */
export function manifestJsonSchema(): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'svc.yaml',
    description: 'Manifest of a capsule or of an artifact.',
    type: 'object',
    allOf: [
      { if: { required: ['runtime'] }, else: { $ref: '#/definitions/capsule' } },
      { if: { not: { required: ['runtime'] } }, else: { $ref: '#/definitions/artifact' } },
    ],
    definitions: {
      capsule: described(capsuleManifest, { title: 'Capsule manifest', keys: capsuleKeys }),
      artifact: described(artifactManifest, { title: 'Artifact manifest', keys: artifactKeys }),
    },
  };
}

interface Texts {
  readonly title: string;
  readonly keys: Readonly<Record<string, string>>;
}

function described(schema: z.core.$ZodType, { title, keys }: Texts): JsonSchema {
  const { $schema: _, ...generated } = z.toJSONSchema(schema, { io: 'input', target: 'draft-7' });
  return { title, ...withDescriptions(generated, { keys, path: '' }) };
}

interface Described {
  readonly keys: Texts['keys'];
  /** Of the key the schema is for, as the tables spell it. */
  readonly path: string;
}

function withDescriptions(schema: JsonSchema, described: Described): JsonSchema {
  const description = described.keys[described.path];
  return { ...(description === undefined ? {} : { description }), ...withInnerDescriptions(schema, described) };
}

function withInnerDescriptions(schema: JsonSchema, described: Described): JsonSchema {
  const parts = Object.entries(schema)
    // A default that stands for "not given" says nothing to a reader.
    .filter(([keyword, value]) => keyword !== 'default' || value !== '')
    .map(([keyword, value]) => [keyword, describedPart(keyword, value, described)] as const);
  return Object.fromEntries(parts);
}

function describedPart(keyword: string, value: unknown, { keys, path }: Described): unknown {
  switch (keyword) {
    case 'properties':
      return describedProperties(value, { keys, path });
    case 'items':
      return isJsonObject(value) ? withDescriptions(value, { keys, path: `${path}[]` }) : value;
    case 'anyOf':
      return Array.isArray(value)
        ? value.map((option: unknown) =>
            isJsonObject(option) ? withInnerDescriptions(option, { keys, path }) : option,
          )
        : value;
    default:
      return value;
  }
}

function describedProperties(properties: unknown, { keys, path }: Described): JsonSchema {
  const entries = isJsonObject(properties) ? Object.entries(properties) : [];
  return Object.fromEntries(
    entries.map(([key, schema]) => {
      const inner = path === '' ? key : `${path}.${key}`;
      return [key, isJsonObject(schema) ? withDescriptions(schema, { keys, path: inner }) : schema];
    }),
  );
}
