import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { onlySession, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { useCopies } from '../support/copied-workspaces.ts';
import { runsCommand, scriptCapsule } from '../support/script-capsule.ts';
import { asks, calls, says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { svc, SvcProcess } from '../support/svc-process.ts';
import { ReadStream, ViewProcess } from '../support/view-process.ts';
import type { Workspace } from '../support/workspace.ts';

const patience = { timeout: 60_000 };
const capsule = useCapsules();
const copyOf = useCopies();
const capsules = useStreamedCapsules();

/** A workspace with a session that has written files. */
async function recorded(): Promise<{ readonly workspace: Workspace; readonly id: string }> {
  const workspace = await copyOf('', async () => {
    const painted = scriptCapsule({
      manifest: 'trace: { capture: content }\ncapabilities:\n  shell: { allow: [sh] }\n',
      script: runsCommand('mkdir -p out/deep && echo blue > out/deep/colour.txt && echo no > beside.txt'),
    });
    expect((await svc(painted, ['run', '--task', 'Paint the shed.'])).code).toBe(0);
    return painted;
  });
  return { workspace, id: onlySession(workspace) };
}

function folderOf(workspace: Workspace, id: string): string {
  return join(workspace.folder, '.svc', 'sessions', id);
}

/** What every answer has. */
const everyAnswer = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

describe('the page of recorded sessions', () => {
  it('comes with its session, and answers what it asks', patience, async () => {
    const { workspace, id } = await recorded();
    const view = await ViewProcess.start(workspace, [id.slice(-4)]);
    expect(view.line).toEqual({
      url: `http://127.0.0.1:${view.line.port}/#token=${view.token}&session=${id}`,
      port: view.line.port,
      session: id,
      read_only: false,
    });
    const listed = await svc(workspace, ['sessions', '--json']);
    expect(await view.json('/sessions')).toEqual({
      sessions: [{ ...(JSON.parse(listed.stdout) as object), asks: false }],
      more: 0,
    });
    expect(await view.json(`/s/${id}`)).toEqual({
      id,
      live: false,
      readOnly: false,
      capture: 'content',
      has: { trace: true, journal: true, files: true },
      notes: ['Commands of the session could have written its journal: it ran with less than scoped containment.'],
      notStopped: expect.arrayContaining(['A bug of the kernel can undo all of this.']) as unknown,
      granted: {
        rows: expect.arrayContaining([
          { kind: 'Command', what: 'sh', line: expect.any(Number) as unknown, use: ['command', 'sh'] },
        ]) as unknown,
        limits: expect.any(Array) as unknown,
      },
    });
    const trace = readFileSync(tracePath(workspace, id), 'utf8');
    expect((await view.ask(`/s/${id}/trace`)).text).toBe(trace);
    expect((await view.ask(`/s/${id}/trace?from=100`)).text).toBe(trace.slice(100));
    expect((await view.ask(`/s/${id}/trace?from=999999999`)).text).toBe('');
    const journal = readFileSync(join(folderOf(workspace, id), 'journal.jsonl'), 'utf8');
    const records = journal
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const bare = (await view.ask(`/s/${id}/journal`)).text;
    const withoutTexts = records.map(({ data: _data, cut: _cut, ...rest }) => rest);
    expect(
      bare
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(withoutTexts);
    expect((await view.ask(`/s/${id}/journal?from=1000`)).text).toBe(bare.slice(1000));
    const body = await view.ask(`/s/${id}/body/${sha256Hex('Paint the shed.')}`);
    expect([body.status, body.text, body.headers.get('content-type')]).toEqual([
      200,
      'Paint the shed.',
      'text/plain; charset=utf-8',
    ]);
    const events = trace
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const types = events.map(({ event_type: type }) => type);
    const text = { kind: 'text', text: 'Done.', more: 0 };
    const said = types.lastIndexOf('inference');
    expect(await view.json(`/s/${id}/detail/${said}`)).toMatchObject({
      row: said,
      eventId: events[said]?.['event_id'],
      line: { text: JSON.stringify(events[said], null, 2) },
      step: 3,
      parts: [{ kind: 'text', text }],
    });
    expect(await view.json(`/s/${id}/detail/0`)).toMatchObject({ row: 0, step: null, parts: [] });
    for (const row of [types.length, 999_999_999]) expect((await view.ask(`/s/${id}/detail/${row}`)).status).toBe(404);
    const rows = async (from: number): Promise<readonly { rows: { first: number; kind: number[] } }[]> =>
      (await view.ask(`/s/${id}/rows?from=${from}`)).text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { rows: { first: number; kind: number[] } });
    const [block] = await rows(0);
    expect(block).toMatchObject({
      rows: { first: 0 },
      tasks: [{ text: 'Paint the shed.' }],
      start: { achieved: 'advisory' },
    });
    expect(block?.rows.kind.length).toBe(types.length);
    expect((await rows(2)).map((each) => each.rows.first)).toEqual([2]);
    expect(await rows(types.length)).toEqual([]);
    expect(await view.json(`/s/${id}/find/${String(events[said]?.['event_id'])}`)).toBe(said);
    expect(await view.json(`/s/${id}/search/${encodeURIComponent('paint the')}`)).toEqual([
      types.indexOf('task_received'),
    ]);
    expect(await view.json(`/s/${id}/changes`)).toEqual([]);
    expect(await view.json(`/s/${id}/result/${String(events[1]?.['task_id'])}`)).toEqual(text);
    expect(await view.json(`/s/${id}/files`)).toEqual({
      files: [
        { path: 'out/deep/colour.txt', bytes: 5 },
        { path: 'out/result.txt', bytes: 5 },
      ],
      truncated: false,
    });
    const file = await view.ask(`/s/${id}/file/out/deep/colour.txt`);
    expect([file.status, file.text, file.headers.get('content-disposition'), file.headers.get('content-type')]).toEqual(
      [200, 'blue\n', 'attachment', 'text/plain; charset=utf-8'],
    );
    expect((await view.ask(`/s/${id}/events`)).status).toBe(410);
    for (const path of [
      '/',
      '/sessions',
      `/s/${id}/trace`,
      `/s/${id}/detail/0`,
      `/s/${id}/body/${'0'.repeat(64)}`,
      '/none',
    ]) {
      expect({ path, ...Object.fromEntries((await view.ask(path)).headers) }).toMatchObject({ path, ...everyAnswer });
    }
  });

  it('ends with Ctrl+C, and says the address on one line', patience, async () => {
    const { workspace } = await recorded();
    const process = new SvcProcess(workspace, ['view']);
    const [line] = await process.printed(/^.*\n/);
    expect(line).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}\n$/);
    process.child.kill('SIGINT');
    expect(await process.ended).toMatchObject({ code: 0, stdout: line, stderr: '' });
  });

  it('compares two sessions as svc trace diff does', patience, async () => {
    const { workspace, id } = await recorded();
    expect((await svc(workspace, ['run', '--task', 'Paint the boat.'])).code).toBe(0);
    const view = await ViewProcess.start(workspace);
    const { sessions } = (await view.json('/sessions')) as { sessions: { session_id: string }[] };
    const [newer = '', older = ''] = sessions.map(({ session_id: each }) => each);
    expect(older).toBe(id);
    const { stdout } = await svc(workspace, ['trace', 'diff', older, newer, '--json']);
    const comparison = (await view.json(`/compare?a=${older}&b=${newer}`)) as { parting: unknown };
    expect(comparison).toEqual({
      ...(JSON.parse(stdout) as object),
      said: ['They part at task 1', 'The task was given another text.'],
    });
    expect(comparison.parting).not.toBeNull();
    expect((await view.ask(`/compare?a=${older}&b=ses_00000000000000000000000000000000`)).status).toBe(404);
  });

  it(
    'says of a damaged journal that it was not compared as a whole, and not that steps are missing',
    patience,
    async () => {
      const { workspace, id } = await recorded();
      expect((await svc(workspace, ['run', '--task', 'Paint the shed.'])).code).toBe(0);
      const journal = join(folderOf(workspace, id), 'journal.jsonl');
      const lines = readFileSync(journal, 'utf8').split('\n');
      writeFileSync(journal, lines.with(Math.floor(lines.length / 2), 'no record').join('\n'));
      const view = await ViewProcess.start(workspace);
      const { sessions } = (await view.json('/sessions')) as { sessions: { session_id: string }[] };
      const newer = sessions.map(({ session_id: each }) => each).find((each) => each !== id) ?? '';
      expect(await view.json(`/compare?a=${id}&b=${newer}`)).toMatchObject({
        parting: null,
        notes: [expect.stringMatching(/^A journal is damaged: a record .* What stands behind it was not compared\.$/)],
      });
    },
  );

  it('has the sessions that others delegated to at addresses of their own', patience, async () => {
    const { workspace, id } = await recorded();
    const below = join(folderOf(workspace, id), 'children', 'painter-0001', '.svc', 'sessions');
    const [child, grandchild] = ['ses_0123456789ab7000800000000000c001', 'ses_0123456789ab7000800000000000c002'];
    const copy = join(workspace.home, 'copy');
    cpSync(folderOf(workspace, id), copy, { recursive: true });
    mkdirSync(below, { recursive: true });
    cpSync(copy, join(below, child), { recursive: true });
    const deeper = join(below, child, 'children', 'brush-0001', '.svc', 'sessions');
    mkdirSync(deeper, { recursive: true });
    cpSync(copy, join(deeper, grandchild), { recursive: true });
    mkdirSync(join(workspace.folder, 'workdir', id, '.svc', 'children', 'painter-0001', 'out'), { recursive: true });
    writeFileSync(join(workspace.folder, 'workdir', id, '.svc', 'children', 'painter-0001', 'out', 'a.txt'), 'a');
    const view = await ViewProcess.start(workspace, [id]);
    expect(await view.json(`/s/${child}`)).toMatchObject({
      id: child,
      has: { trace: true, journal: true, files: true },
    });
    expect(await view.json(`/s/${child}/files`)).toEqual({
      files: [{ path: 'out/a.txt', bytes: 1 }],
      truncated: false,
    });
    expect((await view.ask(`/s/${grandchild}/trace`)).text).toBe(readFileSync(tracePath(workspace, id), 'utf8'));
    expect((await view.json('/sessions')) as object).toMatchObject({ sessions: [{ session_id: id }] });
  });

  it('has the files that a tool has changed, wherever they are in the workdir', patience, async () => {
    const edit = { command: 'write', path: './notes/plan.md', content: 'Blue.\n' };
    const workspace = capsule({
      manifest: 'artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]\n',
      script: script(calls([['c1', 'svc-tool-editor', edit]]), says('Done.')),
    });
    expect((await svc(workspace, ['run', '--task', 'Plan it.'])).code).toBe(0);
    const id = onlySession(workspace);
    writeFileSync(join(workspace.folder, 'workdir', id, 'notes', 'other.md'), 'Red.\n');
    const view = await ViewProcess.start(workspace, [id]);
    expect(await view.json(`/s/${id}/files`)).toEqual({
      files: [
        { path: 'notes/plan.md', bytes: 6 },
        { path: 'out/result.txt', bytes: 5 },
      ],
      truncated: false,
    });
    expect((await view.ask(`/s/${id}/file/notes/plan.md`)).text).toBe('Blue.\n');
    expect((await view.ask(`/s/${id}/file/notes/other.md`)).status).toBe(404);
  });

  it('says that there are more files than it names', patience, async () => {
    const edit = { command: 'write', path: 'notes/plan.md', content: 'Blue.\n' };
    const workspace = capsule({
      manifest: 'artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]\n',
      script: script(calls([['c1', 'svc-tool-editor', edit]]), says('Done.')),
    });
    expect((await svc(workspace, ['run', '--task', 'Plan it.'])).code).toBe(0);
    const id = onlySession(workspace);
    const out = join(workspace.folder, 'workdir', id, 'out');
    for (let count = 1; count < 1000; count += 1) writeFileSync(join(out, `${count}.txt`), '');
    const view = await ViewProcess.start(workspace, [id]);
    const { files, truncated } = (await view.json(`/s/${id}/files`)) as { files: object[]; truncated: boolean };
    expect([files.length, truncated]).toEqual([1000, true]);
  });

  it('refuses what is not of a session that it shows', patience, async () => {
    const { workspace, id } = await recorded();
    expect((await svc(workspace, ['run', '--task', 'Another secret.'])).code).toBe(0);
    const workdir = join(workspace.folder, 'workdir', id);
    writeFileSync(join(workspace.folder, 'secret.txt'), 'secret');
    symlinkSync('../../../secret.txt', join(workdir, 'out', 'link.txt'));
    symlinkSync('..', join(workdir, 'out', 'up'));
    symlinkSync('/etc', join(workdir, 'out', 'etc'));
    const view = await ViewProcess.start(workspace, [id]);
    const refused: Record<string, number> = {};
    const paths = [
      `/s/${id}/file/beside.txt`,
      `/s/${id}/file/task.md`,
      `/s/${id}/file/out/link.txt`,
      `/s/${id}/file/out/up/beside.txt`,
      `/s/${id}/file/out/etc/passwd`,
      `/s/${id}/file/out/../beside.txt`,
      `/s/${id}/file/out/%2e%2e/beside.txt`,
      `/s/${id}/file/out%2F..%2Fbeside.txt`,
      `/s/${id}/file/%2Fetc%2Fpasswd`,
      `/s/${id}/file/out/result.txt%00`,
      `/s/${id}/file/`,
      `/s/${id}/file/out`,
      `/s/${id}/body/${sha256Hex('Another secret.')}`,
      `/s/${id}/body/..%2F..%2Ftrace.jsonl`,
      `/s/${id}/detail/-1`,
      `/s/${id}/detail/1e3`,
      `/s/${id}/detail/..%2F0`,
      `/s/${id}/result/%E0%A4%A`,
      `/s/${id}/none`,
      `/s/..%2F${id}/trace`,
      '/s/../trace',
      '/s//trace',
      `/s/${id.toUpperCase()}/trace`,
      '/s/ses_00000000000070008000000000000001/trace',
      '/none',
    ];
    for (const path of paths) {
      const { status, body } = await view.raw(`GET ${path} HTTP/1.1`, view.host, view.bearer);
      refused[path] = status;
      expect(body).not.toMatch(/secret|root:/);
    }
    expect(refused).toEqual(Object.fromEntries(paths.map((path) => [path, 404])));
    expect((await view.ask(`/s/${id}/trace?from=-1`)).status).toBe(400);
    expect(await view.json(`/s/${id}/files`)).toMatchObject({
      files: [{ path: 'out/deep/colour.txt' }, { path: 'out/result.txt' }],
    });
  });

  it('reads no folder of a session that is a link', patience, async () => {
    const { workspace, id } = await recorded();
    const elsewhere = join(workspace.home, 'elsewhere');
    renameSync(folderOf(workspace, id), elsewhere);
    symlinkSync(elsewhere, folderOf(workspace, id));
    const view = await ViewProcess.start(workspace);
    expect(await view.json('/sessions')).toEqual({ sessions: [], more: 0 });
    const answer = await view.ask(`/s/${id}/trace`);
    expect([answer.status, answer.text]).toEqual([
      403,
      `{"error":{"message":"the folder of the session cannot be trusted: ${id} is a link or a file","code":"E-RUN-072"}}`,
    ]);
  });

  it('says of a capsule that it is not there when it is to be called', patience, async () => {
    const { workspace, id } = await recorded();
    const view = await ViewProcess.start(workspace);
    const answer = await view.call(id, 'message/send', {});
    expect([answer.status, answer.text]).toEqual([410, '{"error":{"message":"The session does not run."}}']);
  });
});

