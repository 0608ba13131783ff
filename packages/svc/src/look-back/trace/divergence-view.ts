/** Says for people where two sessions differ. */

import type { Difference } from '@svc/record/journal/json-difference.ts';
import type { DivergenceFacts } from '@svc/record/journal/divergence-facts.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import type { Page } from '@svc/terminal/screen/page.ts';
import { say, type Shown } from '@svc/terminal/screen/shown.ts';

/** What is shown of a text, around the place where it differs. */
const around = 200;
const maxName = 100;

export function renderDivergence(page: Page, facts: DivergenceFacts): string {
  const { request, difference } = facts;
  const place = difference === null ? ', whose text is not kept' : placeOf(difference);
  const head = page.own(say`first difference at ${whereOf(facts)}: ${whatOf(facts)}${place}\n`);
  const texts = difference === null ? '' : textsOf(page, difference);
  if (request === null) return head + texts;
  const { same_messages: same, messages, is_fixed_same: isFixedSame } = request;
  const upTo = same === 0 ? 'nothing is the same' : `the same up to message ${same} of ${messages.b}`;
  const missed = same < messages.b ? `; missed from message ${same + 1} on` : '';
  const cache = isFixedSame ? `${upTo}${missed}. fixed part: same` : `missed from the fixed part on, then ${upTo}`;
  return head + texts + page.own(say`cache: ${cache}\n`);
}

function whereOf({ steps, port, name, turn, task }: DivergenceFacts): Shown {
  const step =
    steps.a === null || steps.b === null || steps.a === steps.b
      ? `#${steps.a ?? steps.b}`
      : `#${steps.a} and #${steps.b}`;
  if (port === null) return say`task ${task ?? 0}`;
  const called = port === 'model' ? 'model' : `${port} ${inertLine(name ?? '', maxName)}`;
  return say`${step} (${called}${turn === null ? '' : `, turn ${turn}`})`;
}

function whatOf({ kind, steps, part, message }: DivergenceFacts): Shown {
  if (kind === 'missing') return say`only the ${steps.b === null ? 'first' : 'second'} session has this step`;
  if (message !== null) {
    return say`message ${message.number}${message.role === null ? '' : ` (${inertLine(message.role, maxName)})`}`;
  }
  return say`${part ?? 'fixed part'}`;
}

function placeOf({ path, byte }: Difference): Shown {
  const pointer = path === '' ? '' : `, ${inertLine(path, maxName)}`;
  return say`${pointer}${byte === null ? '' : `, byte ${byte}`}`;
}

function textsOf(page: Page, { a, b, byte }: Difference): string {
  const rows: string[] = [];
  if (a !== null) rows.push(page.headed(say`  -`, excerptOf(a, byte)));
  if (b !== null) rows.push(page.headed(say`  +`, excerptOf(b, byte)));
  return rows.join('');
}

/**
 * The line that the difference is in, as far as it is near to that, and `(empty)` for one without a character; `byte` is the first that differs, null for the
 * beginning.
 */
export function excerptOf(text: string, byte: number | null): string {
  const bytes = Buffer.from(text);
  const at = byte === null ? 0 : bytes.toString('utf8', 0, byte).length;
  const from = Math.max(text.lastIndexOf('\n', at - 1) + 1, at - around);
  const excerpt = inertLine(
    text
      .slice(from, at + around)
      .split('\n')
      .slice(0, 2)
      .join(' '),
    2 * around,
  );
  return excerpt === '' ? '(empty)' : excerpt;
}
