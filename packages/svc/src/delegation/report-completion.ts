import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { encodeMessage } from '@svc/protocol/message.ts';
import { encodeTaskOrigin } from '@svc/protocol/task-origin.ts';
import { decodeTask } from '@svc/protocol/task-object.ts';
import {
  encodeCompletion,
  encodeCompletionRecord,
  type Completion,
  type CompletionRecord,
} from '@svc/protocol/completion.ts';
import { callCapsule, type CapsuleAnswer } from './capsule-call.ts';
import type { SpawnerHandle } from '@svc/protocol/spawner-handle.ts';

export interface CompletionReport {
  readonly spawner: SpawnerHandle;
  readonly completion: Completion;
  /** Names the message. */
  readonly messageId: string;
  /** The parent's listener may require it; null when this process holds none. */
  readonly listenerToken: Secret | null;
  /** Whether the parent has recorded an end of this session itself. */
  readonly isEndedByParent: () => boolean;
  /** Puts `completion.json` into the child's own workdir, whole; gives why that failed, or null. */
  readonly write: (text: string) => string | null;
  /** A line for standard error. */
  readonly warn: (line: string) => void;
}

/** A child that is being stopped ends within its own time all the same. */
const timeoutMs = 5000;

/**
 * Tells the parent how this session ended: writes `completion.json`, posts one message, and writes again what became of it (D2 "Events" 1, 2,
 * 5). A parent that cannot be told fails nobody: it is recorded, and said in one line. One that has ended this session itself is told
 * nothing, and its record stays.
 */
export async function reportCompletion(report: CompletionReport): Promise<void> {
  const { completion, isEndedByParent, write, warn } = report;
  if (isEndedByParent()) return;
  const record: CompletionRecord = { ...completion, reported_by: 'child', delivered: false };
  const unwritten = write(encodeCompletionRecord(record));
  const refusal = refusalOf(await post(report));
  // A parent that closed the delegation meanwhile recorded its end before it refused this report.
  if (refusal !== null && isEndedByParent()) return;
  const settled = refusal === null ? { ...record, delivered: true } : { ...record, delivery_error: refusal };
  const unwrittenEnd = write(encodeCompletionRecord(settled));
  const problem = unwritten ?? unwrittenEnd;
  if (problem !== null) warn(`the completion cannot be recorded: ${problem}`);
  if (refusal !== null) warn(`the completion of ${completion.delegation_id} was not delivered: ${refusal}`);
}

async function post({ spawner, completion, messageId, listenerToken }: CompletionReport): Promise<CapsuleAnswer> {
  const text = encodeCompletion(completion);
  const params = encodeMessage({ messageId, role: 'user', text, contextId: spawner.context_id });
  const { trust, session_id: sessionId, delegation_id: delegationId } = spawner;
  return await callCapsule(
    { endpoint: new URL('/', spawner.url), token: listenerToken },
    {
      method: 'message/send',
      params,
      headers: encodeTaskOrigin({ kind: 'completion', trust, sessionId, delegationId }),
      timeoutMs,
    },
  );
}

/** Null when the parent has it in its queue. */
function refusalOf(answer: CapsuleAnswer): string | null {
  if (answer.kind === 'none') return `the parent cannot be reached: ${answer.reason}`;
  if (answer.kind === 'error') return `the parent refused it: ${answer.message}`;
  if (answer.kind === 'other' && answer.status !== 200) return `the parent answered with status ${answer.status}`;
  const task = answer.kind === 'result' ? decodeTask(answer.result) : null;
  if (task === null) return 'the parent gave no answer that can be read';
  return task.state === 'rejected' ? `the parent refused it: ${task.message ?? 'rejected'}` : null;
}