describe('the page of a file', () => {
  it('shows a trace of anybody, whatever it says, and reads nothing beside it', patience, async () => {
    const { workspace, id } = await recorded();
    const trace = readFileSync(tracePath(workspace, id), 'utf8');
    writeFileSync(join(workspace.folder, 'journal.jsonl'), 'secret');
    workspace.write('trace.jsonl', trace);
    const view = await ViewProcess.start(workspace, ['trace.jsonl']);
    expect(view.line.session).toBe(id);
    expect(await view.json(`/s/${id}`)).toEqual({
      id,
      live: false,
      readOnly: false,
      capture: 'none',
      has: { trace: true, journal: false, files: false },
      notes: [],
      notStopped: expect.arrayContaining(['A bug of the kernel can undo all of this.']) as unknown,
      granted: {
        rows: expect.arrayContaining([{ kind: 'Command', what: 'sh', line: null, use: ['command', 'sh'] }]) as unknown,
        limits: expect.any(Array) as unknown,
      },
    });
    const [row] = ((await view.json('/sessions')) as { sessions: object[] }).sessions;
    expect(row).toMatchObject({
      session_id: id,
      capsule: 'demo',
      status: 'ok',
      task: 'Paint the shed.',
      journal: null,
    });
    expect((await view.ask(`/s/${id}/journal`)).status).toBe(404);
    expect(await view.json(`/s/${id}/files`)).toEqual({ files: [], truncated: false });
  });

  it('shows what svc trace export has made, by the journal in it', patience, async () => {
    const workspace = capsule({
      manifest: 'trace: { capture: content }\ncapabilities: { shell: { allow: [sh] }, plan: { submit: true } }\n',
      script: script(
        calls([
          ['a', 'sh', { command: 'echo one' }],
          ['b', 'no-such-tool', { really: true }],
          ['c', 'sh', { command: 'exit 3' }],
          ['d', 'submit-plan', { id: 'p', steps: [{ id: 'look', shell: 'sh', input: 'echo two' }] }],
        ]),
        says('Painted.'),
      ),
    });
    expect((await svc(workspace, ['run', '--task', 'Paint the shed.'])).code).toBe(0);
    const id = onlySession(workspace);
    expect((await svc(workspace, ['trace', 'export', id, '-o', 'session.zip'])).code).toBe(0);
    const view = await ViewProcess.start(workspace, ['session.zip'], { env: { TMPDIR: workspace.home } });
    expect(await view.json(`/s/${id}`)).toMatchObject({
      id,
      live: false,
      has: { trace: true, journal: true, files: false },
      notes: [
        'Commands of the session could have written its journal: it ran with less than scoped containment.',
        'There is no trace of the session: what is shown is made from its journal, which has no connections and no refusals.',
      ],
      notStopped: expect.arrayContaining(['A bug of the kernel can undo all of this.']) as unknown,
    });
    expect((await view.ask(`/s/${id}/body/${sha256Hex('Paint the shed.')}`)).text).toBe('Paint the shed.');
    const keys = [
      ['event_type', 'session_id', 'task_id', 'turn', 'attempt', 'text', 'state', 'status', 'usage', 'turns', 'tasks'],
      ['tool_name', 'command_name', 'name', 'arguments', 'is_error', 'exit_code', 'outcome', 'stop_reason', 'model'],
      ['capsule', 'containment', 'effective_grants', 'origin', 'trust', 'step_id', 'kind', 'message'],
    ].flat();
    const rowsOf = (text: string): readonly unknown[] =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ event_type: type }) => !/^(?:refusal|plan_start|plan_end)$/.test(String(type)))
        .map((row) => Object.fromEntries(keys.map((key) => [key, row[key] ?? null])));
    const made = (await view.ask(`/s/${id}/trace`)).text;
    expect(rowsOf(made)).toEqual(rowsOf(readFileSync(tracePath(workspace, id), 'utf8')));
    expect((await view.ask(`/s/${id}/trace?from=1000`)).text).toBe(made.slice(1000));
    expect(new Set(made.match(/"event_id":"evt_[0-9a-f]{32}"/g)).size).toBe(made.trimEnd().split('\n').length);
  });

  it('shows what was exported without its texts by names, times and sums', patience, async () => {
    const { workspace, id } = await recorded();
    expect((await svc(workspace, ['trace', 'export', id, '--redact', '-o', 'bare.zip'])).code).toBe(0);
    expect((await svc(workspace, ['trace', 'rm', id])).code).toBe(0);
    expect((await svc(workspace, ['trace', 'import', 'bare.zip'])).code).toBe(0);
    const view = await ViewProcess.start(workspace, [id], { env: { TMPDIR: workspace.home } });
    const rows = (await view.ask(`/s/${id}/trace`)).text.trimEnd().split('\n');
    expect(
      rows
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .map((row) => [row['event_type'], row['command_name'] ?? row['state'] ?? row['text'] ?? null]),
    ).toEqual([
      ['session_start', null],
      ['task_received', ''],
      ['task_start', null],
      ['inference', null],
      ['shell', 'sh'],
      ['inference', null],
      ['task_end', 'completed'],
      ['session_end', null],
    ]);
    view.process.child.kill('SIGINT');
    await view.process.ended;
    expect(readdirSync(workspace.home).filter((name) => name.startsWith('svc-trace-'))).toEqual([]);
  });

  it('passes a trace on that was cut anywhere, and says so', patience, async () => {
    const { workspace, id } = await recorded();
    const trace = readFileSync(tracePath(workspace, id));
    const ends = [0, 1, 100, trace.indexOf('\n'), trace.indexOf('\n') + 1, trace.length - 1];
    for (const end of ends) {
      writeFileSync(join(workspace.folder, 'cut.jsonl'), trace.subarray(0, end));
      const view = await ViewProcess.start(workspace, ['cut.jsonl']);
      const shown = view.line.session ?? '';
      const whole = trace.subarray(0, trace.subarray(0, end).lastIndexOf('\n') + 1);
      expect((await view.ask(`/s/${shown}/trace`)).text).toBe(whole.toString());
      const { notes } = (await view.json(`/s/${shown}`)) as { notes: string[] };
      const middle = end > 0 && trace[end - 1] !== 0x0a;
      expect(notes.includes('The trace ends in the middle of a line.')).toBe(middle);
      expect(notes.includes('The trace is empty.')).toBe(end === 0);
      if (end > 0)
        expect(notes).toContain('The trace has no end of the session: it was killed, or could not write it.');
    }
  });

  it('works as well where another program has written it anew', patience, async () => {
    const { workspace, id } = await recorded();
    const lines = readFileSync(tracePath(workspace, id), 'utf8').trimEnd().split('\n');
    const anew = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const spaced = anew.map(
      (event) =>
        `{ ${Object.entries(event)
          .map(([key, value]) => `"${key}": ${JSON.stringify(value)}`)
          .join(', ')} }`,
    );
    const turned = anew.map(({ event_type: type, ...event }) => JSON.stringify({ ...event, event_type: type }));
    for (const [name, texts] of [
      ['spaced.jsonl', spaced],
      ['turned.jsonl', turned],
    ] as const) {
      writeFileSync(join(workspace.folder, name), `${texts.join('\n')}\n`);
      const view = await ViewProcess.start(workspace, [name]);
      expect(await view.json(`/s/${view.line.session}`)).toMatchObject({ id, notes: [], live: false });
      expect(await view.json('/sessions')).toMatchObject({
        sessions: [
          { session_id: id, status: 'ok', tasks: 1, task: 'Paint the shed.', started_at_ms: anew[0]?.['timestamp'] },
        ],
      });
    }
  });

  it('passes lines of ten megabytes on, and lines that are no events', patience, async () => {
    const { workspace } = await recorded();
    const long = `{"event_type":"tool_call","arguments":"${'x'.repeat(10_000_000)}"}\n`;
    const odd = `${long}no event\n\u0000\u0001\n[]\n${long}`;
    workspace.write('odd.jsonl', odd);
    const view = await ViewProcess.start(workspace, ['odd.jsonl']);
    const shown = view.line.session ?? '';
    expect((await view.ask(`/s/${shown}/trace`)).text).toBe(odd);
    expect(await view.json(`/s/${shown}`)).toMatchObject({
      notes: [
        'The trace does not begin with the start of a session.',
        'The trace has lines that are no events: 3, the first of them is line 2.',
        'The trace has no end of the session: it was killed, or could not write it.',
      ],
    });
  });

  it('passes a hole of a terabyte, and ends at once with Ctrl+C', patience, async () => {
    const { workspace } = await recorded();
    const start = '{"event_type":"session_start"}\n';
    workspace.write('hole.jsonl', start);
    truncateSync(join(workspace.folder, 'hole.jsonl'), 1024 ** 4);
    const view = await ViewProcess.start(workspace, ['hole.jsonl']);
    const shown = view.line.session ?? '';
    const trace = new ReadStream(await view.open(`/s/${shown}/trace`));
    expect(await trace.until('\n')).toBe(start);
    expect(await view.json(`/s/${shown}`)).toMatchObject({
      notes: ['Line 2 of the trace is longer than 16 MiB.', 'The trace ends in the middle of a line.'],
    });
    view.process.child.kill('SIGINT');
    expect(await view.process.ended).toMatchObject({ code: 0, stderr: '' });
    await trace.untilOver();
  });

  it('fails for a folder that holds no session', patience, async () => {
    const { workspace } = await recorded();
    const { code, stdout, stderr } = await svc(workspace, ['view', '.']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      `error[E-RUN-070]: ${workspace.folder} has neither a trace nor a journal of a session\nhint: name the folder of one session; without a name svc view shows all of this workspace\n`,
    );
  });

  it('fails for anything but a regular file', patience, async () => {
    const { workspace } = await recorded();
    mkdirSync(join(workspace.folder, 'empty.zip'));
    const none = await svc(workspace, ['view', 'none.jsonl']);
    expect([none.code, none.stderr]).toEqual([1, expect.stringMatching(/^error\[E-RUN-070\]: there is nothing at /)]);
    const device = await svc(workspace, ['view', '/dev/zero']);
    expect([device.code, device.stderr]).toEqual([
      1,
      'error[E-IO-001]: cannot open /dev/zero: it is not a regular file\n',
    ]);
  });
});

