/** Reads from the arguments of a call how it changed a file. */

import type { JsonObject } from '@svc/protocol/json-object.ts';
import type { FileEdit } from '@svc/protocol/viewed-rows.ts';
import { changedLines, lineDiff } from './line-diff.ts';
import { keptText, objectIn } from './checked.ts';

/** What one call did to one file. */
interface Change {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

const maxLines = 2000;
/** Limit for a text that is compared; a longer one is compared as far as here. */
const maxText = 512 * 1024;

/** Returns null for a call that changed nothing, or in a way that its arguments do not say. */
export function changeOf(event: JsonObject): Change | null {
  const given = objectIn(event['arguments']);
  const { path, command } = given;
  if (typeof path !== 'string' || event['is_error'] === true || event['outcome'] === 'failed') return null;
  const text = (...keys: readonly string[]): string | null => {
    const found = keys.map((key) => given[key]).find((value) => typeof value === 'string');
    return typeof found === 'string' ? found.slice(0, maxText) : null;
  };
  const [before, after, content] = [
    text('old_text', 'old_str'),
    text('new_text', 'new_str'),
    text('content', 'file_text'),
  ];
  if (before !== null && after !== null) return { path: keptText(path, 1024), before, after };
  const isWrite = command === 'write' || command === 'create' || command === undefined;
  return isWrite && content !== null ? { path: keptText(path, 1024), before: '', after: content } : null;
}

export function editOf(event: JsonObject, row: number): FileEdit | null {
  const change = changeOf(event);
  if (change === null) return null;
  const lines = lineDiff(change.before, change.after);
  const shown = lines.slice(0, maxLines);
  return { path: change.path, row, ...changedLines(lines), lines: shown, more: lines.length - shown.length };
}
