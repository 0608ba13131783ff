/** Takes the markers of untrusted text off what is shown to people. */

const closing = '</untrusted-content>';
const opening = /^<untrusted-content source=[^\n>]*>\n/;

/**
 * The text between the markers that tell a model what others wrote (docs/protocol.md "Frames"): they say nothing to a person. `fenceSource` is null where
 * there are none.
 */
export function unfenced(content: string, fenceSource: string | null): string {
  const start = fenceSource === null ? null : opening.exec(content.slice(0, 1024));
  if (start === null || !content.endsWith(closing)) return content;
  const inner = content.slice(start[0].length, -closing.length);
  return inner.endsWith('\n') ? inner.slice(0, -1) : inner;
}
