/** Says in words what a schema checker says as JSON. */

const maxProblems = 3;

interface Issue {
  readonly path?: unknown;
  readonly message?: unknown;
}

/**
 * A clause for each value that does not fit, by its place: `params.name is missing`. Of more than three, how many more. Returns null if the text is
 * not a list of issues.
 */
export function checkerWords(told: string): string | null {
  const issues = listOf(told);
  if (issues === null) return null;
  const shown = issues.slice(0, maxProblems).map(({ path, message }) => {
    const place = Array.isArray(path) ? path.join('.') : '';
    return issueWords(place, String(message));
  });
  const rest = issues.length - shown.length;
  return [...shown, ...(rest > 0 ? [`${rest} more`] : [])].join('; ');
}

function issueWords(place: string, message: string): string {
  const said = message.replace(/^Invalid input: /, '');
  if (said.endsWith('received undefined')) return `${place === '' ? 'it' : place} is missing`;
  return place === '' ? said : `${place}: ${said}`;
}

function listOf(text: string): readonly Issue[] | null {
  if (!text.trimStart().startsWith('[')) return null;
  try {
    const issues = JSON.parse(text) as unknown;
    return Array.isArray(issues) && issues.length > 0 && issues.every(isIssue) ? issues : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function isIssue(value: unknown): value is Issue {
  return typeof value === 'object' && value !== null && 'message' in value;
}
