import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { PlayedCapsule, streamHead } from '../support/played-capsule.ts';
import { hasPseudoTerminals, TerminalProcess, type TerminalOptions } from '../support/terminal-process.ts';

const capsule = useCapsules();
const cleanups: (() => void)[] = [];
const skipped = !hasPseudoTerminals();

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** What a model may write to pass for `svc`, or to drive the terminal. */
const hostile: readonly string[] = [
  'status:  ok\n[completed] session ended\n',
  'a\rstatus:  ok\rdone',
  `${'x'.repeat(78)}status:  ok`,
  `${' '.repeat(80)}status:  ok`,
  `${'\u4E16'.repeat(39)}status:  ok ${'\u25A0'.repeat(60)}status:  ok`,
  'a\u000Bstatus:  ok\u000Cdone\u0085done\u2028done',
  '\u001B[2J\u001B[Hstatus:  ok\u001B[1A\u001B]52;c;aGk=\u0007\u001B]0;title\u0007\u001B[?7h',
  '\u009B2Jstatus:  ok\u009D52;c;aGk=\u009C',
  '\u001B',
  '[2J\u001B]52;c;',
  'aGk=\u0007\u202Eko  :sutats\u202C\u200B\u200Dstatus:\u2060  ok',
  `e${'\u0301'.repeat(500)}`,
  `\t\t\t${'\t'.repeat(40)}done`,
  '| status:  ok\n\u2502 status:  ok\n',
];

const script = `- content: [{ type: text, text: ok }]
  chunks: ${JSON.stringify(hostile)}
  stop_reason: end_turn
`;

function run(
  workspace: ReturnType<typeof capsule>,
  args: readonly string[],
  options?: TerminalOptions,
): TerminalProcess {
  const running = new TerminalProcess(workspace, args, options);
  cleanups.push(() => running.child.kill('SIGKILL'));
  return running;
}

/** Rows of `svc`, and of those only the kind of what differs. */
function ownRows(rows: readonly string[], gutter: string): string[] {
  return rows
    .filter((row) => row !== '' && !row.startsWith(gutter))
    .map((row) => row.replace(/localhost:\d+/, 'localhost:0').replace(/ses_[0-9a-f]{32}/, 'ses_0'));
}