describe('the page of a running session', () => {
  it('goes on with its trace and its journal until it ends', patience, async () => {
    const running = await capsules.script({ manifest: `trace: { capture: content }\n${staysUp}` });
    const { session_id: id } = running.line;
    const view = await ViewProcess.start(running.workspace, [id]);
    expect(await view.json(`/s/${id}`)).toMatchObject({ live: true, capture: 'content' });
    const trace = new ReadStream(await view.open(`/s/${id}/trace`));
    const journal = new ReadStream(await view.open(`/s/${id}/journal`));
    await trace.until('"event_type":"session_start"');
    await running.send('Paint the shed.');
    await trace.until('"event_type":"task_end"');
    await journal.until('"k":"task-end"');
    expect(trace.isOver).toBe(false);
    await running.terminate();
    const path = tracePath(running.workspace, id);
    expect(await trace.untilOver()).toBe(readFileSync(path, 'utf8'));
    expect(await journal.untilOver()).toMatch(/"k":"close".*\n$/);
    expect(await view.json(`/s/${id}`)).toMatchObject({ live: false, notes: [expect.stringContaining('Commands')] });
  });

  it('ends at once with Ctrl+C, whatever reads it', patience, async () => {
    const running = await capsules.script({ manifest: `trace: { capture: content }\n${staysUp}` });
    const { session_id: id } = running.line;
    const view = await ViewProcess.start(running.workspace, [id]);
    const streams = await Promise.all(
      ['trace', 'journal', 'events', 'now'].map(async (what) => new ReadStream(await view.open(`/s/${id}/${what}`))),
    );
    await Promise.all(streams.map(async (stream) => await stream.until('\n')));
    view.process.child.kill('SIGINT');
    expect(await view.process.ended).toMatchObject({ code: 0, stderr: '' });
    for (const stream of streams) await stream.untilOver();
    expect((await running.send('Paint.')).status.state).toBe('submitted');
  });

  it('answers its question, and everybody sees the same end', patience, async () => {
    const running = await capsules.script(
      {
        manifest: `artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n${staysUp}`,
        script: script(asks('Which colour?'), says('Blue it is.')),
      },
      { SVC_LISTENER_TOKEN: 'token-of-the-listener' },
    );
    const { session_id: id } = running.line;
    const env = { SVC_LISTENER_TOKEN: 'token-of-the-listener' };
    const view = await ViewProcess.start(running.workspace, [id], { env });
    const events = new ReadStream(await view.open(`/s/${id}/events`));
    await events.until('event: snapshot\n');
    const now = new ReadStream(await view.open(`/s/${id}/now`));
    const watching = new SvcProcess(running.workspace, ['watch', id], { env });
    onTestFinished(async () => {
      watching.child.kill('SIGKILL');
      await watching.ended;
    });
    const message = { message: { messageId: 'm1', role: 'user', parts: [{ text: 'Paint.' }] } };
    expect((await view.call(id, 'message/send', message)).status).toBe(200);
    const asked = await events.until('event: question\n');
    const [, taskId = ''] = /"task_id":"(tsk_[0-9a-f]+)"/.exec(asked) ?? [];
    await now.until('"question":{');
    expect(JSON.parse(now.text.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      question: { task: taskId, wait: 'q1', prompt: 'Which colour?' },
      calls: [{ name: 'svc-tool-request-input', about: 'Which colour?', tail: '' }],
      task: taskId,
      turn: 1,
    });
    const answer = await view.call(id, 'tasks/answer', { id: taskId, wait: 'q1', text: 'Blue.' });
    expect(JSON.parse(answer.text)).toMatchObject({ result: { id: taskId, status: { state: 'working' } } });
    await events.until('event: task_settled\n');
    await watching.printed(/Blue it is\./);
    await watching.printed(/\[completed\] session ended/);
    expect(events.text).toContain('"state":"completed","message":"session ended"');
    await now.until('"question":null,"task":null,');
    // The answer that comes second comes too late, there as here.
    const late = await view.call(id, 'tasks/answer', { id: taskId, wait: 'q1', text: 'Red.' });
    expect(JSON.parse(late.text)).toMatchObject({ error: { code: -32_010 } });
    expect((await svc(running.workspace, ['answer', id, 'Red.'], { env })).stderr).toMatch(/^error\[E-RUN-093\]/);
    await running.terminate();
    await now.untilOver();
    expect((await view.ask(`/s/${id}/now`)).status).toBe(410);
    expect(events.text + now.text + answer.text + late.text).not.toContain('token-of-the-listener');
  });

  it('calls no other method, and nothing where it may only look', patience, async () => {
    const running = await capsules.script({ manifest: staysUp });
    const { session_id: id } = running.line;
    const view = await ViewProcess.start(running.workspace, [id]);
    for (const method of ['session/stop', 'tasks/get', 'message/stream', 'stream/watch', 'TASKS/CANCEL', '']) {
      const { status, text } = await view.call(id, method, {});
      expect([method, status, JSON.parse(text)]).toEqual([
        method,
        200,
        { jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'Method not found' } },
      ]);
    }
    const json = { 'content-type': 'application/json' };
    const twice = '{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","method":"session/stop","params":{}}';
    const post = { method: 'POST', headers: json };
    expect((await view.ask(`/s/${id}/rpc`, { ...post, body: twice })).text).toContain('Method not found');
    expect((await view.ask(`/s/${id}/rpc`, { ...post, body: `[${twice}]` })).text).toContain('batches are not served');
    expect((await view.ask(`/s/${id}/rpc`, { method: 'POST', body: twice })).status).toBe(415);
    expect((await view.ask(`/s/${id}/rpc`, { ...post, body: `{"a":"${'x'.repeat(1_048_576)}"}` })).status).toBe(413);
    expect((await view.ask(`/s/${id}/trace`, { ...post, body: twice })).status).toBe(404);
    const looking = await ViewProcess.start(running.workspace, [id, '--read-only']);
    expect(looking.line.read_only).toBe(true);
    const { status, text } = await looking.call(id, 'message/send', {});
    expect([status, text]).toEqual([
      403,
      '{"error":{"message":"This page may only look: svc view runs with --read-only."}}',
    ]);
    expect(await looking.json(`/s/${id}`)).toMatchObject({ live: true, readOnly: true });
    const events = new ReadStream(await looking.open(`/s/${id}/events`));
    await events.until('event: snapshot\n');
  });

  it('never reaches the capsule from a copy, whatever id it has', patience, async () => {
    const running = await capsules.script({ manifest: `trace: { capture: content }\n${staysUp}` });
    const { session_id: id } = running.line;
    await running.send('Paint the shed.');
    const other = scriptCapsule();
    onTestFinished(() => other.remove());
    const copies = join(other.folder, '.svc', 'sessions');
    cpSync(folderOf(running.workspace, id), join(copies, id), { recursive: true });
    cpSync(folderOf(running.workspace, id), join(other.folder, 'copy'), { recursive: true });
    const home = { env: { HOME: running.workspace.home } };
    for (const named of [id, './copy', `.svc/sessions/${id}`, './copy/trace.jsonl']) {
      const view = await ViewProcess.start(other, [named], home);
      expect(view.line.session).toBe(id);
      expect((await view.call(id, 'message/send', {})).status).toBe(410);
      expect((await view.ask(`/s/${id}/events`)).status).toBe(410);
    }
    const own = await ViewProcess.start(running.workspace, [folderOf(running.workspace, id)]);
    expect((await own.call(id, 'message/send', {})).status).toBe(200);
    // From everywhere, by its id, as it runs.
    const away = await ViewProcess.start(scriptCapsule(), [id], home);
    expect(await away.json(`/s/${id}`)).toMatchObject({ live: true });
  });
});
