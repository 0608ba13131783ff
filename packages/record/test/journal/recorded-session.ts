/** Writes journals as a session would, for tests of what reads them. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { runSync } from '@svc/kit/yield-to-loop.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import type { Message } from '@svc/session/model/driver.ts';
import { type Capture, type Journal, type JournalLimits, openJournal } from '../../src/journal/journal-writer.ts';

export const mebibyte: number = 1024 * 1024;
export const roomy: JournalLimits = { maxBody: 8 * mebibyte, maxBytes: 256 * mebibyte };

export interface RecordedOptions {
  /** Its last digits; the rest is zeros. */
  readonly session?: string;
  readonly capture?: Capture;
  readonly limits?: JournalLimits;
  /** `knows` makes one. */
  readonly redactor?: Redactor;
  readonly trusted?: boolean;
  readonly capsule?: string;
  readonly model?: string;
  readonly system?: string;
  readonly tools?: readonly unknown[];
  readonly onFull?: () => void;
}

export function sessionId(digits = '1'): SessionId {
  return `ses_${digits.padStart(32, '0')}` as SessionId;
}

export function taskId(digits: string): string {
  return `tsk_${digits.padStart(32, '0')}`;
}

/** The Unix milliseconds at which the clock of such a session stands at first. */
export const startedAt = 1_760_000_000_000;

/** What knows these secrets in all their spellings. */
export async function knows(...secrets: readonly string[]): Promise<Redactor> {
  const redactor = new Redactor();
  for (const secret of secrets) redactor.register(new Secret(secret));
  await redactor.learnSpellings();
  return redactor;
}

/** A session that never was, and the journal it leaves in a folder. */
export class RecordedSession {
  readonly folder: string;
  readonly journal: Journal;
  readonly clock: FakeClock = new FakeClock();
  readonly #model: string;
  readonly #system: string;
  readonly #tools: string;
  #task = '';
  #tasks = 0;
  #turn = 0;
  #call = 0;
  #base: string | null = null;
  #add: string[] = [];

  /** In `<root>/.svc/sessions/<id>/`. */
  constructor(root: string, options: RecordedOptions = {}) {
    const session = sessionId(options.session);
    this.folder = join(root, '.svc', 'sessions', session);
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const { capture = 'content', limits = roomy, trusted = true, onFull = () => {} } = options;
    const { redactor = new Redactor() } = options;
    const redact = (text: string): string => redactor.redact(text);
    this.journal = openJournal({ directory: this.folder, session, capture, redact, limits, clock: this.clock, onFull });
    const capsule = { name: options.capsule ?? 'demo', version: '1.2.3' };
    const about = { version: 1, session, epoch: 1, svc: '0.4.0', node: '20.20.2', capture, trusted, capsule } as const;
    this.journal.append({ k: 'open', ...about });
    this.#model = options.model ?? 'scripted';
    this.#system = runSync(this.journal.body(options.system ?? 'You are helpful.'));
    this.#tools = this.json(options.tools ?? [{ name: 'sh', description: 'Runs a command.', inputSchema: {} }]);
    this.journal.append({
      k: 'setup',
      manifest: runSync(this.journal.body('name: demo\n')),
      lock: null,
      system: this.#system,
      tools: this.#tools,
      grants: this.json({ shell: { allow: ['sh'] } }),
      hooks: this.json([]),
      settings: this.json({ model: this.#model }),
    });
  }

  json(value: unknown): string {
    return runSync(this.journal.body(JSON.stringify(value)));
  }

  /** Begins a task, in a conversation of its own unless it `threads` on. */
  task(text: string, threads = false): this {
    this.#tasks += 1;
    this.#task = taskId(String(this.#tasks));
    this.#turn = 0;
    if (!threads) this.compacted([]);
    const from = { ctx: 'ctx_00000000000000000000000000000001', origin: 'user', trust: 'trusted' } as const;
    const how = { lane: 'foreground', key: null, by: 'start' } as const;
    this.journal.append({ k: 'task', id: this.#task, ...from, ...how, text: runSync(this.journal.body(text)) });
    return this.says({ role: 'user', content: [{ type: 'text', text }] });
  }

  /** The next request has this message too. */
  says(message: Message): this {
    this.#add.push(this.json(message));
    return this;
  }

  /** The next request begins anew, with these messages. */
  compacted(messages: readonly Message[]): this {
    this.#base = null;
    this.#add = messages.map((message) => this.json(message));
    return this;
  }

  /** One answer of the model; each name is a call that it makes. */
  model(text: string, calls: readonly string[] = [], options: { readonly system?: string } = {}): this {
    this.#turn += 1;
    this.#call = 0;
    const e = `${this.#task}/1/m${this.#turn}`;
    const system = options.system === undefined ? this.#system : runSync(this.journal.body(options.system));
    const fixed = this.json({ model: this.#model, system, tools: this.#tools, maxTokens: 1000 });
    this.journal.append({ k: 'start', e, port: 'model', name: this.#model, fixed, base: this.#base, add: this.#add });
    this.clock.advance(1200);
    const stopReason = calls.length === 0 ? 'end_turn' : 'tool_call';
    const content = [
      { type: 'text', text } as const,
      ...calls.map(
        (name, index) => ({ type: 'tool_call', id: `call_${index}`, name, input: { command: text } }) as const,
      ),
    ];
    const value = this.json({ kind: 'response', response: { content, stopReason } });
    const chunks = this.json([['text', text]]);
    const summary = { stop: stopReason, usage: { in: 1204, out: 88, cache: 1100 } };
    const called = calls.length === 0 ? {} : { calls: [...calls] };
    this.journal.append({ k: 'end', e, ms: 1200, value, chunks, ...summary, ...called });
    this.#base = e;
    this.#add = [];
    return this.says({ role: 'assistant', content });
  }

  /** A command of the last turn, which takes 14 seconds: its next call, or the one of this number. */
  shell(command: string, output: string, exit = 0, call = this.#call + 1): this {
    this.#call = call;
    const e = `${this.#task}/1/m${this.#turn}/t${this.#call}`;
    this.journal.append({ k: 'start', e, port: 'shell', name: 'sh', in: this.json({ command }) });
    this.clock.advance(14_000);
    const error = exit === 0 ? {} : ({ error: true } as const);
    this.journal.append({ k: 'end', e, ms: 14_000, value: this.json({ content: output }), exit, ...error });
    const content = [{ type: 'text', text: output } as const];
    return this.says({ role: 'tool', content, toolCallId: `call_${this.#call - 1}`, isError: exit !== 0 });
  }

  taskEnd(message = 'Done.'): this {
    const ended = {
      state: 'completed',
      attempts: 1,
      turns: this.#turn,
      result: runSync(this.journal.body(message)),
    } as const;
    this.journal.append({ k: 'task-end', id: this.#task, ...ended, message });
    return this;
  }

  close(): this {
    this.journal.append({ k: 'close', status: 'ok', reason: null });
    this.journal.close();
    return this;
  }
}
