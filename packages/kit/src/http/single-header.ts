/** The value of a header that may stand once; undefined when it is absent. Node joins what is sent twice, for nearly every name. */
export function singleHeader(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
