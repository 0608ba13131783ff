/** Reads what the manifest sets for a driver in the keys of its `config`. */

import { isObject, parseJson, type JsonObject } from '../json.ts';

/** Says whether a value is right for a key, and what a right one is. */
export interface ConfigKey<T> {
  readonly expected: string;
  accepts(value: unknown): value is T;
}

export type ConfigOf<Keys> = {
  readonly [Name in keyof Keys]?: Keys[Name] extends ConfigKey<infer T> ? T : never;
};

/**
 * `inference.driver.config`, checked against the keys a driver knows. Throws an `Error` that names the first wrong key:
 * a misspelt option that is silently ignored costs more than a refusal.
 */
export function readDriverConfig<Keys extends Record<string, ConfigKey<unknown>>>(
  text: string,
  keys: Keys,
): ConfigOf<Keys> {
  const config = parseJson(text);
  if (!isObject(config)) throw new Error('inference.driver.config must be a mapping');
  for (const [name, value] of Object.entries(config)) {
    const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
    if (key === undefined) {
      const known = Object.keys(keys).toSorted().join(', ');
      throw new Error(`inference.driver.config.${name} is not known; the keys are ${known}`);
    }
    if (!key.accepts(value)) throw new Error(`inference.driver.config.${name} must be ${key.expected}`);
  }
  return config as ConfigOf<Keys>;
}

export function numberBetween(least: number, most: number): ConfigKey<number> {
  return {
    expected: `a number from ${least} to ${most}`,
    accepts: (value): value is number => typeof value === 'number' && value >= least && value <= most,
  };
}

export function wholeNumberBetween(least: number, most: number): ConfigKey<number> {
  return {
    expected: `a whole number from ${least} to ${most}`,
    accepts: (value): value is number => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
  };
}

export function oneOf<const Values extends readonly string[]>(...values: Values): ConfigKey<Values[number]> {
  return {
    expected: `one of ${values.join(', ')}`,
    accepts: (value): value is Values[number] => typeof value === 'string' && values.includes(value),
  };
}

export const flag: ConfigKey<boolean> = {
  expected: 'true or false',
  accepts: (value): value is boolean => typeof value === 'boolean',
};

export const anyText: ConfigKey<string> = {
  expected: 'text',
  accepts: (value): value is string => typeof value === 'string',
};

/** One text or a list of them, none empty. */
export const texts: ConfigKey<string | readonly string[]> = {
  expected: 'a text or a list of texts, none of them empty',
  accepts: (value): value is string | readonly string[] =>
    (Array.isArray(value) ? value : [value]).every((entry) => typeof entry === 'string' && entry !== ''),
};

/** Keys merged into the request body; the ones the driver itself depends on stay its own. */
export function anyBodyExcept(reserved: readonly string[]): ConfigKey<JsonObject> {
  return {
    expected: `a mapping without ${reserved.join(', ')}`,
    accepts: (value): value is JsonObject => isObject(value) && reserved.every((name) => !Object.hasOwn(value, name)),
  };
}

const reservedHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
  'x-api-key',
]);
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const headerValue = /^[\t\u0020-\u007e]*$/;

/** Extra request headers; those that carry the key or frame the message are refused. */
export const extraHeaders: ConfigKey<Readonly<Record<string, string>>> = {
  expected: `a mapping of header names to printable texts, without ${[...reservedHeaders].join(', ')}`,
  accepts: (value): value is Readonly<Record<string, string>> =>
    isObject(value) &&
    Object.entries(value).every(
      ([name, text]) =>
        headerName.test(name) &&
        !reservedHeaders.has(name.toLowerCase()) &&
        typeof text === 'string' &&
        headerValue.test(text),
    ),
};

/** `body` with `extra` laid over it. A key that is null in `extra` is left out, for servers that refuse it. */
export function withExtraBody(body: JsonObject, extra: JsonObject | undefined): JsonObject {
  const merged = { ...body, ...extra };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null && value !== undefined));
}

/** `headers` with `extra` laid over it; names compare without case. */
export function withExtraHeaders(
  headers: readonly (readonly [string, string])[],
  extra: Readonly<Record<string, string>> = {},
): readonly (readonly [string, string])[] {
  const replaced = new Set(Object.keys(extra).map((name) => name.toLowerCase()));
  const lowered = Object.entries(extra).map(([name, value]) => [name.toLowerCase(), value] as const);
  return [...headers.filter(([name]) => !replaced.has(name)), ...lowered];
}
