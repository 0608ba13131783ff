import type { ErrorObject } from 'ajv';

const maxProblems = 10;
const maxLength = 300;

/** Schema errors as sentences a model can act on: where, and what is expected there. Ten at most. */
export function describeProblems(errors: readonly ErrorObject[]): readonly string[] {
  const sentences = [...new Set(errors.map(describe))];
  const shown = sentences.slice(0, maxProblems);
  const rest = sentences.length - shown.length;
  return rest === 0 ? shown : [...shown, `and ${rest} more`];
}

function describe(error: ErrorObject): string {
  const place = placeOf(error.instancePath);
  const params = error.params as Readonly<Record<string, unknown>>;
  switch (error.keyword) {
    case 'required':
      return cut(`${place}${member(String(params.missingProperty))}: is required`);
    case 'additionalProperties':
      return cut(`${place}${member(String(params.additionalProperty))}: is not a known property`);
    case 'enum':
      return cut(`${place}: must be one of ${JSON.stringify(params.allowedValues)}`);
    case 'const':
      return cut(`${place}: must be ${JSON.stringify(params.allowedValue)}`);
    default:
      return cut(`${place}: ${error.message ?? 'does not fit the input schema'}`);
  }
}

/** `/files/0/path` as `arguments.files[0].path`. */
function placeOf(pointer: string): string {
  const segments = pointer.split('/').slice(1);
  return `arguments${segments.map((segment) => member(unescaped(segment))).join('')}`;
}

function unescaped(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}

function member(name: string): string {
  if (/^\d+$/.test(name)) return `[${name}]`;
  return /^[A-Za-z_][\w-]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function cut(sentence: string): string {
  return sentence.length > maxLength ? `${sentence.slice(0, maxLength)}…` : sentence;
}
