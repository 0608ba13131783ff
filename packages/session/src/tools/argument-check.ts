/** Checks the arguments of a tool against its JSON Schema. */

import { hookProblem } from '@svc/artifacts/manifest/hook-declaration.ts';
import type { ArtifactManifest } from '@svc/artifacts/manifest/schema.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { JsonShape } from '@svc/protocol/json-text.ts';
import { isCheap } from './check-cost.ts';
import type { JsonSchema, SchemaProblems } from './schema-problems.ts';
import type { ThreadAnswer } from './schema-thread.ts';

export type { JsonSchema } from './schema-problems.ts';

const maxSchemaLength = 256 * 1024;
/** A longer schema is run with a time limit whatever is in it. */
const plainSchemaLength = 16 * 1024;
/** Keywords whose cost is not bounded by the size of schema and arguments. */
const costly = /"(?:pattern|patternProperties|uniqueItems|\$ref|\$dynamicRef|\$recursiveRef)":/;

/**
 * Checks the arguments of one tool against its JSON Schema (2020-12, or draft-07 when `$schema` says so). The schema is compiled at the first check
 * and kept. Schemas come from artifacts and servers, arguments from models: where the size of both does not keep the cost small, the check is made in a
 * thread, for a quarter of a second at most (docs/adr/libraries.md "Schema checks").
 */
export class ArgumentCheck {
  readonly #schema: JsonSchema;
  #kind: SchemaKind | undefined;
  #compiled: Promise<SchemaProblems> | undefined;

  constructor(schema: JsonSchema) {
    this.#schema = schema;
  }

  /** Compiles the schema ahead of the first check, which reports a schema that cannot be used. */
  warm(): void {
    const { kind } = this.#looked();
    if (kind === 'plain') this.#compile().catch(() => undefined);
    else if (kind === 'costly') void thread().then(async (asked) => await asked.compile(this.#schema));
  }

  /** Sentences a model can act on, `arguments.path: must be string`; empty when the arguments fit. */
  async problemsOf(args: unknown): Promise<readonly string[]> {
    const answer = await this.#answer(args);
    switch (answer.kind) {
      case 'problems':
        return answer.problems;
      case 'unusable':
        return [`the tool has an unusable input schema: ${answer.reason}`];
      case 'out-of-time':
        return ['arguments: took too long to check against the input schema'];
      case 'no-thread':
        return [`the input schema of the tool cannot be checked now: ${answer.reason}`];
    }
  }

  async #answer(args: unknown): Promise<ThreadAnswer> {
    const kind = this.#looked();
    if (kind.kind === 'unusable') return kind;
    if (kind.kind === 'costly' || !isCheap(kind.length, args)) {
      return await (await thread()).problemsOf(this.#schema, args);
    }
    return await orUnusable(async () => await (await this.#compile()).problemsOf(args));
  }

  /** Not at once: most tools of a session are never called. */
  #looked(): SchemaKind {
    this.#kind ??= kindOf(this.#schema);
    return this.#kind;
  }

  async #compile(): Promise<SchemaProblems> {
    this.#compiled ??= import('./schema-problems.ts').then(async ({ SchemaProblems }) => {
      const compiled = new SchemaProblems(this.#schema);
      await compiled.ready();
      return compiled;
    });
    return await this.#compiled;
  }
}

/** `E-MAN-003` when the input schema of a tool cannot be used. Loads the compiler, so it is for staging, not for the start. */
export async function inputSchemaProblem(toolName: string, schema: JsonSchema): Promise<Diagnostic | null> {
  const answer = await checkOf(schema);
  if (answer.kind === 'problems') return null;
  const reason = answer.kind === 'out-of-time' ? 'it takes too long to compile' : answer.reason;
  return new Diagnostic('E-MAN-003', `input_schema of ${toolName} cannot be used: ${reason}`, {
    hint: 'it must be a JSON Schema of an object, 2020-12 or draft-07, that refers to nothing outside itself',
  });
}

async function checkOf(schema: JsonSchema): Promise<ThreadAnswer> {
  const kind = kindOf(schema);
  if (kind.kind === 'unusable') return kind;
  if (kind.kind === 'costly') return await (await thread()).checkSchema(schema);
  return await orUnusable(async () => {
    const { checkSchema } = await import('./schema-problems.ts');
    await checkSchema(schema);
    return [];
  });
}

async function orUnusable(work: () => Promise<readonly string[]>): Promise<ThreadAnswer> {
  try {
    return { kind: 'problems', problems: await work() };
  } catch (error) {
    const { UnusableSchema } = await import('./schema-problems.ts');
    if (error instanceof UnusableSchema) return { kind: 'unusable', reason: error.message };
    throw error;
  }
}

type SchemaKind =
  /** `length` is that of its text. */
  | { readonly kind: 'plain'; readonly length: number }
  | { readonly kind: 'costly' }
  | { readonly kind: 'unusable'; readonly reason: string };

function kindOf(schema: JsonSchema): SchemaKind {
  const text = textOf(schema);
  if (text === null || new JsonShape().add(text, 0, text.length) === 'too-deep') {
    return { kind: 'unusable', reason: 'it is nested too deeply' };
  }
  if (text.length > maxSchemaLength) return { kind: 'unusable', reason: 'it is larger than 256 KiB' };
  if (schema.type !== undefined && schema.type !== 'object') {
    return { kind: 'unusable', reason: 'its type is not object' };
  }
  const isPlain = text.length <= plainSchemaLength && !costly.test(text);
  return isPlain ? { kind: 'plain', length: text.length } : { kind: 'costly' };
}

function textOf(schema: JsonSchema): string | null {
  try {
    return JSON.stringify(schema);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

async function thread(): Promise<typeof import('./schema-thread.ts').schemaThread> {
  return (await import('./schema-thread.ts')).schemaThread;
}

/** A tool whose arguments could never be checked, or a hook that could not be staged, is found here, not when it is used. */
export async function checkArtifact(manifest: ArtifactManifest): Promise<void> {
  const { name, input_schema: schema } = manifest;
  const problem = hookProblem(manifest) ?? (schema === undefined ? null : await inputSchemaProblem(name, schema));
  if (problem !== null) throw problem;
}
