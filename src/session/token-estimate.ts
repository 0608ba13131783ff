/** Characters of a request or reply that count as one token where a provider reports none. */
const charactersPerToken = 4;

/** What a value would take of a model's context, by the length of its JSON. */
export function estimateTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / charactersPerToken);
}