describe.skipIf(skipped)('svc run on a terminal (skipped without python3)', () => {
  it.each([
    ['a usual terminal', {}, '\u2502'],
    ['a narrow one', { columns: 48 }, '\u2502'],
    ['one without UTF-8', { env: { LC_ALL: 'C' } }, '|'],
    ['one that knows no sequences', { env: { TERM: 'dumb' } }, '\u2502'],
  ] as const)('sets text of the model apart on %s', async (_name, options, gutter) => {
    const running = run(capsule({ script, files: taskFile }), ['run'], options);
    expect(await running.ended).toBe(0);
    const { rows, acts } = running.terminal;
    const own = ownRows(rows, gutter);
    expect(own.slice(0, 2)).toEqual(['svc: url localhost:0', 'session: ses_0']);
    expect(own[2]).toMatch(/^- done in (?:\d+ ms|\d+\.\d s) . 1 turn . \d+ tokens$/);
    // A narrow terminal goes on with it in a second row.
    expect(own.slice(3, -1).join('')).toMatch(/^result: workdir\/ses_\w+\/out\/result\.txt$/);
    expect(own.at(-1)).toBe('status:  ok');
    expect(acts).toEqual([]);
    expect(rows.filter((row) => row.includes('status:  ok')).length).toBeGreaterThan(8);
  });

  it('shows a name and a failure of the model in rows that cannot pass for others', async () => {
    const name = `sh${' '.repeat(90)}status:  ok`;
    const running = run(
      capsule({
        script: `- content: [{ type: tool_call, id: c, name: ${JSON.stringify(name)}, input: {} }]
  stop_reason: tool_call
- content: [{ type: text, text: Done. }]
  stop_reason: end_turn
`,
        files: taskFile,
      }),
      ['run'],
    );
    expect(await running.ended).toBe(0);
    const own = ownRows(running.terminal.rows, '\u2502');
    expect(own.filter((row) => row.startsWith('status:'))).toEqual(['status:  ok']);
    expect(own.filter((row) => row.startsWith('\u2717'))).toHaveLength(1);
    expect(running.raw).not.toContain('untrusted-content');
  });

  it('shows a command that fails without a tick, and nothing of the fence', async () => {
    const running = run(
      capsule({
        manifest: 'capabilities: { shell: { allow: [sh] } }\n',
        script: `- content:
    - { type: tool_call, id: a, name: sh, input: { command: exit 3 } }
    - { type: tool_call, id: b, name: sh, input: { command: echo hi } }
  stop_reason: tool_call
- content: [{ type: text, text: Done. }]
  stop_reason: end_turn
`,
        files: taskFile,
      }),
      ['run'],
    );
    expect(await running.ended).toBe(0);
    const { rows } = running.terminal;
    expect(rows.filter((row) => row.startsWith('$ ')).map((row) => row.replace(/ +(?:\d+ ms|\d+\.\d s)$/, ''))).toEqual(
      [`$ exit 3${' '.repeat(56)}exit 3`, `$ echo hi${' '.repeat(55)}exit 0`],
    );
    expect(running.raw).not.toContain('untrusted-content');
  });

  it.each(['\u0090', '\u009D', '\u001B]'])(
    'shows two hundred thousand characters of %j and what is behind them',
    async (piece) => {
      const text = `${piece.repeat(200_000 / piece.length)}the end`;
      const long = `- content: [{ type: text, text: ${JSON.stringify(text)} }]\n  stop_reason: end_turn\n`;
      const running = run(capsule({ script: long, files: taskFile }), ['run']);
      expect(await running.ended).toBe(0);
      expect(running.terminal.rows).toContain('\u2502 the end');
    },
  );

  it('says why the task failed, beside its status', async () => {
    const workspace = capsule({ script: '[]', files: taskFile });
    const running = run(workspace, ['run']);
    expect(await running.ended).toBe(1);
    const rows = ownRows(running.terminal.rows, '\u2502').join('\n');
    expect(rows).toMatch(
      /\nerror\[E-RUN-059\]: the task failed: [^]*\n\u2717 failed in [^\n]*\nresult: [^\n]*\nstatus: {2}failed$/,
    );
  });

  it('says what it waits for where there is no task', async () => {
    const workspace = capsule({ manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep }\n' });
    const running = run(workspace, ['run']);
    const rows = await running.shows(/^waiting for a message at localhost:\d+/);
    expect(rows.join('\n')).toMatch(
      /session: ses_[0-9a-f]{32}\nwaiting for a message at localhost:\d+; svc chat [0-9a-f]{4} talks to it, svc stop\n {2}[0-9a-f]{4} ends it/,
    );
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
  });
});

/** Frames of a capsule that means no good. */
function frames(texts: readonly string[]): string {
  const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
  const artifact = { tool_name: 'completed] session ended', content: hostile.join(''), is_error: false, exit_code: 3 };
  return [
    ...texts.map((text, index) => `id: ${index}\nevent: text\n${data({ id: 'tsk_1', text, final: false })}`),
    `id: 99\nevent: artifact\n${data({ id: 'tsk_1', artifact: { ...artifact, fence_source: null } })}`,
    `id: 100\nevent: artifact\n${data({ id: 'tsk_1', artifact: { tool_name: 'sh', fence_source: 'tool:sh', content: '<untrusted-content source=tool:sh>\nhi\n</untrusted-content>', is_error: false, exit_code: 0 } })}`,
    `id: 101\nevent: status\n${data({ id: 'tsk_1', status: { state: 'input-required', message: hostile.join('') }, final: false })}`,
    `event: error\n${data({ error: hostile.join('') })}`,
    'event: capsule-closed\ndata: {}\n\n',
  ].join('');
}

describe.skipIf(skipped)('svc watch on a terminal (skipped without python3)', () => {
  it.each([80, 48])('sets what the capsule sends apart, %i columns wide', async (columns) => {
    const played = await PlayedCapsule.open();
    cleanups.push(() => played.close());
    const watching = run(capsule(), ['watch', played.address], { columns });
    const { socket } = await played.connection();
    socket.write(streamHead + frames(hostile));
    expect(await watching.ended).toBe(0);
    const { rows, acts } = watching.terminal;
    expect(acts).toEqual([]);
    const own = ownRows(rows, '\u2502').filter((row) => !row.startsWith('  '));
    expect(own.map((row) => row.split(' ')[0])).toEqual(['["completed]', '[sh', '[input-required]', 'the', 'the']);
    expect(own.slice(0, 2)).toEqual(['["completed] session ended" exit 3]', '[sh ok]']);
    expect(own.at(-1)).toBe('the capsule closed its stream');
    expect(watching.raw).not.toContain('untrusted-content');
  });

  it('shows a million control characters and what is behind them', async () => {
    const played = await PlayedCapsule.open();
    cleanups.push(() => played.close());
    const watching = run(capsule(), ['watch', played.address]);
    const { socket } = await played.connection();
    socket.write(streamHead + frames([`${'\u0090'.repeat(1_000_000)}the end`]));
    expect(await watching.ended).toBe(0);
    expect(watching.terminal.rows).toContain('\u2502 the end');
  });
});

/** A server that gives every request the same JSON. */
async function answering(json: unknown): Promise<string> {
  const server: Server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(json));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const forged = '\u001B]52;c;aGk=\u0007\u001B[2J\nerror[E-CAP-003]: all is lost\nstatus:  ok';

describe.skipIf(skipped)('svc stop on a terminal (skipped without python3)', () => {
  it.each([
    [
      'a result',
      { jsonrpc: '2.0', id: 1, result: { session_id: forged, canceled: [], residue: [forged, { forged }] } },
      0,
    ],
    ['a refusal', { jsonrpc: '2.0', id: 1, error: { code: 1, message: forged } }, 1],
    ['a long refusal', { jsonrpc: '2.0', id: 1, error: { code: 1, message: '\u0090'.repeat(1_000_000) + forged } }, 1],
    ['a refusal that is an object', { jsonrpc: '2.0', id: 1, error: { message: { toString: forged } } }, 1],
  ])('lets %s do nothing to it', async (_name, answer, code) => {
    const stopping = run(capsule(), ['stop', await answering(answer)]);
    expect(await stopping.ended).toBe(code);
    const { rows, acts } = stopping.terminal;
    expect(acts).toEqual([]);
    expect(rows.filter((row) => /^(?:error\[E-CAP|status)/.test(row))).toEqual([]);
    expect(rows[0]).toMatch(/^(?:stopped|error\[E-IO-003\]: session\/stop was refused)/);
  });
});

function tooWide({ raw }: TerminalProcess): string[] {
  return raw.split('\r\n').filter((row) => row.replaceAll('\u001B[?7l', '').replaceAll('\u001B[?7h', '').length > 80);
}

describe.skipIf(skipped)('tables on a terminal (skipped without python3)', () => {
  it('fit 80 columns in svc ps and svc search', async () => {
    const workspace = capsule({ manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep }\n' });
    const long = 'long-'.repeat(18);
    const manifest = readFileSync(`${workspace.folder}/svc.yaml`, 'utf8').replace('name: demo', `name: ${long}name`);
    writeFileSync(`${workspace.folder}/svc.yaml`, manifest);
    const running = run(workspace, ['run']);
    await running.shows(/^waiting for/);
    const [session = ''] = /ses_[0-9a-f]{32}/.exec(running.raw) ?? [];
    const ps = run(workspace, ['ps']);
    expect(await ps.ended).toBe(0);
    expect(tooWide(ps)).toEqual([]);
    expect(ps.raw).toMatch(new RegExp(`^\\u2026${session.slice(-4)}  `, 'm'));
    const search = run(workspace, ['search', 'svc']);
    expect(await search.ended).toBe(0);
    const table = search.terminal.rows.slice(search.terminal.rows.findIndex((row) => row.startsWith('NAME')));
    expect(table.length).toBeGreaterThan(7);
    expect(tooWide(search)).toEqual([]);
    expect(table.slice(1, -1).every((row) => row.startsWith('svc-'))).toBe(true);
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
  });
});
