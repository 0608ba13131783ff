/** Names and words a question whether something may happen. */

import type { AskedApproval } from '@svc/protocol/approval.ts';
import type { QuestionName } from '@svc/protocol/question.ts';
import type { ApprovalEnd } from '../task/task.ts';
import type { AskedEffect, Judged } from './asked-effect.ts';

export function idOf({ taskId, waitId }: QuestionName): string {
  return `apr_${taskId.replace(/^tsk_/, '')}_${waitId}`;
}

export function whatIs(effect: AskedApproval['effect']): Judged['what'] {
  if (effect['kind'] === 'request') return 'request';
  if (effect['kind'] === 'command' && 'program' in effect) return 'program';
  return effect['kind'] === 'path' ? 'change' : 'call';
}

/** Plain text in one line. The summary holds no character that could pass for svc's own words behind it. */
export function promptOf({ id }: AskedApproval, { summary, effect }: Pick<AskedEffect, 'effect' | 'summary'>): string {
  if (effect['kind'] === 'grant') {
    const what = 'host' in effect ? 'this host' : 'write' in effect ? 'writing in this folder' : 'this command';
    return `grant ${what}? ${summary} - a message does not`;
  }
  return `approve this ${whatIs(effect)}? ${summary} - svc approve ${id} answers; a message does not`;
}

/** The answer to a call that waits for approval, as clients are shown it. */
export function wordsOfAnswer(decision: ApprovalEnd['decision'], option: ApprovalEnd['option']): string {
  return decision === 'allow' ? allowed[option] : decision;
}

const allowed = { once: 'allow', session: 'allow for this session', manifest: 'allow for every session' } as const;
