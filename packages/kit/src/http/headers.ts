/** Reads single headers of a request. */

/** The value of a header that may stand once; undefined when it is absent. Node joins what is sent twice, for nearly every name. */
export function singleHeader(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

const json = /^application\/json[ \t]*(?:;|$)/i;

/** Whether a `Content-Type` header says JSON: the media type exactly, in any case, with any parameters. */
export function isJsonMediaType(contentType: string | undefined): boolean {
  return contentType !== undefined && json.test(contentType);
}
