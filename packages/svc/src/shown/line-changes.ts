/** Finds the lines that an edit of a file changed, and numbers them. */

/** Unchanged lines that are shown on each side. */
const linesAround = 2;

export interface LineChanges {
  readonly added: number;
  readonly removed: number;
  readonly before: readonly string[];
  readonly now: readonly string[];
}

/** An empty `before` is a text that was not there. */
export function lineChanges(before: string, now: string): LineChanges {
  const changes = { before: fileLines(before), now: fileLines(now) };
  if (before === '') return { added: changes.now.length, removed: 0, ...changes };
  const { start, end } = shared(changes);
  return { added: changes.now.length - start - end, removed: changes.before.length - start - end, ...changes };
}

/** How many lines both texts begin and end with. */
function shared({ before, now }: Pick<LineChanges, 'before' | 'now'>): {
  readonly start: number;
  readonly end: number;
} {
  const most = Math.min(before.length, now.length);
  let start = 0;
  while (start < most && before[start] === now[start]) start += 1;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === now.at(-1 - end)) end += 1;
  return { start, end };
}

/**
 * `- ` and `+ ` before each changed line, with unchanged ones around them, and none of a text that is new as a whole. `answer` is what the editor said:
 * without it nobody knows where in the file the lines stand.
 */
export function changedLines(changes: LineChanges, answer: string): readonly string[] {
  const { before, now } = changes;
  if (before.length === 0) return [];
  const { start, end } = shared(changes);
  const said = placeOf(answer);
  const first = said?.line ?? null;
  const more = (kept: readonly Line[]): readonly Line[] => (first === null ? [] : kept);
  const above = [
    ...more(said?.above ?? []),
    ...before.slice(0, start).map((text, index) => ({ number: (first ?? 0) + index, mark: ' ', text })),
  ];
  const line = (mark: string) => (text: string, index: number) => ({
    number: (first ?? 0) + start + index,
    mark,
    text,
  });
  const removed = before.slice(start, before.length - end).map(line('-'));
  const added = now.slice(start, now.length - end).map(line('+'));
  const rest = now.length - end;
  const below = [
    ...now.slice(rest).map((text, index) => ({ number: (first ?? 0) + rest + index, mark: ' ', text })),
    ...more(said?.below ?? []),
  ];
  const lines = [...above.slice(-linesAround), ...removed, ...added, ...below.slice(0, linesAround)];
  const digits = String(lines.reduce((most, { number }) => Math.max(most, number), 0)).length;
  return [
    ...lines.map(({ number, mark, text }) => {
      const label = first === null ? '' : `${String(number).padStart(digits)} `;
      return `${label}${mark} ${text}`;
    }),
    ...(said?.others === undefined ? [] : [`the same at ${said.others}`]),
  ];
}

interface Line {
  readonly number: number;
  readonly mark: string;
  readonly text: string;
}

const done =
  /^patched [^\n]*: \d+ replacements? at lines? (\d{1,9})(?:, ([\d, ]+(?: and more)?))?(?:, between)?(?:\n|$)/;
const numberedLine = /^(\d{1,9}): (.*)$/;

/** What the editor says of the place of a replacement; null where it says nothing of that kind. */
function placeOf(answer: string): { line: number; others: string | undefined; above: Line[]; below: Line[] } | null {
  const [head, line, others] = done.exec(answer.slice(0, maxAnswer)) ?? [];
  if (head === undefined) return null;
  const around = answer
    .slice(head.length, maxAnswer)
    .split('\n')
    .slice(0, 2 * linesAround)
    .flatMap((row) => {
      const [, number, text = ''] = numberedLine.exec(row) ?? [];
      return number === undefined ? [] : [{ number: Number(number), mark: ' ', text }];
    });
  const isAbove = ({ number }: Line): boolean => number < Number(line);
  return {
    line: Number(line),
    others: others === undefined ? undefined : `line${/[, ]/.test(others) ? 's' : ''} ${others}`,
    above: around.filter(isAbove),
    below: around.filter((each) => !isAbove(each)),
  };
}

/** The answer names a path and has a few lines, none of which is longer than the editor makes it. */
const maxAnswer = 8192;

function fileLines(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
