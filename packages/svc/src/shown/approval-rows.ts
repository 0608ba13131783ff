/** Shows a call that waits for approval, so that nothing in it can pass for something else. */

import type { ApprovalAnswer, AskedApproval } from '@svc/protocol/approval.ts';
import { inertJson } from '@svc/session/approvals/asked-effect.ts';
import { joined, say, type Shown } from '@svc/terminal/screen/shown.ts';

/** More words than this stand one in a row. */
const maxWordsInRow = 8;
const maxRows = 40;
const maxRow = 400;

/** What would happen first, the question last. All of it is printable ASCII, as JSON. */
export function approvalRows({ id, effect, rule, capsule }: AskedApproval): Shown {
  if (effect['kind'] === 'grant') {
    const program = cut(inertJson(effect['program']));
    return say`? the task wants a command that it was not granted:\n  ${program}, with any arguments, held to all else that the task was granted`;
  }
  const rows = rowsOf(effect);
  const left = rows.length - maxRows;
  const more = left > 0 ? [say`  ... ${left} more; svc approve ${id} --json has all`] : [];
  return joined(
    [
      say`? ${inertJson(capsule.join(' > ')).slice(1, -1)} wants to run this, and ${inertJson(rule).slice(1, -1)} asks you:`,
      ...rows.slice(0, maxRows).map((row) => say`  ${cut(row)}`),
      ...more,
      say`  svc approve ${id} answers it too`,
    ].flatMap((row, index) => (index === 0 ? [row] : [say`\n`, row])),
  );
}

/** The call in one row. */
export function approvalTitle({ effect }: AskedApproval): string {
  const [first = ''] = rowsOf(effect);
  return cut(Array.isArray(effect['argv']) ? first : rowsOf(effect).join(', '));
}

/** The line in which it is answered. */
export function approvalPrompt({ options, effect }: AskedApproval): string {
  if (effect['kind'] === 'grant') return 'grant it? y for the next command, s in this session, n no > ';
  return options.includes('session') ? 'run it? y once, s in this session, n no > ' : 'run it? y once, n no > ';
}

/** What was typed there; null for what is no answer. Nothing at all is a no. */
export function approvalAnswer(text: string, { id, digest, options }: AskedApproval): ApprovalAnswer | null {
  const [, word = '', note = ''] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(text) ?? [];
  const common = { id, digest, option: 'once', note: null } as const;
  switch (word.toLowerCase()) {
    case 'y':
    case 'yes':
      return note === '' ? { ...common, decision: 'allow' } : null;
    case 's':
    case 'session':
      return note === '' && options.includes('session') ? { ...common, decision: 'allow', option: 'session' } : null;
    case '':
    case 'n':
    case 'no':
      return { ...common, decision: 'deny', note: note === '' ? null : note };
    default:
      return null;
  }
}

function rowsOf(effect: AskedApproval['effect']): readonly string[] {
  const { argv, ...others } = effect;
  if (!Array.isArray(argv))
    return Object.entries(effect).map(([key, value]) => `${inertJson(key).slice(1, -1)}: ${inertJson(value)}`);
  const words = argv.map((word: unknown) => inertJson(word));
  const rest = Object.entries(others).filter(([key]) => key !== 'kind');
  const about = rest.map(([key, value]) => `${inertJson(key).slice(1, -1)}: ${inertJson(value)}`);
  return [...(words.length > maxWordsInRow ? words : [words.join(' ')]), ...about];
}

function cut(row: string): string {
  return row.length <= maxRow ? row : `${row.slice(0, maxRow)}... and ${row.length - maxRow} more characters`;
}
