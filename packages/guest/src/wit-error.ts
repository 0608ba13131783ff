/** Recognises an error that a host import returned. */

/** The WIT error that an import threw, such as `'no-entry'`; `undefined` when `error` is anything else. */
export function payloadOf(error: unknown): unknown {
  return error instanceof Error && 'payload' in error ? error.payload : undefined;
}
