import type * as z from 'zod/mini';

/** What is wrong with a line that has another shape, with the key it is about: `response.stop_reason must be text`. */
export function describeFirst(error: z.core.$ZodError): string {
  const [issue] = error.issues;
  if (issue === undefined) return 'it has another shape';
  const place = issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  const described = `${place === '' ? 'the line' : place.replace(/^\./, '')} ${issue.message}`;
  return described.length > 300 ? `${described.slice(0, 300)}…` : described;
}
