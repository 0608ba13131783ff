/** Makes a session whose every text is an attempt, with lines that are damaged in every way that a test thought of. */

import { createHash } from 'node:crypto';

import { traceEventSchemas } from '@svc/record/trace/events.ts';

/** Texts that would be something else if they were not shown as texts. */
export const attempts: readonly string[] = [
  '<img src=x onerror=alert(1)>',
  '<script>alert(2)</script>',
  '"><svg onload=alert(3)>',
  "'; alert(4); '",
  'javascript:alert(5)',
  '<iframe srcdoc="<script>alert(6)</script>">',
  '{{constructor.constructor("alert(7)")()}}',
  '<a href="https://example.com/">click</a>',
  '<style>*{display:none}</style>',
  '</script></style></textarea><img src=https://example.com/x>',
  '<!-- -->]]><math><mi//xlink:href="data:x,<script>alert(8)</script>">',
  '\u202Edlrow olleh\u202C \u2066turned\u2069 \u200F\u061C',
  'שלום עולם مرحبا بالعالم',
  '\u0000\u0007\u001B[2J\u009B31m\uFFFE\uD800',
  `z${'\u0301'.repeat(200)}`,
  '\u{E0041}\u{E0042}\u{E007F}',
  'completed · 0 ms · 0 tokens',
  '__proto__',
  'constructor',
  '../../../etc/passwd',
  'x'.repeat(1024 * 1024),
  '𝕏'.repeat(5000),
  '',
];

/** What stands where something else belongs. */
const values: readonly unknown[] = [
  null,
  true,
  -1,
  1e308,
  9_007_199_254_740_991,
  '7',
  [],
  {},
  [[[[[['x']]]]]],
  { toString: 'x', valueOf: null },
  { length: 1e9 },
];

const base = 1_795_350_260_734;
let count = 0;

function line(type: string, fields: object): string {
  count += 1;
  const id = `evt_${count.toString(16).padStart(32, '0')}`;
  return JSON.stringify({
    event_type: type,
    event_id: id,
    parent_id: null,
    session_id: 'ses_hostile',
    timestamp: base + count * 10,
    ...fields,
  });
}

/** Every field of every type, once with each attempt and once with each value of another type. */
function everyField(type: string, keys: readonly string[], value: (key: string) => unknown): string {
  return line(type, Object.fromEntries(keys.map((key) => [key, value(key)])));
}

export interface HostileSession {
  readonly trace: string;
  readonly journal: string;
  readonly bodies: ReadonlyMap<string, string>;
  readonly rows: number;
}

export function hostileSession(): HostileSession {
  count = 0;
  const types = [
    ...Object.keys(traceEventSchemas),
    'refusal',
    'egress',
    'file_change',
    'retry',
    'approval',
    'of_a_later_version',
  ];
  const keysOf = (type: string): readonly string[] => {
    const schema = (traceEventSchemas as Readonly<Record<string, { readonly shape: object }>>)[type];
    return schema === undefined
      ? ['what', 'rule', 'by', 'host', 'port', 'path', 'change', 'detail', 'task_id']
      : Object.keys(schema.shape);
  };
  const lines: string[] = [];
  // The first is what the head of the page says.
  lines.push(line('session_start', hostileStart(attempts[11] ?? '')));
  for (const [index, attempt] of attempts.entries()) {
    // The longest ones would make this a trace of gigabytes.
    const chosen = attempt.length > 10_000 ? ['task_received', 'tool_call', 'inference', 'shell'] : types;
    for (const type of chosen)
      lines.push(everyField(type, keysOf(type), (key) => (key === 'duration_ms' ? index * 100 : attempt)));
    lines.push(line('session_start', hostileStart(attempt)));
    lines.push(
      line('tool_call', {
        task_id: 'tsk_h',
        tool_name: attempt,
        arguments: {
          command: 'patch',
          path: attempt.slice(0, 2000),
          old_text: attempt,
          new_text: `${attempt}\n${attempt}`,
        },
      }),
    );
    lines.push(line('task_received', { task_id: `tsk_${index}`, origin: 'peer', trust: 'untrusted', text: attempt }));
    lines.push(line('task_end', { task_id: `tsk_${index}`, state: attempt }));
  }
  for (const value of values)
    for (const type of types)
      lines.push(everyField(type, [...keysOf(type), 'timestamp', 'event_id', 'start_ms', 'usage'], () => value));
  const damaged = [
    'null',
    '[]',
    '7',
    '"text"',
    '{',
    '{"event_type":',
    '{"event_type":"inference","event_id":"evt_x"',
    '\u0000\u0000',
    '}{',
    '{"event_type":null}',
    '{"event_type":{"a":1}}',
    '',
    `{"event_type":"shell","command_name":"deep","arguments":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
    `{"__proto__":{"event_type":"inference"},"event_type":"inference","constructor":7}`,
    line('shell', { task_id: 'tsk_h', timestamp: base - 86_400_000, command_name: 'earlier', duration_ms: 5 }),
    line('shell', { task_id: 'tsk_h', timestamp: 8e15, command_name: 'much later', duration_ms: 5 }),
    line('tool_call', {
      task_id: 'tsk_h',
      tool_name: 'ten megabytes',
      arguments: { content: 'y'.repeat(10 * 1024 * 1024) },
    }),
  ];
  lines.push(...damaged);
  const bodies = new Map(
    attempts.map((text) => [createHash('sha256').update(text.toWellFormed()).digest('hex'), text]),
  );
  return {
    trace: `${lines.join('\n')}\n{"event_type":"cut`,
    journal: hostileJournal(bodies),
    bodies,
    rows: lines.length,
  };
}

function hostileStart(text: string): object {
  const list = [text, text, 7, null];
  return {
    capsule: { name: text, version: text },
    containment: { declared: text, achieved: text, mechanism: text },
    tools_declared: list,
    effective_grants: {
      filesystem_scope: text,
      network_allow: list,
      shell_allow: list,
      spawn_allow: list,
      env_allow: list,
      preopens: [{ artifact: text, runtime: text, path: text, writable: text, state: list }, 7, null],
      limits: [{ resource: text, of: text, max: text, held_by: text }],
      project_folder: { path: text, writable: text, masked: list },
    },
  };
}

function hostileJournal(bodies: ReadonlyMap<string, string>): string {
  const [first = ''] = bodies.keys();
  const records: unknown[] = [
    { k: 'open', version: 1, capture: attempts[0] },
    { k: 'setup', manifest: first },
    { k: 'task', id: 'tsk_h' },
    { k: 'task-end', id: 'tsk_h', result: first },
    ...[...bodies.keys()].flatMap((sha256, index) => [
      { k: 'start', e: `tsk_h/1/m0/t${index}`, port: attempts[index], name: attempts[index] },
      { k: 'end', e: `tsk_h/1/m0/t${index}`, value: sha256, ms: 'x' },
      { k: 'in', what: 'answer', task: 'tsk_h', text: sha256 },
    ]),
    ...values,
    { k: attempts[0] },
  ];
  return `${records.map((record) => JSON.stringify(record)).join('\n')}\n{"k":"cut`;
}
