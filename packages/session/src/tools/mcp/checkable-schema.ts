/** Takes out of the schema of a tool what cannot be checked here: of older drafts, and of other languages. */

import { isJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { dataKeywords, namingKeywords } from './absent-values.ts';

const draft07 = 'http://json-schema.org/draft-07/schema#';

/**
 * The schema as the nearest dialect that is known has it: 2020-12, or draft-07 for drafts before 2019. Keywords that mean nothing there are left out, and so
 * are patterns that JavaScript does not read. A provider is sent the same: it would refuse what is refused here.
 */
export function checkable(schema: JsonObject): JsonObject {
  const { $schema: declared, ...rest } = schema;
  const isOld = typeof declared === 'string' && /draft-0[3-7]/.test(declared);
  const read = schemaOf(rest, isOld);
  return isOld ? { $schema: draft07, ...read } : read;
}

function schemaOf(schema: JsonObject, isOld: boolean): JsonObject {
  const entries = Object.entries(schema).flatMap(([keyword, value]) => keywordOf(keyword, value, { schema, isOld }));
  return Object.fromEntries(entries);
}

interface Surroundings {
  readonly schema: JsonObject;
  readonly isOld: boolean;
}

type Entries = readonly (readonly [string, unknown])[];

function keywordOf(keyword: string, value: unknown, { schema, isOld }: Surroundings): Entries {
  if (dataKeywords.has(keyword)) return [[keyword, value]];
  switch (keyword) {
    case '$schema':
    case 'id':
      return [];
    case 'pattern':
      return typeof value === 'string' && !isRegExp(value) ? [] : [[keyword, value]];
    case 'required':
      return typeof value === 'boolean' ? [] : [[keyword, value]];
    case 'minimum':
      return schema['exclusiveMinimum'] === true ? [['exclusiveMinimum', value]] : [[keyword, value]];
    case 'maximum':
      return schema['exclusiveMaximum'] === true ? [['exclusiveMaximum', value]] : [[keyword, value]];
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return typeof value === 'boolean' ? [] : [[keyword, value]];
    case 'nullable':
      return schema['type'] === undefined ? [] : [[keyword, value]];
    case 'items':
      return Array.isArray(value) && !isOld
        ? [['prefixItems', valueOf(value, isOld)]]
        : [[keyword, valueOf(value, isOld)]];
    case 'patternProperties':
      return isJsonObject(value) ? [[keyword, namedOf(value, isOld, isRegExp)]] : [[keyword, value]];
    default:
      return [
        [keyword, namingKeywords.has(keyword) && isJsonObject(value) ? namedOf(value, isOld) : valueOf(value, isOld)],
      ];
  }
}

function namedOf(value: JsonObject, isOld: boolean, isKept: (name: string) => boolean = () => true): JsonObject {
  const kept = Object.entries(value).filter(([name]) => isKept(name));
  return Object.fromEntries(kept.map(([name, each]) => [name, valueOf(each, isOld)]));
}

function valueOf(value: unknown, isOld: boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => valueOf(each, isOld));
  return isJsonObject(value) ? schemaOf(value, isOld) : value;
}

/** As the check of arguments reads patterns: with Unicode, or without where older ones have needless escapes. */
function isRegExp(pattern: string): boolean {
  return ['u', ''].some((flags) => {
    try {
      return new RegExp(pattern, flags) instanceof RegExp;
    } catch (error) {
      if (error instanceof SyntaxError) return false;
      throw error;
    }
  });
}
