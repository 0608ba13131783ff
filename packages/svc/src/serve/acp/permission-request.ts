/** Puts a call that waits for approval into the request with which an editor asks its user (ACP `session/request_permission`). */

import type { AskedApproval } from '@svc/protocol/approval.ts';
import type { JsonObject } from '@svc/protocol/json-object.ts';
import { approvalRows, approvalTitle, sessionOf } from '../../shown/approval-rows.ts';
import { textBlock } from './updates.ts';

/** The kinds of tools, by those of effects. */
const kinds: Readonly<Record<string, string>> = { command: 'execute', path: 'edit', request: 'fetch' };

/** The parameters beside the session. Texts are as a terminal gets them: nothing in them can pass for something else. */
export function permissionRequest(approval: AskedApproval): JsonObject {
  const { id, options } = approval;
  const further = { optionId: 'session', name: `Allow in ${sessionOf(approval)}`, kind: 'allow_always' };
  return {
    toolCall: {
      toolCallId: id,
      title: approvalTitle(approval),
      kind: kinds[String(approval.effect['kind'])] ?? 'other',
      status: 'pending',
      content: [{ type: 'content', content: textBlock(approvalRows(approval).text) }],
    },
    options: [
      { optionId: 'once', name: 'Allow', kind: 'allow_once' },
      ...(options.includes('session') ? [further] : []),
      { optionId: 'deny', name: 'Reject', kind: 'reject_once' },
    ],
  };
}
