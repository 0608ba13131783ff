/** Carries what a provider gives with its replies from one turn to the next, for that provider alone. */

import type { ContentBlock, DriverRequest } from '../driver.ts';
import { isObject, parseJson, textIn, type JsonObject } from '../json.ts';

/** What a signature of ours begins with: the one field of a conversation that goes back as it came. */
const prefix = 'companions:';

/** Who gives: a model behind an origin, in a protocol. Another one would refuse what it gave. */
export function giverOf({ model, endpoint }: Pick<DriverRequest, 'model' | 'endpoint'>, protocol: string): string {
  const [, scheme = '', host = ''] = /^([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#]*@)?([^/?#]*)/i.exec(endpoint) ?? [];
  return `${protocol} ${scheme.toLowerCase()}${host.toLowerCase()} ${model}`;
}

/** A signature for a block of thinking that carries `given`. */
export function carried(giver: string, given: JsonObject): string {
  return `${prefix}${JSON.stringify({ giver, ...given })}`;
}

/** What a signature carries; null where it carries nothing that this provider gave. */
export function carriedBy(signature: string | null, giver: string): JsonObject | null {
  if (signature === null || !isCarried(signature)) return null;
  const given = parseJson(signature.slice(prefix.length));
  return isObject(given) && textIn(given, 'giver') === giver ? given : null;
}

export function isCarried(signature: string): boolean {
  return signature.startsWith(prefix);
}

/** Whether a message is one of this provider, by what it carries. */
export function isOf(giver: string, content: readonly ContentBlock[]): boolean {
  return content.some((block) => block.tag === 'thinking' && carriedBy(block.val.signature, giver) !== null);
}
