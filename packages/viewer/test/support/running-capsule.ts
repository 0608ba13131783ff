/** A capsule that runs and asks a question, as the page meets it. */

import type { ServerResponse } from 'node:http';

import type { LiveNow, ViewedApproval } from '@svc/protocol/viewed-session.ts';

const taskId = 'tsk_00000000000000000000000000000001';
const start = 1_795_350_260_734;

function line(type: string, at: number, fields: object): string {
  return `${JSON.stringify({ event_type: type, event_id: `evt_${String(at).padStart(32, '0')}`, session_id: 'ses_live', timestamp: start + at, ...fields })}\n`;
}

interface Writer {
  write(text: string): unknown;
  end(): unknown;
}

/** A stream that is open, and what may be written to it later. */
class OpenStream {
  #response: Writer | null = null;

  open(response: Writer): void {
    this.#response = response;
  }

  write(text: string): void {
    this.#response?.write(text);
  }

  end(): void {
    this.#response?.end();
  }
}

export interface RunningCapsule {
  readonly trace: (trace: Writer) => void;
  readonly now: (response: ServerResponse) => void;
  /** The question was answered: what the capsule sends then. */
  answered(): void;
  /** The trace has the turn whose call still runs. */
  told(): void;
  /** It was killed, and the server has noticed. */
  gone(): void;
  ended(): void;
}

export function runningCapsule(
  prompt = 'Which of the two formats is meant?',
  approval?: ViewedApproval,
): RunningCapsule {
  const [trace, now] = [new OpenStream(), new OpenStream()];
  let hasEnded = false;
  const idle = {
    question: null,
    calls: [],
    task: null,
    turn: 0,
    text: '',
    thinking: false,
    retry: '',
    model: 'large-2',
  };
  const told = (now: LiveNow): string => `${JSON.stringify(now)}\n`;
  return {
    trace: (response) => {
      trace.open(response);
      response.write(
        line('session_start', 0, {
          capsule: { name: 'painter', version: '1.0.0' },
          containment: { declared: 'scoped', achieved: 'sealed', mechanism: 'm' },
          tools_declared: [],
          effective_grants: {},
        }) +
          line('task_received', 1, { task_id: taskId, origin: 'user', trust: 'trusted', text: 'Paint the shed.' }) +
          line('task_start', 2, { task_id: taskId, attempt: 1 }) +
          line('inference', 900, {
            task_id: taskId,
            turn: 1,
            model: 'large-2',
            outcome: 'response',
            stop_reason: 'tool_call',
            usage: { input_tokens: 100, output_tokens: 20 },
            duration_ms: 880,
          }),
      );
    },
    now: (response) => {
      if (hasEnded) {
        response.writeHead(410).end();
        return;
      }
      now.open(response);
      const asked = approval === undefined ? {} : { approval };
      const question = { task: taskId, wait: 'q1', prompt, ...asked };
      const call = { key: 'call_1', name: 'svc-tool-request-input', about: prompt, tail: '', ms: 5 };
      response.write(told({ ...idle, question, calls: [call], task: taskId, turn: 2, text: 'I ask which one.' }));
    },
    answered: () => {
      now.write(told({ ...idle, task: taskId, turn: 2 }));
      trace.write(
        line('task_input_required', 2000, { task_id: taskId, prompt, outcome: 'answered', duration_ms: 900 }),
      );
    },
    told: () => {
      const turn = { turn: 2, model: 'large-2', outcome: 'response', stop_reason: 'tool_call', duration_ms: 100 };
      trace.write(line('inference', 1000, { task_id: taskId, ...turn, usage: null }));
    },
    gone: () => {
      now.write('null\n');
      trace.end();
    },
    ended: () => {
      hasEnded = true;
      now.end();
      trace.write(
        line('task_end', 3000, {
          task_id: taskId,
          state: 'completed',
          message: 'session ended',
          turns: 2,
          usage: { input_tokens: 200, output_tokens: 40 },
          duration_ms: 2998,
        }) + line('session_end', 3001, { status: 'ok', tasks: 1, duration_ms: 3001 }),
      );
      trace.end();
    },
  };
}
