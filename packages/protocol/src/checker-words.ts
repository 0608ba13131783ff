/** Says in words what a schema checker says as JSON. */

import { isJsonObject, parseJson } from './json-object.ts';

const mostProblems = 3;

/**
 * A clause for each value that does not fit, by its place: `params.name is missing`. Of more than three, how many more. Returns null if the text is
 * not a list of issues.
 */
export function checkerWords(told: string): string | null {
  const issues = told.trimStart().startsWith('[') ? parseJson(told) : null;
  if (!Array.isArray(issues) || issues.length === 0 || !issues.every(isJsonObject)) return null;
  const shown = issues.slice(0, mostProblems).map(({ path, message }) => {
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
