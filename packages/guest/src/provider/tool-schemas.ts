/** Writes the schema of a tool's arguments so that strict providers take it, and arguments by the names that they are told. */

import type { ToolDefinition } from '../driver.ts';
import { isObject, listIn, objectIn, parseJson, type JsonObject } from '../json.ts';

/** Providers take these names of properties. */
const fitName = /^[A-Za-z0-9_.-]{1,64}$/;
const maxName = 64;
/** The arguments of one tool, as its provider sees them. */
export interface ToolSchema {
  /** An object without combinators at its root and with names that fit. The host checks arguments against the schema itself. */
  readonly parameters: JsonObject;
  /** Arguments, as JSON text of an object, with the names that the provider was told. */
  readonly toProvider: (text: string) => string;
  /** The same back; text that is no object is left as it is. */
  readonly fromProvider: (text: string) => string;
}

/** Schemas that were read, by their text, the one that was asked for last at the end: each turn brings the same ones. */
const known = new Map<string, ToolSchema>();
const maxKnown = 256;

/** Reads the schema of a tool; a tool without one takes no arguments. */
export function schemaOf({ inputSchema }: Pick<ToolDefinition, 'inputSchema'>): ToolSchema {
  const schema = known.get(inputSchema) ?? read(inputSchema);
  known.delete(inputSchema);
  known.set(inputSchema, schema);
  for (const oldest of known.keys()) {
    if (known.size <= maxKnown) break;
    known.delete(oldest);
  }
  return schema;
}

function read(inputSchema: string): ToolSchema {
  const parsed = parseJson(inputSchema);
  const schema = isObject(parsed) ? parsed : {};
  const rootless = { properties: {}, ...new Folding(schema).fold(schema), type: 'object' };
  const same = (text: string): string => text;
  const aliases = aliasesIn(schema);
  if (aliases.size === 0) return { parameters: rootless, toProvider: same, fromProvider: same };
  const originals = new Map([...aliases].map(([name, alias]) => [alias, name]));
  return {
    parameters: withNames(rootless, aliases) as JsonObject,
    toProvider: (text) => withKeys(text, schema, (name) => [name, aliases.get(name) ?? name]),
    fromProvider: (text) =>
      withKeys(text, schema, (key) => {
        const name = originals.get(key) ?? key;
        return [name, name];
      }),
  };
}

const combinators = ['allOf', 'anyOf', 'oneOf'] as const;

/** Schemas of objects without combinators, references, `enum`, `const` and `not` at their root: what any branch takes, they take. */
class Folding {
  readonly #root: JsonObject;
  /** Each is folded once; within itself it stands for anything. */
  readonly #folded = new Map<JsonObject, JsonObject>();

  constructor(root: JsonObject) {
    this.#root = root;
  }

  fold(schema: JsonObject): JsonObject {
    const done = this.#folded.get(schema);
    if (done !== undefined) return done;
    this.#folded.set(schema, {});
    const { allOf: _all, anyOf: _any, oneOf: _one, enum: _enum, const: _const, not: _not, $ref: _ref, ...own } = schema;
    const target = referred(schema, this.#root);
    let result: JsonObject = target === null ? own : joined(own, [this.fold(target)], 'allOf');
    for (const combinator of combinators) {
      const branches = listIn(schema, combinator).filter((each) => isObject(each));
      const folded = branches.map((branch) => this.fold(branch));
      if (folded.length > 0) result = joined(result, folded, combinator);
    }
    this.#folded.set(schema, result);
    return result;
  }
}

function joined(
  own: JsonObject,
  branches: readonly JsonObject[],
  combinator: (typeof combinators)[number],
): JsonObject {
  const together = combinator === 'allOf' ? 'allOf' : 'anyOf';
  const lists = branches.map((branch) => new Set(listIn(branch, 'required')));
  const [first = new Set<unknown>()] = lists;
  const required =
    together === 'allOf'
      ? lists.flatMap((list) => [...list])
      : [...first].filter((name) => lists.every((list) => list.has(name)));
  const all = [...new Set([...listIn(own, 'required'), ...required])];
  const description = branches.length === 1 ? branches[0]?.['description'] : undefined;
  return {
    ...(description === undefined ? {} : { description }),
    ...own,
    properties: { ...propertiesOf(branches, together), ...objectIn(own, 'properties') },
    ...(all.length === 0 ? {} : { required: all }),
  };
}

function propertiesOf(branches: readonly JsonObject[], together: 'allOf' | 'anyOf'): JsonObject {
  const found = new Map<string, Map<string, unknown>>();
  for (const branch of branches) {
    for (const [name, property] of Object.entries(objectIn(branch, 'properties') ?? {})) {
      const forms = found.get(name) ?? new Map<string, unknown>();
      found.set(name, forms.set(JSON.stringify(property), property));
    }
  }
  const entries = [...found].map(([name, forms]): [string, unknown] => {
    const [only] = forms.values();
    return [name, forms.size === 1 ? only : { [together]: [...forms.values()] }];
  });
  return Object.fromEntries(entries);
}

/** What `$ref` names within the schema; null where it names nothing, or something outside. */
function referred(schema: JsonObject, root: JsonObject): JsonObject | null {
  const { $ref: pointer } = schema;
  if (typeof pointer !== 'string' || !pointer.startsWith('#/')) return null;
  let at: unknown = root;
  for (const step of pointer.slice(2).split('/')) {
    const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    at = isObject(at) || Array.isArray(at) ? (at as JsonObject)[key] : undefined;
  }
  return isObject(at) ? at : null;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch (error) {
    if (error instanceof URIError) return step;
    throw error;
  }
}

/** A name that fits for each property of the schema whose own does not, one that no other property has. */
function aliasesIn(schema: JsonObject): ReadonlyMap<string, string> {
  const names = new Set<string>();
  everyProperties(schema, (properties) => Object.keys(properties).forEach((name) => names.add(name)));
  const aliases = new Map<string, string>();
  for (const name of [...names].filter((each) => !fitName.test(each))) {
    const plain = name.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, maxName) || '_';
    let alias = plain;
    for (let number = 2; names.has(alias); number += 1) {
      const suffix = `_${number}`;
      alias = plain.slice(0, maxName - suffix.length) + suffix;
    }
    names.add(alias);
    aliases.set(name, alias);
  }
  return aliases;
}

