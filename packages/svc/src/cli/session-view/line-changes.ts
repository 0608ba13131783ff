/** Says which lines a change of a text takes away and brings. */

export interface LineChanges {
  readonly added: number;
  readonly removed: number;
  /** `- ` and `+ ` before each line; none of a text that is new as a whole. */
  readonly lines: readonly string[];
}

/** The lines between the start and the end that both texts share. An empty `before` is a text that was not there. */
export function lineChanges(before: string, after: string): LineChanges {
  const [old, now] = [linesOf(before), linesOf(after)];
  if (before === '') return { added: now.length, removed: 0, lines: [] };
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const removed = old.slice(start, old.length - end);
  const added = now.slice(start, now.length - end);
  const lines = [...removed.map((line) => `- ${line}`), ...added.map((line) => `+ ${line}`)];
  return { added: added.length, removed: removed.length, lines };
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
