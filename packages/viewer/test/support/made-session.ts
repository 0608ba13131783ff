/** Makes sessions as `svc` records them, the same each time: a trace of any length, and a journal with its texts. */

import { createHash } from 'node:crypto';

const startedAt = 1_795_350_260_734;

/** The same numbers each time. */
class Chance {
  #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  next(): number {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let value = Math.imul(this.#seed ^ (this.#seed >>> 15), 1 | this.#seed);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  }

  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from));
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.between(0, items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  hex(length: number): string {
    return Array.from({ length }, () => '0123456789abcdef'[this.between(0, 16)]).join('');
  }
}

/** What sessions that are made ask for. */
export const manifest = `name: fix-the-parser
version: 1.2.0
artifacts:
  - { name: svc-tool-editor, version: 1.0.0 }
inference:
  model: large-2
capabilities:
  containment: scoped
  filesystem: { scope: . }
  network:
    allow: [api.example.com:443, docs.example.com:443]
  shell:
    allow: [grep, ls, node, git, jq]
  spawn:
    allow: [reviewer@1.0.0]
  env:
    allow: [CI]
`;

const grants = {
  containment: {
    declared: 'scoped',
    achieved: 'sealed',
    floor_met: true,
    mechanism: 'mountns+pivot_root+landlock+seccomp',
    userns_grant: 'granted',
  },
  filesystem_scope: null,
  workdir_exec: false,
  read_only: false,
  preopens: [
    { artifact: 'svc-driver-openai', runtime: 'driver', path: '.', writable: true },
    { artifact: 'svc-tool-editor', runtime: 'tool', path: '.', writable: true },
  ],
  network_allow: ['api.example.com:443', 'docs.example.com:443'],
  unix_sockets: false,
  shell_allow: ['grep', 'ls', 'node', 'git', 'jq'],
  spawn_allow: ['reviewer@1.0.0'],
  env_allow: ['CI'],
  plan_submit: true,
  interpreter_runtime: ['node'],
  staged_runtime: ['svc-driver-openai@1.0.0', 'svc-tool-editor@1.0.0'],
  limits: [
    { resource: 'processes', of: 'session', max: 128, held_by: 'cgroup-v2' },
    { resource: 'memory', of: 'session', max: 2_147_483_648, held_by: 'cgroup-v2' },
  ],
};

const paths = [
  'src/parse/header.ts',
  'src/parse/body.ts',
  'src/wire/frames.ts',
  'test/parse.test.ts',
  'docs/format.md',
];
const requests = [
  'The parser drops the last header when the file ends without a line feed. Find out why and mend it.',
  'Write a test for an empty body.',
  'Which module is slowest? Measure, then say it in one sentence.',
  'Explain how <img src=x onerror=alert(1)> is escaped, in docs/format.md.',
];
const sayings = [
  'I look at how the parser ends before I change it.',
  'The loop leaves when `line` is undefined, so what stands in `rest` is lost. I push it first.\n\nThen the tests run again.',
  'One test fails: it expects three headers and finds two. That is the case of the request.',
  'All tests pass now. The last header is kept whether or not a line feed follows it.',
];
const before = `export function parseHeaders(text: string): Header[] {
  const headers: Header[] = [];
  for (;;) {
    const line = next();
    if (line === undefined) return headers;
    headers.push(parseHeader(line));
  }
}
`;
const after = before.replace(
  '    if (line === undefined) return headers;\n',
  "    if (line === undefined) {\n      if (rest !== '') headers.push(parseHeader(rest));\n      return headers;\n    }\n",
);

export interface MadeSession {
  readonly id: string;
  readonly trace: string;
  readonly journal: string;
  readonly bodies: ReadonlyMap<string, string>;
  /** The ids of the sessions that it delegated to, if there are some. */
  readonly childIds: readonly string[];
}

interface Wanted {
  /** Lines of the trace. */
  readonly lines: number;
  readonly seed?: number;
  readonly id?: string;
  /** Turns that go differently from here on, as in another run. */
  readonly partsAt?: number;
}

