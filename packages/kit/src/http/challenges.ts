/** Reads where and how a server wants a login (RFC 9110 §11.6.1). */

interface Challenge {
  /** In small letters, like the names of its fields. */
  readonly scheme: string;
  readonly fields: ReadonlyMap<string, string>;
}

const longest = 8192;
/** A scheme, or a field with its value, which may stand without quotes. */
const part = /[\s,]*([^\s,="]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/gy;

/** All challenges of a header, or of several that were joined: `Basic realm="…", Bearer realm="…",service="…"`. */
export function challengesIn(header: string): readonly Challenge[] {
  const found: { readonly scheme: string; readonly fields: Map<string, string> }[] = [];
  for (const [, name = '', quoted, bare] of header.slice(0, longest).matchAll(part)) {
    const value = quoted?.replaceAll(/\\(.)/g, '$1') ?? bare;
    if (value === undefined) found.push({ scheme: name.toLowerCase(), fields: new Map() });
    else found.at(-1)?.fields.set(name.toLowerCase(), value);
  }
  return found;
}

/** What the first challenge for a bearer token says; nothing without one. */
export function bearerFields(header: string): ReadonlyMap<string, string> {
  return challengesIn(header).find(({ scheme }) => scheme === 'bearer')?.fields ?? new Map();
}
