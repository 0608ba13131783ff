import { parentPort } from 'node:worker_threads';

import { checkSchema, SchemaProblems, UnusableSchema } from './schema-problems.ts';
import type { SchemaAnswer, SchemaQuestion } from './schema-thread-messages.ts';

/** The thread in which schemas are compiled and run whose cost nobody bounds but whoever ends it. */
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
