/** The entity tag of bytes with this hash, as D3 writes it on the operator plane. */
export function entityTag(sha256: string): string {
  return `"sha256:${sha256}"`;
}

/** Whether an `If-None-Match` header names the tag, weakly or not, or any at all. */
export function namesTag(header: string, tag: string): boolean {
  return header.split(',').some((part) => {
    const named = part.trim();
    return named === '*' || named.replace(/^W\//, '') === tag;
  });
}
