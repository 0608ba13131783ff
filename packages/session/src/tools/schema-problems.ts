/** Finds what is wrong with a value by its JSON Schema. */

import type { Ajv, ErrorObject, Options } from 'ajv';

import { firstLines, shortened } from '@svc/kit/diagnostics/printable.ts';
import { isCheap } from './check-cost.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

type Validator = (data: unknown) => readonly ErrorObject[];

/** The schema cannot be used; the message is a clause that says why. */
export class UnusableSchema extends Error {
  override readonly name = 'UnusableSchema';
}

/** One JSON Schema (2020-12, or draft-07 when `$schema` says so), compiled when it is first needed. What that takes is not bounded here. */
export class SchemaProblems {
  readonly #schema: JsonSchema;
  #first: Promise<Validator> | undefined;
  #all: Promise<Validator> | undefined;

  constructor(schema: JsonSchema) {
    this.#schema = schema;
  }

  /** Rejects with `UnusableSchema` when it does not compile. */
  async ready(): Promise<void> {
    await this.#compiled();
  }

  /** Sentences a model can act on, `arguments.path: must be string`; empty when the arguments fit. Only the first where more would take long to find. */
  async problemsOf(args: unknown): Promise<readonly string[]> {
    const first = (await this.#compiled())(args);
    if (first.length === 0 || !isCheap(JSON.stringify(this.#schema).length, args)) return describeProblems(first);
    this.#all ??= compile(this.#schema, true);
    return describeProblems((await this.#all)(args));
  }

  async #compiled(): Promise<Validator> {
    this.#first ??= compile(this.#schema, false);
    return await this.#first;
  }
}

/** The compiled meta-schema of each dialect. */
const metaChecks = new Map<ReturnType<typeof dialectName>, Ajv>();

/**
 * Rejects with `UnusableSchema` for what does not compile, and for what does and still is no schema. Not done at calls: compiling the meta-schema
 * takes longer than any tool's.
 */
export async function checkSchema(schema: JsonSchema): Promise<void> {
  await compile(schema, false);
  const dialect = dialectName(schema.$schema);
  const ajv = metaChecks.get(dialect) ?? (await loadDialect(schema))({});
  metaChecks.set(dialect, ajv);
  orUnusable(() => {
    if (ajv.validateSchema(schema) !== true) throw new Error(ajv.errorsText(ajv.errors));
  });
}

async function compile(schema: JsonSchema, allErrors: boolean): Promise<Validator> {
  const ajv = (await loadDialect(schema))({ allErrors, meta: false, validateSchema: false });
  const validate = orUnusable(() => ajv.compile(schema));
  return (data) => (validate(data) ? [] : (validate.errors ?? []));
}

/** Ajv throws plain errors for all it cannot use: bad keywords, patterns, references. */
function orUnusable<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new UnusableSchema(error instanceof Error ? firstLine(error.message) : 'it does not compile');
  }
}

/** The compiler is large, so it is loaded when first needed. */
async function loadDialect(schema: JsonSchema): Promise<(own: Options) => Ajv> {
  const Dialect =
    dialectName(schema.$schema) === 'draft-07' ? (await import('ajv')).Ajv : (await import('ajv/dist/2020.js')).Ajv2020;
  return (own) => new Dialect({ ...options, ...own });
}

function dialectName(declared: unknown): 'draft-07' | '2020-12' {
  if (declared === undefined) return '2020-12';
  if (typeof declared === 'string') {
    if (declared.includes('2020-12')) return '2020-12';
    if (declared.includes('draft-07')) return 'draft-07';
  }
  throw new UnusableSchema('its $schema is neither 2020-12 nor draft-07');
}

const options: Options = {
  strict: false,
  ownProperties: true,
  validateFormats: false,
  logger: false,
  code: { regExp: Object.assign(lenientRegExp, { code: 'new RegExp' }) },
};

/** Patterns are Unicode-aware where they can be; older ones with needless escapes still count. */
function lenientRegExp(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch (error) {
    if (error instanceof SyntaxError) return new RegExp(pattern);
    throw error;
  }
}

function firstLine(message: string): string {
  const line = message.split('\n', 1)[0] ?? '';
  return shortened(line, 300);
}

const maxProblems = 10;
const maxLength = 300;

/** Schema errors as sentences a model can act on: where, and what is expected there. Ten at most. */
function describeProblems(errors: readonly ErrorObject[]): readonly string[] {
  return firstLines([...new Set(errors.map(describe))], maxProblems);
}

function describe(error: ErrorObject): string {
  const place = placeOf(error.instancePath);
  const params = error.params as Readonly<Record<string, unknown>>;
  switch (error.keyword) {
    case 'required':
      return cut(`${place}${member(String(params.missingProperty))}: is required`);
    case 'additionalProperties':
      return cut(`${place}${member(String(params.additionalProperty))}: is not a known property`);
    case 'enum':
      return cut(`${place}: must be one of ${JSON.stringify(params.allowedValues)}`);
    case 'const':
      return cut(`${place}: must be ${JSON.stringify(params.allowedValue)}`);
    default:
      return cut(`${place}: ${error.message ?? 'does not fit the input schema'}`);
  }
}

/** `/files/0/path` as `arguments.files[0].path`. */
function placeOf(pointer: string): string {
  const segments = pointer.split('/').slice(1);
  return `arguments${segments.map((segment) => member(unescaped(segment))).join('')}`;
}

function unescaped(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}

function member(name: string): string {
  if (/^\d+$/.test(name)) return `[${name}]`;
  return /^[A-Za-z_][\w-]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function cut(sentence: string): string {
  return shortened(sentence, maxLength);
}
