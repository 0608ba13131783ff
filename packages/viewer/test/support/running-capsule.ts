/** A capsule that runs and asks a question, as the page meets it. */

import type { ServerResponse } from 'node:http';

const taskId = 'tsk_00000000000000000000000000000001';
const start = 1_795_350_260_734;

function line(type: string, at: number, fields: object): string {
  return `${JSON.stringify({ event_type: type, event_id: `evt_${String(at).padStart(32, '0')}`, session_id: 'ses_live', timestamp: start + at, ...fields })}\n`;
}

/** A stream that is open, and what may be written to it later. */
class OpenStream {
  #response: ServerResponse | null = null;

  open(response: ServerResponse): void {
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
  readonly trace: (response: ServerResponse) => void;
  readonly events: (response: ServerResponse) => void;
  /** The question was answered: what the capsule tells then. */
  answered(): void;
  /** The trace has the turn whose call still runs. */
  told(): void;
  /** It was killed, and the server has noticed. */
  gone(): void;
  ended(): void;
}

export function runningCapsule(prompt = 'Which of the two formats is meant?'): RunningCapsule {
  const [trace, events] = [new OpenStream(), new OpenStream()];
  const frame = (event: string, data: object): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
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
    events: (response) => {
      events.open(response);
      response.write(
        frame('connection-ack', { role: 'observer', conversation_mode: 'stateless' }) +
          frame('snapshot', {
            session_id: 'ses_live',
            name: 'painter',
            version: '1.0.0',
            model: 'large-2',
            containment: 'sealed',
            methods: ['tasks/answer'],
            usage: { input_tokens: 100, output_tokens: 20 },
            tasks: [
              { task_id: taskId, context_id: 'ctx_1', state: 'working', text: 'Paint the shed.', question: null },
            ],
            tasks_left_out: 0,
          }) +
          frame('waiting_for_model', { task_id: taskId, turn: 2 }) +
          `id: 1\n${frame('text', { id: taskId, text: 'I ask which one.', final: false })}` +
          frame('call_start', {
            task_id: taskId,
            turn: 2,
            call_id: 'call_1',
            tool_name: 'svc-tool-request-input',
            arguments: { prompt },
          }) +
          frame('question', { task_id: taskId, wait_id: 'q1', prompt }),
      );
    },
    answered: () => {
      events.write(
        frame('question_settled', { task_id: taskId, wait_id: 'q1', end: 'answered' }) +
          frame('call_end', {
            task_id: taskId,
            turn: 2,
            call_id: 'call_1',
            tool_name: 'svc-tool-request-input',
            exit_code: null,
            is_error: false,
            denied: false,
            duration_ms: 5,
            step: 3,
          }),
      );
      trace.write(
        line('task_input_required', 2000, { task_id: taskId, prompt, outcome: 'answered', duration_ms: 900 }),
      );
    },
    told: () => {
      const turn = { turn: 2, model: 'large-2', outcome: 'response', stop_reason: 'tool_call', duration_ms: 100 };
      trace.write(line('inference', 1000, { task_id: taskId, ...turn, usage: null }));
    },
    gone: () => {
      events.write(frame('capsule-gone', {}));
      trace.end();
    },
    ended: () => {
      events.write(
        frame('task_settled', {
          task_id: taskId,
          state: 'completed',
          reason: null,
          turns: 2,
          usage: { input_tokens: 200, output_tokens: 40 },
          duration_ms: 2998,
        }) + frame('capsule-closed', {}),
      );
      events.end();
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
