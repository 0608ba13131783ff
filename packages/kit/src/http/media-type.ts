/** Reads the Content-Type header. */

const json = /^application\/json[ \t]*(?:;|$)/i;

/** Whether a `Content-Type` header says JSON: the media type exactly, in any case, with any parameters. */
export function isJsonMediaType(contentType: string | undefined): boolean {
  return contentType !== undefined && json.test(contentType);
}
