import type { $ZodRawIssue } from 'zod/v4/core';

/**
 * What is wrong with a value, as the clause after its key: `must be a whole number`. Asked only where the schema has no
 * clause of its own.
 */
export function issueClause(issue: $ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${nounFor(issue)}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return tooSmall(issue.origin, Number(issue.minimum), issue.inclusive !== false);
    case 'too_big':
      return issue.origin === 'string'
        ? `must be at most ${issue.maximum} characters`
        : `must be at most ${issue.maximum}${issue.origin === 'array' ? ' entries' : ''}`;
    case 'invalid_format':
    case 'not_multiple_of':
    case 'invalid_union':
    case 'invalid_key':
    case 'invalid_element':
    case 'unrecognized_keys':
    case 'custom':
      return 'is not allowed';
    default:
      return 'is not allowed';
  }
}

function tooSmall(origin: string, minimum: number, inclusive: boolean): string {
  if (origin === 'string') return 'must not be empty';
  if (origin === 'array') return 'must have at least one entry';
  return inclusive ? `must be at least ${minimum}` : `must be more than ${minimum}`;
}

const nouns: Readonly<Record<string, string>> = {
  string: 'text',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'a block of keys',
  record: 'a block of keys',
};

function nounFor(issue: $ZodRawIssue & { readonly expected?: string }): string {
  const definition = issue.inst?._zod.def;
  if (definition !== undefined && 'format' in definition && definition.format === 'safeint') return 'a whole number';
  return nouns[issue.expected ?? ''] ?? 'a number';
}
