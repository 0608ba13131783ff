import type { InferenceRequest, Message } from '../inference/driver.ts';

/** Characters of a request or reply that count as one token where a provider reports none. */
const charactersPerToken = 4;

/** What a value would take of a model's context, by the length of its JSON. */
export function estimateTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / charactersPerToken);
}

const lengths = new WeakMap<Message, number>();

/** The same of a request. Each message is measured once, however often it is sent. */
export function estimateRequest({ messages, ...rest }: InferenceRequest): number {
  let length = JSON.stringify({ ...rest, messages: [] }).length + Math.max(0, messages.length - 1);
  for (const message of messages) length += lengthOf(message);
  return Math.ceil(length / charactersPerToken);
}

function lengthOf(message: Message): number {
  const known = lengths.get(message);
  if (known !== undefined) return known;
  const { length } = JSON.stringify(message);
  lengths.set(message, length);
  return length;
}
