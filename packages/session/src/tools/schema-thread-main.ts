/** The thread in which schemas of strangers are compiled. */

import { parentPort } from 'node:worker_threads';

import { checkSchema, type JsonSchema, SchemaProblems, UnusableSchema } from './schema-problems.ts';

/** What the thread is asked. A schema is sent once, under a number of its own. */
export type SchemaQuestion =
  | { readonly kind: 'compile'; readonly key: number; readonly schema: JsonSchema }
  | { readonly kind: 'check'; readonly key: number; readonly args: unknown }
  /** Whether the schema is one at all. */
  | { readonly kind: 'check-schema'; readonly schema: JsonSchema };

export type SchemaAnswer =
  /** Empty when the schema can be used, or the arguments fit it. */
  | { readonly kind: 'problems'; readonly problems: readonly string[] }
  /** `reason` is a clause: `its type is not object`. */
  | { readonly kind: 'unusable'; readonly reason: string };

/** Compiles and runs schemas that may take any time. The side that asks ends the thread when an answer takes too long. */
const compiled = new Map<number, SchemaProblems>();

parentPort?.on('message', (question: SchemaQuestion) => {
  void answer(question).then((said) => parentPort?.postMessage(said));
});

async function answer(question: SchemaQuestion): Promise<SchemaAnswer> {
  try {
    return { kind: 'problems', problems: await problemsOf(question) };
  } catch (error) {
    if (error instanceof UnusableSchema) return { kind: 'unusable', reason: error.message };
    throw error;
  }
}

async function problemsOf(question: SchemaQuestion): Promise<readonly string[]> {
  switch (question.kind) {
    case 'check-schema':
      await checkSchema(question.schema);
      return [];
    case 'compile': {
      const schema = new SchemaProblems(question.schema);
      await schema.ready();
      compiled.set(question.key, schema);
      return [];
    }
    case 'check':
      return (await compiled.get(question.key)?.problemsOf(question.args)) ?? [];
  }
}
