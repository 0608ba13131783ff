import type { Ajv, ErrorObject, Options } from 'ajv';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { describeProblems } from './argument-problems.ts';
import { runBounded } from './bounded-run.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

const maxSchemaLength = 256 * 1024;
const compileTimeoutMs = 2000;
const checkTimeoutMs = 250;
/** Up to here every problem of the arguments is listed; above, the first. */
const fullReportLength = 64 * 1024;
/** A longer schema is run with a time limit whatever is in it. */
const plainSchemaLength = 16 * 1024;
/** Keywords whose cost is not bounded by the size of schema and arguments. */
const costly = /"(?:pattern|patternProperties|uniqueItems|\$ref|\$dynamicRef|\$recursiveRef)":/;

type Problems = readonly ErrorObject[];
type Validator = (data: unknown) => Problems | 'out-of-time';

/** The schema cannot be used; the message is a clause that says why. */
class UnusableSchema extends Error {
  override readonly name = 'UnusableSchema';
}

/**
 * Checks the arguments of one tool against its JSON Schema (2020-12, or draft-07 when `$schema` says so). The schema is
 * compiled at the first check and kept. Schemas come from artifacts: no check runs longer than a quarter of a second.
 */
export class ArgumentCheck {
  readonly #schema: JsonSchema;
  #first: Promise<Validator> | undefined;
  #all: Promise<Validator> | undefined;

  constructor(schema: JsonSchema) {
    this.#schema = schema;
  }

  /** Compiles the schema ahead of the first check, which tells of one that cannot be used. */
  warm(): void {
    this.#first ??= compile(this.#schema, false);
    this.#first.catch(() => undefined);
  }

  /** Sentences a model can act on, `arguments.path: must be string`; empty when the arguments fit. */
  async problemsOf(args: unknown): Promise<readonly string[]> {
    try {
      this.#first ??= compile(this.#schema, false);
      const first = (await this.#first)(args);
      if (first === 'out-of-time') return ['arguments: took too long to check against the input schema'];
      if (first.length === 0 || JSON.stringify(args).length > fullReportLength) return describeProblems(first);
      this.#all ??= compile(this.#schema, true);
      const all = (await this.#all)(args);
      return describeProblems(all === 'out-of-time' ? first : all);
    } catch (error) {
      if (error instanceof UnusableSchema) return [`the tool has an unusable input schema: ${error.message}`];
      throw error;
    }
  }
}

/** `E-MAN-003` when the input schema of a tool cannot be used. Loads the compiler, so it is for staging, not for the start. */
export async function inputSchemaProblem(toolName: string, schema: JsonSchema): Promise<Diagnostic | null> {
  try {
    await compile(schema, false);
    await checkAgainstMetaSchema(schema);
    return null;
  } catch (error) {
    if (!(error instanceof UnusableSchema)) throw error;
    return new Diagnostic('E-MAN-003', `input_schema of ${toolName} cannot be used: ${error.message}`, {
      hint: 'it must be a JSON Schema of an object, 2020-12 or draft-07, that refers to nothing outside itself',
    });
  }
}

async function compile(schema: JsonSchema, allErrors: boolean): Promise<Validator> {
  const text = textOf(schema);
  if (text.length > maxSchemaLength) throw new UnusableSchema('it is larger than 256 KiB');
  if (schema.type !== undefined && schema.type !== 'object') throw new UnusableSchema('its type is not object');
  const ajv = (await loadDialect(schema))({ allErrors, meta: false, validateSchema: false });
  const validate = compiling(() => ajv.compile(schema));
  const run = (data: unknown): Problems => (validate(data) ? [] : (validate.errors ?? []));
  if (text.length <= plainSchemaLength && !costly.test(text)) return run;
  return (data) => {
    const result = runBounded(checkTimeoutMs, () => run(data));
    return result.kind === 'done' ? result.value : 'out-of-time';
  };
}

function textOf(schema: JsonSchema): string {
  try {
    return JSON.stringify(schema);
  } catch (error) {
    if (error instanceof RangeError) throw new UnusableSchema('it is nested too deeply');
    throw error;
  }
}

/** By dialect, with the meta-schema compiled. */
const metaChecks = new Map<ReturnType<typeof dialectName>, Ajv>();

/** Finds what compiles and still is no schema. Not done at calls: compiling the meta-schema takes longer than any tool's. */
async function checkAgainstMetaSchema(schema: JsonSchema): Promise<void> {
  const dialect = dialectName(schema.$schema);
  const ajv = metaChecks.get(dialect) ?? (await loadDialect(schema))({});
  metaChecks.set(dialect, ajv);
  compiling(() => {
    if (ajv.validateSchema(schema) !== true) throw new Error(ajv.errorsText(ajv.errors));
  });
}

function compiling<T>(work: () => T): T {
  const compiled = runBounded(compileTimeoutMs, () => {
    try {
      return work();
    } catch (error) {
      // Ajv throws plain errors for all it cannot use: bad keywords, patterns, references.
      throw new UnusableSchema(error instanceof Error ? firstLine(error.message) : 'it does not compile');
    }
  });
  if (compiled.kind === 'out-of-time') throw new UnusableSchema('it takes too long to compile');
  return compiled.value;
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
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}
