/** Shows a call that waits for approval, so that nothing in it can pass for something else. */

import type { ApprovalAnswer, AskedApproval } from '@svc/protocol/approval.ts';
import { askedRows, effectRows } from '@svc/session/approvals/asked-effect.ts';
import { joined, say, type Shown } from '@svc/terminal/screen/shown.ts';

const maxTitle = 400;
/** Nobody reads a call in less: what is typed until then was meant for something else. */
export const readingMs = 300;

/** What would happen first, the question last, and where else it is answered unless it is answered by `svc approve` itself. All of it is printable ASCII, as JSON. */
export function approvalRows(asked: AskedApproval, isAnsweredHere = false): Shown {
  const { id, effect } = asked;
  const elsewhere = isAnsweredHere || effect['kind'] === 'grant' ? [] : [`  svc approve ${id} answers it too`];
  const [first = '', ...others] = [...askedRows(asked), ...elsewhere];
  return joined([say`? ${first}`, ...others.flatMap((row) => [say`\n`, say`${row}`])]);
}

/** The call in one row. */
export function approvalTitle({ effect }: AskedApproval): string {
  const rows = effectRows(effect);
  return Array.isArray(effect['argv']) ? (rows[0] ?? '') : rows.join(', ').slice(0, maxTitle);
}

const verbs: Readonly<Record<string, string>> = { path: 'change', request: 'send' };

/** The line in which it is answered. */
export function approvalPrompt({ options, effect, ...asked }: AskedApproval): string {
  if (effect['kind'] === 'grant') {
    // A command that has given up on a host leaves the grant to the next one.
    const once = typeof effect['host'] === 'string' ? 'this or the next' : 'the next';
    const what = typeof effect['write'] === 'string' ? 'writing in it' : 'it';
    return `grant ${what}? y for ${once} command, s in this session, n no > `;
  }
  const session = options.includes('session') ? `, s in ${sessionOf(asked)}` : '';
  const always = options.includes('manifest') ? ', a in every session' : '';
  const verb = verbs[String(effect['kind'])] ?? 'run';
  return `${verb} it? y once${session}${always}, n no > `;
}

/** The session in which an allowed call can stay allowed: for the call of a child, the child's. */
export function sessionOf({ capsule }: Pick<AskedApproval, 'capsule'>): string {
  return capsule.length > 1 ? 'its session' : 'this session';
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
    case 'a':
    case 'always':
      return note === '' && options.includes('manifest') ? { ...common, decision: 'allow', option: 'manifest' } : null;
    case '':
    case 'n':
    case 'no':
      return { ...common, decision: 'deny', note: note === '' ? null : note };
    default:
      return null;
  }
}
