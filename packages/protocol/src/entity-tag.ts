/** The entity tag of bytes with this hash, 64 lowercase hex characters (D3 "Operator plane"). */
export function encodeEntityTag(sha256: string): string {
  return `"sha256:${sha256}"`;
}

/** The hash in a tag; null for another tag. */
export function decodeEntityTag(tag: string | undefined): string | null {
  return /^"sha256:([0-9a-f]{64})"$/.exec(tag ?? '')?.[1] ?? null;
}

/** Whether an `If-None-Match` header names the tag, weakly or not, or any at all. */
export function namesTag(header: string, tag: string): boolean {
  return header.split(',').some((part) => {
    const named = part.trim();
    return named === '*' || named.replace(/^W\//, '') === tag;
  });
}
