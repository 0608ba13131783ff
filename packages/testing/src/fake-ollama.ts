/** A local model server that plays a script in the words of Ollama's API. */

import { FakeProvider, isRecord } from './fake-provider.ts';
import { chatCompletions } from './fake-openai.ts';
import type { FakeReply } from './fake-reply.ts';

/** A model that is there. */
export interface FakeModel {
  readonly name: string;
  /** In Ollama's words: `completion`, `tools`, `embedding`. */
  readonly capabilities: readonly string[];
}

/** An Ollama with these models, newest first: it lists them, says what each can do, and plays the replies over Chat Completions. */
export async function startFakeOllama(
  models: readonly FakeModel[],
  replies: readonly FakeReply[],
): Promise<FakeProvider> {
  const beside = ({ method, path, json }: { method: string; path: string; json: unknown }): object | null => {
    if (method === 'GET' && path === '/api/tags') return { models: models.map(({ name }) => ({ name, model: name })) };
    if (method !== 'POST' || path !== '/api/show') return null;
    const asked = isRecord(json) ? json['model'] : undefined;
    return { capabilities: models.find(({ name }) => name === asked)?.capabilities ?? [] };
  };
  return await FakeProvider.start({ ...chatCompletions, beside }, replies, {});
}