function everyProperties(value: unknown, take: (properties: JsonObject) => void): void {
  if (Array.isArray(value)) for (const each of value as readonly unknown[]) everyProperties(each, take);
  if (!isObject(value)) return;
  for (const [key, inner] of Object.entries(value)) {
    if (valueKeys.has(key)) continue;
    if (key !== 'properties' || !isObject(inner)) everyProperties(inner, take);
    else {
      take(inner);
      for (const property of Object.values(inner)) everyProperties(property, take);
    }
  }
}

/** Keywords that hold values, not schemas. */
const valueKeys: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples']);

/** The schema with other names of properties. */
function withNames(value: unknown, aliases: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => withNames(each, aliases));
  if (!isObject(value)) return value;
  const aliased = (name: unknown): unknown => (typeof name === 'string' ? (aliases.get(name) ?? name) : name);
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    if (valueKeys.has(key)) return [key, inner];
    if (key === 'required' && Array.isArray(inner)) return [key, inner.map(aliased)];
    if (!namedKeys.has(key) || !isObject(inner)) return [key, withNames(inner, aliases)];
    const named = Object.entries(inner).map(([name, property]): [string, unknown] => [
      String(aliased(name)),
      Array.isArray(property) ? property.map(aliased) : withNames(property, aliases),
    ]);
    return [key, Object.fromEntries(named)];
  });
  return Object.fromEntries(entries);
}

/** Keywords whose keys are names of properties. */
const namedKeys: ReadonlySet<string> = new Set(['dependencies', 'dependentRequired', 'dependentSchemas', 'properties']);

/** The name of a property by its key, and the key that it gets. */
type Rename = (key: string) => readonly [name: string, key: string];

/** The text of an object with other keys, where its schema declares them. Numbers keep their digits. */
function withKeys(text: string, schema: JsonObject, rename: Rename): string {
  const parsed = parseJson(text);
  if (!isObject(parsed)) return text;
  const mark = markOutside(text, JSON.stringify(schema));
  const kept = parseJson(withMarkedNumbers(text, mark));
  return withoutMarks(JSON.stringify(renamed(kept, [schema], { root: schema, rename })), mark);
}

/** Begins a text that stands for a number, in JSON: more null characters than stand in a row in any of these JSON texts, where each has this one spelling. */
function markOutside(...texts: readonly string[]): string {
  let mark = '\\u0000';
  while (texts.some((text) => text.includes(mark))) mark += mark;
  return `${mark}#`;
}

const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Goes from token to token: an expression over whole texts overflows the stack of the engine at some millions of escapes. */
function withMarkedNumbers(text: string, mark: string): string {
  let marked = '';
  let from = 0;
  let index = 0;
  while (index < text.length) {
    const character = text.charAt(index);
    if (character === '"') index = endOfText(text, index);
    else if (character === '-' || (character >= '0' && character <= '9')) {
      number.lastIndex = index;
      const [found = character] = number.exec(text) ?? [];
      marked += `${text.slice(from, index)}"${mark}${found}"`;
      index += found.length;
      from = index;
    } else index += 1;
  }
  return marked + text.slice(from);
}

function endOfText(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1;
  return index + 1;
}

function withoutMarks(json: string, mark: string): string {
  const [first = '', ...rest] = json.split(`"${mark}`);
  // Behind a mark stand the number and the end of its text.
  return first + rest.map((part) => part.replace('"', '')).join('');
}

interface Renaming {
  readonly root: JsonObject;
  readonly rename: Rename;
}

function renamed(value: unknown, schemas: readonly JsonObject[], renaming: Renaming): unknown {
  if (schemas.length === 0) return value;
  const all = applying(schemas, renaming.root);
  if (Array.isArray(value)) {
    const listed = all.flatMap((schema) => [schema['items'], ...listIn(schema, 'prefixItems')]);
    const items = listed.filter((each) => isObject(each));
    return value.map((each: unknown) => renamed(each, items, renaming));
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    const [name, other] = renaming.rename(key);
    const declared = all.filter((schema) => Object.hasOwn(objectIn(schema, 'properties') ?? {}, name));
    const below = declared.map((schema) => objectIn(schema, 'properties')?.[name]).filter((each) => isObject(each));
    if (declared.length > 0) return [other, renamed(inner, below, renaming)];
    const others = all.map((schema) => schema['additionalProperties']).filter((each) => isObject(each));
    return [key, renamed(inner, others, renaming)];
  });
  return Object.fromEntries(entries);
}

/** Schemas and all that may apply at the same place, each once. */
function applying(schemas: readonly JsonObject[], root: JsonObject): readonly JsonObject[] {
  const all = new Set<JsonObject>();
  const add = (schema: unknown): void => {
    if (!isObject(schema) || all.has(schema)) return;
    all.add(schema);
    add(referred(schema, root));
    for (const combinator of combinators) listIn(schema, combinator).forEach(add);
    add(schema['then']);
    add(schema['else']);
  };
  schemas.forEach(add);
  return [...all];
}
