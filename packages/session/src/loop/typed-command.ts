/** Runs a command that a person typed to the capsule, as a command of the capsule. */

import { isShell } from '../tools/shell-command.ts';
import type { Inventory } from '../tools/inventory.ts';
import { codedFailure, type Message } from '../model/driver.ts';
import { type AgentLoopDeps, type AttemptResult, runCall } from './agent-loop.ts';
import type { Attempt } from './attempt.ts';
import { toldMessages } from './told-messages.ts';

/** The shell among the commands that a session was granted; null without one. */
export function shellOf({ tools }: Pick<Inventory, 'tools'>): string | null {
  const shells = tools.filter(({ kind, name }) => kind === 'shell' && isShell(name)).map(({ name }) => name);
  return shells.includes('sh') ? 'sh' : (shells[0] ?? null);
}

/** Names the call in frames and in the trace. */
const callId = 'typed';

/**
 * Carries out the command of the attempt's task, held and judged like any call. `history` is what was said before. A refused command completes its task: the
 * result says why. `messages` are the conversation with what the command gave.
 */
export async function runTypedCommand(
  attempt: Attempt,
  { history, before }: { readonly history: readonly Message[]; readonly before: string },
  deps: AgentLoopDeps,
): Promise<AttemptResult> {
  const name = shellOf(deps.inventory);
  if (name === null) {
    // D1 has no step from submitted to failed, so announce `working` first.
    attempt.announce({ kind: 'turn-started', turn: 1 });
    const why = 'a command that a person typed did not run: the capsule has no shell';
    return { end: codedFailure('E-RUN-206', why), messages: [] };
  }
  const { text, command: use } = attempt.task;
  // Behind one `!` may stand another, which is the shell's.
  const command = text.slice(use === 'told' ? 2 : 1);
  const { content, unfenced } = await runCall(
    attempt,
    { type: 'tool_call', id: callId, name, input: { command } },
    deps,
  );
  const messages = [...history, ...toldMessages(before, content)];
  return { end: { kind: 'completed', reply: unfenced, replyWasStreamed: true }, messages };
}
