/** Says which bodies A2A takes for JSON. */

const jsonTypes = /^application\/(?:json|a2a\+json)[ \t]*(?:;|$)/i;

/** Whether a `content-type` is that of JSON, or the one that A2A has for itself. */
export function isJsonType(contentType: string | undefined): boolean {
  return jsonTypes.test(contentType ?? '');
}
