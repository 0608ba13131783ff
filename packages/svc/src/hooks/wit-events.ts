import { encodeBlock, encodeMessage } from '../inference/wit-driver.ts';
import type { ToolDefinition } from '../inference/driver.ts';
import { commandWords } from '../tools/shell-tool.ts';
import type { FinishedTurn, FullContext, HookedTask, JudgedCall, TaskEnd } from './session-hooks.ts';

/** The session as its hooks are told of it. */
export interface HookedSession {
  readonly sessionId: string;
  readonly capsule: string;
  readonly version: string;
}

/** What a hook is told, as the records of `svc:hook/types` (packages/guest/wit/deps/svc-hook/hook.wit). */
export class WitEvents {
  readonly session: HookedSession;

  constructor(session: HookedSession) {
    this.session = session;
  }

  stage(tools: readonly ToolDefinition[]): object {
    const definitions = tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema: JSON.stringify(inputSchema),
    }));
    return { session: this.session, tools: definitions };
  }

  taskStart(task: HookedTask, text: string): object {
    return { task: this.#task(task), text };
  }

  inference(task: HookedTask, { turn, model, response, usage }: FinishedTurn): object {
    return {
      task: this.#task(task),
      turn,
      model,
      content: response.content.map(encodeBlock),
      stopReason: response.stopReason,
      usage: { inputTokens: BigInt(usage.inputTokens), outputTokens: BigInt(usage.outputTokens) },
    };
  }

  toolCall(task: HookedTask, call: JudgedCall): object {
    return {
      task: this.#task(task),
      turn: call.turn,
      tool: call.toolName,
      callId: call.callId ?? undefined,
      arguments: JSON.stringify(call.arguments),
    };
  }

  /** A command that cannot be split into words never runs; its hooks are told of it as one word. */
  shell(task: HookedTask, call: JudgedCall): object {
    const command = String(call.arguments['command']);
    const split = commandWords(call.toolName, command);
    const args = split.kind === 'words' ? split.words : [command];
    return { task: this.#task(task), turn: call.turn, command: call.toolName, args };
  }

  compaction(task: HookedTask, { messages, estimatedTokens, maxTokens }: FullContext): object {
    return {
      task: this.#task(task),
      messages: messages.map(encodeMessage),
      estimatedTokens: BigInt(estimatedTokens),
      maxTokens: BigInt(maxTokens),
    };
  }

  taskEnd(task: HookedTask, { state, text }: TaskEnd): object {
    return { task: this.#task(task), state, text: text ?? undefined };
  }

  sessionEnd(status: 'ok' | 'failed' | 'trapped'): object {
    return { session: this.session, status };
  }

  #task({ id, contextId, origin, trusted, attempt }: HookedTask): object {
    return { session: this.session, taskId: id, contextId, origin, trusted, attempt };
  }
}