/** A session with as many lines as are wanted, give or take none. */
export function makeSession({ lines, seed = 42, id, partsAt = Infinity }: Wanted): MadeSession {
  return new Maker(seed, id, partsAt).make(lines);
}

/** A trace alone, some thousand lines at a time: of a million lines nobody wants one text. */
export function* makeTrace(lines: number): Generator<string> {
  const maker = new Maker(42, undefined, Infinity);
  for (const piece of maker.pieces(lines)) yield `${piece.join('\n')}\n`;
}

class Maker {
  readonly #chance: Chance;
  #trace: string[] = [];
  #written = 0;
  #keepsJournal = true;
  readonly #journal: string[] = [];
  readonly #bodies = new Map<string, string>();
  readonly #children: string[] = [];
  readonly #id: string;
  readonly #partsAt: number;
  #now = startedAt;
  #turns = 0;

  constructor(seed: number, id: string | undefined, partsAt: number) {
    this.#chance = new Chance(seed);
    this.#id = id ?? `ses_${this.#chance.hex(32)}`;
    this.#partsAt = partsAt;
  }

  make(lines: number): MadeSession {
    const trace = [...this.#run(lines, Infinity)].flat();
    return {
      id: this.#id,
      trace: `${trace.join('\n')}\n`,
      journal: `${this.#journal.join('\n')}\n`,
      bodies: this.#bodies,
      childIds: this.#children,
    };
  }

  pieces(lines: number): Generator<readonly string[]> {
    this.#keepsJournal = false;
    return this.#run(lines, 5000);
  }

  /** Lines of the trace, about `atOnce` at a time. */
  *#run(lines: number, atOnce: number): Generator<readonly string[]> {
    const capsule = { name: 'fix-the-parser', version: '1.2.0' };
    const start = this.#event('session_start', null, {
      capsule,
      runtime_version: '0.5.0',
      containment: { declared: 'scoped', achieved: 'sealed', mechanism: grants.containment.mechanism },
      tools_declared: ['svc-tool-editor', 'grep', 'ls', 'node', 'git', 'jq', 'submit-plan', 'delegate'],
      effective_grants: grants,
    });
    this.#record({
      k: 'open',
      at: this.#now,
      version: 1,
      session: this.#id,
      epoch: 1,
      svc: '0.5.0',
      node: '24.1.0',
      capture: 'content',
      trusted: true,
      capsule,
    });
    this.#record({
      k: 'setup',
      manifest: this.#body(manifest),
      lock: null,
      system: this.#body(''),
      tools: this.#body('[]'),
      grants: this.#body(JSON.stringify(grants)),
      hooks: this.#body('[]'),
      settings: this.#body('{}'),
    });
    let tasks = 0;
    while (this.#written < lines - 1) {
      this.#task(start, tasks, lines - 1);
      tasks += 1;
      if (this.#trace.length < atOnce) continue;
      yield this.#trace;
      this.#trace = [];
    }
    this.#event('session_end', start, { status: 'ok', tasks, duration_ms: this.#now - startedAt });
    this.#record({ k: 'close', at: this.#now, status: 'ok', reason: null });
    yield this.#trace;
  }

  #task(start: string, number: number, most: number): void {
    const chance = this.#chance;
    const taskId = `tsk_${chance.hex(32)}`;
    const contextId = `ctx_${chance.hex(32)}`;
    const isPeer = number % 5 === 4;
    const text = requests[number % requests.length] ?? '';
    const [origin, trust] = isPeer ? ['peer', 'untrusted'] : ['user', 'trusted'];
    this.#event('task_received', start, {
      task_id: taskId,
      context_id: contextId,
      origin,
      trust,
      lane: 'foreground',
      text,
    });
    this.#record({
      k: 'task',
      at: this.#now,
      id: taskId,
      ctx: contextId,
      origin,
      trust,
      lane: 'foreground',
      text: this.#body(text),
      key: null,
      by: 'message',
    });
    this.#now += chance.between(1, 5);
    if (this.#written >= most) return;
    const attempt = this.#event('task_start', start, { task_id: taskId, attempt: 1 });
    const began = this.#now;
    const turns = chance.between(4, number === 0 ? 12 : 40);
    let [input, totalIn, totalOut, done] = [1200, 0, 0, 0];
    for (let turn = 1; turn <= turns && this.#written < most - 1; turn += 1) {
      const output = chance.between(20, 700);
      input += output + chance.between(50, 900);
      totalIn += input;
      totalOut += output;
      done = turn;
      if (!this.#turn({ taskId, attempt, turn, isLast: turn === turns, input, output }, most - 1)) break;
    }
    const isFailed = number > 0 && chance.next() < 0.08;
    const result = this.#body(sayings[3] ?? '');
    if (this.#written < most) {
      this.#event('task_end', attempt, {
        task_id: taskId,
        state: isFailed ? 'failed' : 'completed',
        message: isFailed ? 'failed' : 'session ended',
        ...(isFailed ? { error: 'the model answered 400: the request is longer than its context' } : {}),
        turns: done,
        usage: { input_tokens: totalIn, output_tokens: totalOut },
        duration_ms: this.#now - began,
      });
      this.#record({
        k: 'task-end',
        at: this.#now,
        id: taskId,
        state: isFailed ? 'failed' : 'completed',
        attempts: 1,
        turns: done,
        result: isFailed ? null : result,
        message: 'session ended',
      });
    }
    this.#now += chance.between(200, 20_000);
  }

  /** Whether the task goes on. */
  #turn(
    at: {
      readonly taskId: string;
      readonly attempt: string;
      readonly turn: number;
      readonly isLast: boolean;
      readonly input: number;
      readonly output: number;
    },
    most: number,
  ): boolean {
    const chance = this.#chance;
    const { taskId, attempt, turn, isLast, input, output } = at;
    const place = `${taskId}/1/m${turn}`;
    const took = chance.between(400, 9000);
    this.#turns += 1;
    const hasParted = this.#turns >= this.#partsAt;
    this.#record({
      k: 'start',
      at: this.#now,
      e: place,
      port: 'model',
      name: 'large-2',
      fixed: this.#body('{}'),
      base: null,
      add: [],
    });
    this.#now += took;
    const isBad = chance.next() < 0.01;
    const error = 'the model answered 429: too many requests, asked again after 2 s';
    this.#event('inference', attempt, {
      task_id: taskId,
      turn,
      model: 'large-2',
      outcome: isBad ? 'failed' : 'response',
      stop_reason: isBad ? null : isLast ? 'end_turn' : 'tool_call',
      ...(isBad ? { error } : {}),
      usage: isBad ? null : { input_tokens: input, output_tokens: output },
      duration_ms: took,
    });
    const saying = hasParted ? 'I go another way here.' : (sayings[isLast ? 3 : turn % 3] ?? '');
    const content = turn % 4 === 2 && !isLast ? [] : [{ type: 'text', text: saying }];
    const value = this.#body(
      JSON.stringify(
        isBad ? { kind: 'failed', error } : { kind: 'response', response: { content, stopReason: 'tool_call' } },
      ),
    );
    this.#record({ k: 'end', at: this.#now, e: place, ms: took, value, ...(isBad ? { error: true } : {}) });
    if (isBad || isLast) return true;
    const calls = chance.between(1, 4);
    for (let call = 1; call <= calls && this.#written < most; call += 1)
      this.#call({ taskId, attempt, turn, place: `${place}/t${call}`, call });
    return true;
  }

  #call({
    taskId,
    attempt,
    turn,
    place,
    call,
  }: {
    readonly taskId: string;
    readonly attempt: string;
    readonly turn: number;
    readonly place: string;
    readonly call: number;
  }): void {
    const chance = this.#chance;
    const took = chance.next() < 0.05 ? chance.between(3000, 30_000) : chance.between(2, 700);
    const roll = chance.next();
    const isError = chance.next() < 0.06;
    const common = {
      task_id: taskId,
      turn,
      tool_call_id: `call_${turn}_${call}`,
      is_error: isError,
      duration_ms: took,
    };
    const step = (port: string, name: string, given: unknown, output: string): void => {
      this.#record({ k: 'start', at: this.#now, e: place, port, name, in: this.#body(JSON.stringify(given)) });
      this.#now += took;
      const value = this.#body(
        JSON.stringify({
          status: isError ? 'failed' : 'passed',
          content: output,
          exitCode: isError ? 1 : 0,
          truncated: false,
        }),
      );
      this.#record({ k: 'end', at: this.#now, e: place, ms: took, value, ...(isError ? { error: true } : {}) });
    };
    if (roll < 0.45) {
      const name = chance.pick(['grep', 'ls', 'node', 'git']);
      const args =
        {
          grep: ['-rn', 'parseHeader', 'src'],
          node: ['--test', chance.pick(paths)],
          git: ['diff', '--stat'],
          ls: ['-la', 'src'],
        }[name] ?? [];
      step(
        'shell',
        name,
        { args },
        isError
          ? `${name}: exit 1\n`
          : `src/parse/header.ts:12:  headers.push(parseHeader(line));\nsrc/parse/header.ts:31:function parseHeader(line: string): Header {\n`,
      );
      this.#event('shell', attempt, {
        ...common,
        arguments: { args },
        command_name: name,
        exit_code: isError ? 1 : 0,
        truncated: chance.next() < 0.03,
        content_bytes: chance.between(10, 60_000),
      });
    } else if (roll < 0.94) {
      const path = chance.pick(paths);
      const edits = chance.next() < 0.4;
      const given = edits ? { command: 'patch', path, old_text: before, new_text: after } : { command: 'read', path };
      step('tool', 'svc-tool-editor', given, edits ? `patched ${path}` : before);
      this.#event('tool_call', attempt, {
        ...common,
        arguments: given,
        tool_name: 'svc-tool-editor',
        tool_kind: 'wasm',
        exit_code: null,
        truncated: false,
        content_bytes: chance.between(10, 9000),
      });
    } else if (roll < 0.97) {
      const prompt = 'Which of the two formats is meant: the one with or the one without a trailing line feed?';
      this.#now += took;
      this.#event('task_input_required', attempt, { task_id: taskId, prompt, outcome: 'answered', duration_ms: took });
      this.#record({
        k: 'in',
        at: this.#now,
        what: 'answer',
        task: taskId,
        question: 'q1',
        text: this.#body('Both. A file may end either way.'),
      });
    } else {
      const delegationId = chance.hex(8);
      const childId = `ses_${chance.hex(32)}`;
      this.#children.push(childId);
      const child = { task_id: taskId, delegation_id: delegationId, capsule: 'reviewer', version: '1.0.0' };
      this.#event('delegation', attempt, { ...child, status: 'started', child_session_id: childId });
      this.#now += chance.between(5000, 40_000);
      this.#event('delegation', attempt, { ...child, status: isError ? 'error' : 'ok' });
    }
  }

  #event(type: string, parent: string | null, fields: Readonly<Record<string, unknown>>): string {
    const id = `evt_${this.#chance.hex(32)}`;
    this.#written += 1;
    this.#trace.push(
      JSON.stringify({
        event_type: type,
        event_id: id,
        parent_id: parent,
        session_id: this.#id,
        timestamp: Math.floor(this.#now),
        ...fields,
      }),
    );
    return id;
  }

  /** Without `n` and the chain, which the page does not read. */
  #record(fields: Readonly<Record<string, unknown>>): void {
    if (!this.#keepsJournal) return;
    this.#journal.push(JSON.stringify({ n: this.#journal.length, ...fields, c: '0000000000000000' }));
  }

  #body(text: string): string {
    if (!this.#keepsJournal) return '';
    const sha256 = createHash('sha256').update(text).digest('hex');
    if (!this.#bodies.has(sha256)) {
      this.#bodies.set(sha256, text);
      this.#record({ k: 'body', sha256, bytes: Buffer.byteLength(text) });
    }
    return sha256;
  }
}
