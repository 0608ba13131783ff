/** The WIT error an import threw, or `undefined` when `error` is anything else. */
export function payloadOf(error: unknown): unknown {
  return error instanceof Error && 'payload' in error ? error.payload : undefined;
}
