import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

import { onlySession, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { useCopies } from '../support/copied-workspaces.ts';
import { runsCommand, scriptCapsule } from '../support/script-capsule.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { svc, type SvcOptions, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const patience = { timeout: 60_000 };
const capsule = useCapsules();
const copyOf = useCopies();
const capsules = useStreamedCapsules();
const secret = 'canary-of-the-service-0123456789';

async function recorded(
  command = 'mkdir -p out && echo blue > out/colour.txt && printf "\\377\\000" > out/odd.bin',
): Promise<{
  readonly workspace: Workspace;
  readonly id: string;
  readonly folder: string;
}> {
  const workspace = await copyOf(command, async () => {
    const painted = scriptCapsule({
      manifest: 'trace: { capture: content }\ncapabilities: { shell: { allow: [sh] } }\n',
      script: runsCommand(command),
    });
    expect((await svc(painted, ['run', '--task', 'Paint the shed.'])).code).toBe(0);
    return painted;
  });
  const id = onlySession(workspace);
  return { workspace, id, folder: join(workspace.folder, '.svc', 'sessions', id) };
}

/** The data elements of an exported page, as the page decodes them. */
function elementsOf(html: string): Readonly<Record<string, string>> {
  const found = html.matchAll(/<script type="application\/octet-stream" id="([\w-]+)">([\w+/=]*)<\/script>/g);
  return Object.fromEntries(
    [...found].map(([, id = '', base64 = '']) => {
      const bytes = Buffer.from(base64, 'base64');
      return [id, (id === 'svc-facts' ? bytes : gunzipSync(bytes)).toString('utf8')];
    }),
  );
}

function linesOf(text = ''): Record<string, unknown>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The lines of the trace that an exported page holds. */
function traceIn(elements: Readonly<Record<string, string>>): Record<string, unknown>[] {
  const lines = linesOf(elements['svc-lines']) as unknown as { line: { text: string } }[];
  return lines.map(({ line }) => JSON.parse(line.text) as Record<string, unknown>);
}

/** Returns the number and the texts of each element that is one of a step. */
function stepsIn(elements: Readonly<Record<string, string>>): object[] {
  const lines = linesOf(elements['svc-lines']);
  return lines.filter(({ step }) => step !== null).map(({ step, parts }) => ({ step, parts }));
}

async function exported(
  workspace: Workspace,
  args: readonly string[],
  options?: SvcOptions,
): Promise<Readonly<Record<string, string>>> {
  const { code, stderr } = await svc(workspace, ['view', '--export', 'out.html', ...args], options);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^(?:adds .*\n)?$/)]);
  return elementsOf(readFileSync(join(workspace.folder, 'out.html'), 'utf8'));
}

describe('svc view --export', () => {
  it('writes the trace, and the steps of its lines without their texts', patience, async () => {
    const { workspace, id } = await recorded();
    const { code, stdout, stderr } = await svc(workspace, ['view', '--export', 'page.html']);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `${join(workspace.folder, 'page.html')}\n`,
      stderr: '',
    });
    const html = readFileSync(join(workspace.folder, 'page.html'), 'utf8');
    expect(statSync(join(workspace.folder, 'page.html')).mode & 0o777).toBe(0o600);
    const elements = elementsOf(html);
    expect(Object.keys(elements)).toEqual(['svc-facts', 'svc-rows', 'svc-lines', 'svc-answers']);
    const trace = linesOf(readFileSync(tracePath(workspace, id), 'utf8'));
    expect(traceIn(elements)).toEqual(trace);
    const [block] = linesOf(elements['svc-rows']) as unknown as { rows: { names: string[]; kind: number[] } }[];
    expect([block?.rows.kind.length, block?.rows.names.slice(0, 3)]).toEqual([
      trace.length,
      ['session', 'task', 'attempt'],
    ]);
    const why = 'Not in this file: it was exported without texts.';
    const parts = [{ kind: 'output', text: { kind: 'none', why } }];
    expect(stepsIn(elements)).toEqual([
      { step: 1, parts },
      { step: 2, parts },
      { step: 3, parts },
    ]);
    expect(linesOf(elements['svc-answers'])).toEqual([
      ['changes', []],
      [expect.stringMatching(/^result\/tsk_/), { kind: 'none', why }],
    ]);
    const listed = await svc(workspace, ['sessions', '--json']);
    // Whether a session waits for a person is asked of one that runs.
    const { asks, ...row } = JSON.parse(listed.stdout) as Record<string, unknown>;
    expect(asks).toBe(false);
    expect(JSON.parse(elements['svc-facts'] ?? '')).toEqual({
      id,
      live: false,
      readOnly: true,
      capture: 'content',
      has: { trace: true, journal: true, files: false },
      notes: ['Commands of the session could have written its journal: it ran with less than scoped containment.'],
      notStopped: expect.arrayContaining(['A bug of the kernel can undo all of this.']) as unknown,
      granted: expect.objectContaining({ limits: expect.any(Array) as unknown }) as unknown,
      row,
    });
    // It asks nobody.
    expect(/<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(html)?.[1]).toMatch(
      /^default-src 'none'; script-src 'sha256-[\w+/=]{44}'; style-src 'sha256-[\w+/=]{44}'; worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types svc$/,
    );
  });

  it('adds texts and files on request, and says before how much that is', patience, async () => {
    const { workspace, id, folder } = await recorded(
      'mkdir -p out && echo blue | tee out/colour.txt && printf "\\377\\000" > out/odd.bin',
    );
    const { stderr, stdout } = await svc(workspace, [
      'view',
      id.slice(-4),
      '--export',
      'a.html',
      '--bodies',
      '--files',
      '--json',
    ]);
    const html = readFileSync(join(workspace.folder, 'a.html'), 'utf8');
    const elements = elementsOf(html);
    const journal = linesOf(readFileSync(join(folder, 'journal.jsonl'), 'utf8'));
    // What the model was asked is not shown, and not given away.
    const shown = new Set(journal.map(({ k, value, result }) => (k === 'end' ? value : k === 'task-end' ? result : 0)));
    const bodies = journal.filter(({ k, sha256 }) => k === 'body' && shown.has(sha256));
    const text = (said: string): object => ({ kind: 'text', text: said, more: 0 });
    expect(Object.values(linesOf(elements['svc-answers'])[1] ?? {})[1]).toEqual(text('Done.'));
    expect(stepsIn(elements)).toEqual([
      { step: 1, parts: [] },
      { step: 2, parts: [{ kind: 'output', text: text(expect.stringMatching(/stdout:\nblue\n/) as string) }] },
      { step: 3, parts: [{ kind: 'text', text: text('Done.') }] },
    ]);
    expect(linesOf(elements['svc-files'])).toEqual([
      { path: 'out/colour.txt', bytes: 5, text: 'blue\n' },
      { path: 'out/odd.bin', bytes: 2, text: null },
      { path: 'out/result.txt', bytes: 5, text: 'Done.' },
    ]);
    const bytes = bodies.reduce((sum, body) => sum + Number(body['bytes']), 12);
    expect(stderr).toBe(`adds ${bodies.length} texts and 3 files, ${bytes} B\n`);
    expect(JSON.parse(stdout)).toEqual({
      path: join(workspace.folder, 'a.html'),
      session: id,
      texts: bodies.length,
      files: 3,
      added_bytes: bytes,
    });
    await svc(workspace, ['view', id, '--export', 'b.html', '--bodies', '--files']);
    expect(readFileSync(join(workspace.folder, 'b.html'), 'utf8')).toBe(html);
  });

  it('takes current secrets out of all of it', patience, async () => {
    const { workspace } = await recorded(`mkdir -p out && echo ${secret} > out/key.txt && echo ${secret}`);
    const plain = await exported(workspace, ['--bodies', '--files']);
    for (const element of ['svc-rows', 'svc-lines', 'svc-files']) expect(plain[element]).toContain(secret);
    const clean = await exported(workspace, ['--bodies', '--files'], { env: { SERVICE_TOKEN: secret } });
    expect(Object.keys(clean)).toEqual(['svc-facts', 'svc-rows', 'svc-lines', 'svc-answers', 'svc-files']);
    expect(Object.values(clean).join('')).not.toContain('canary');
    expect(linesOf(clean['svc-files'])[0]).toEqual({ path: 'out/key.txt', bytes: 33, text: '[secret]\n' });
    expect(clean['svc-lines']).toBe(plain['svc-lines']?.replaceAll(secret, '[secret]'));
  });

  it('writes a session that runs as far as it has come', patience, async () => {
    const running = await capsules.script({ manifest: `trace: { capture: content }\n${staysUp}` });
    const { session_id: id } = running.line;
    const elements = await exported(running.workspace, [id]);
    expect(JSON.parse(elements['svc-facts'] ?? '')).toMatchObject({
      live: false,
      notes: ['The session was running when this was exported.', expect.any(String)],
      row: { status: 'running' },
    });
    expect(traceIn(elements)[0]).toMatchObject({ event_type: 'session_start' });
  });

  it('writes a damaged session as far as its lines are whole, and says so in the page', patience, async () => {
    const { workspace, id, folder } = await recorded();
    const trace = tracePath(workspace, id);
    truncateSync(trace, statSync(trace).size - 10);
    const journal = join(folder, 'journal.jsonl');
    writeFileSync(journal, readFileSync(journal, 'utf8').replace('"data":"Done."', '"data":"Boat."'));
    const elements = await exported(workspace, ['--bodies']);
    expect(traceIn(elements).at(-1)).toMatchObject({ event_type: 'task_end' });
    expect(JSON.parse(elements['svc-facts'] ?? '')).toMatchObject({
      notes: [
        'The trace ends in the middle of a line.',
        'The trace has no end of the session: it was killed, or could not write it.',
        'Commands of the session could have written its journal: it ran with less than scoped containment.',
        expect.stringMatching(/^The journal is damaged: record \d+, at byte \d+, does not fit the chain\.$/),
      ],
    });
    // The text that was changed is another than its hash says: it is not given away as what it is not.
    expect(elements['svc-answers']).toContain('The journal is damaged: record');
    expect(Object.values(elements).join('')).not.toContain('Boat.');
  });

  it('writes a trace of anybody, and refuses what an export cannot hold', patience, async () => {
    const { workspace } = await recorded();
    const line = `{"event_type":"task_received","text":"${'<script>alert(1)</script>'.repeat(400_000)}"}\n`;
    workspace.write('trace.jsonl', line);
    const elements = await exported(workspace, ['trace.jsonl']);
    const [{ texts } = {}] = linesOf(elements['svc-lines']) as { texts?: { text: object }[] }[];
    const longest = 1024 * 1024;
    expect(texts?.[0]?.text).toEqual({
      kind: 'text',
      text: '<script>alert(1)</script>'.repeat(400_000).slice(0, longest),
      more: 25 * 400_000 - longest,
    });
    writeFileSync(join(workspace.folder, 'long.jsonl'), '');
    truncateSync(join(workspace.folder, 'long.jsonl'), 501 * 1024 * 1024);
    const before = readFileSync(join(workspace.folder, 'out.html'), 'utf8');
    const { code, stderr } = await svc(workspace, ['view', 'long.jsonl', '--export', 'out.html']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error\[E-RUN-068\]: .*500 MiB\n/)]);
    expect(readFileSync(join(workspace.folder, 'out.html'), 'utf8')).toBe(before);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'leaves what was there when the disk is full (needs root)',
    patience,
    async () => {
      const workspace = capsule();
      const line = (): string =>
        JSON.stringify({ event_type: 'tool_call', arguments: randomBytes(1000).toString('base64') });
      workspace.write('trace.jsonl', Array.from({ length: 200 }, () => `${line()}\n`).join(''));
      const small = join(workspace.folder, 'small');
      mkdirSync(small);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32k', 'tmpfs', small]);
      try {
        writeFileSync(join(small, 'out.html'), 'before');
        const { code, stderr } = await svc(workspace, ['view', 'trace.jsonl', '--export', 'small/out.html']);
        expect([code, stderr]).toEqual([
          1,
          expect.stringMatching(/^error\[E-IO-001\]: cannot write to .*: no space left on the device\n/),
        ]);
        expect(readdirSync(small)).toEqual(['out.html']);
        expect(readFileSync(join(small, 'out.html'), 'utf8')).toBe('before');
      } finally {
        execFileSync('umount', [small]);
      }
    },
  );

  it('takes the place of no device and no pipe', patience, async () => {
    const { workspace } = await recorded();
    const pipe = join(workspace.folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const { code, stdout, stderr } = await svc(workspace, ['view', '--export', 'pipe']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(`error[E-IO-001]: cannot write ${pipe}: it is a device, a pipe or a socket\n`);
    expect(statSync(pipe).isFIFO()).toBe(true);
  });

  it('leaves nothing half-written when it is killed', patience, async () => {
    const { workspace } = await recorded();
    const line = `{"event_type":"tool_call","arguments":"${'0123456789'.repeat(100)}"}\n`;
    workspace.write('trace.jsonl', line.repeat(100_000));
    const into = join(workspace.folder, 'into');
    mkdirSync(into);
    writeFileSync(join(into, 'out.html'), 'before');
    const process = new SvcProcess(workspace, ['view', 'trace.jsonl', '--export', 'into/out.html']);
    await expect.poll(() => readdirSync(into).length, { timeout: 20_000, interval: 1 }).toBe(2);
    process.child.kill('SIGKILL');
    await process.ended;
    expect(readFileSync(join(into, 'out.html'), 'utf8')).toBe('before');
    expect(readdirSync(into).filter((name) => !name.startsWith('.svc-tmp-'))).toEqual(['out.html']);
  });

  it('leaves nothing at all behind after Ctrl+C', patience, async () => {
    const { workspace } = await recorded();
    const line = `{"event_type":"tool_call","arguments":"${'0123456789'.repeat(100)}"}\n`;
    workspace.write('trace.jsonl', line.repeat(200_000));
    const into = join(workspace.folder, 'into');
    mkdirSync(into);
    writeFileSync(join(into, 'out.html'), 'before');
    const process = new SvcProcess(workspace, ['view', 'trace.jsonl', '--export', 'into/out.html']);
    await expect.poll(() => readdirSync(into).length, { timeout: 20_000, interval: 1 }).toBe(2);
    process.child.kill('SIGINT');
    expect(await process.ended).toMatchObject({ code: 130, stdout: '', stderr: 'interrupted\n' });
    expect(readdirSync(into)).toEqual(['out.html']);
    expect(readFileSync(join(into, 'out.html'), 'utf8')).toBe('before');
  });

  it('takes one request at a time', patience, async () => {
    const { workspace } = await recorded();
    const usage = async (...args: readonly string[]) => (await svc(workspace, ['view', ...args])).stderr;
    expect(await usage('--bodies')).toMatch(/^error: --bodies and --files go with --export\n/);
    expect(await usage('--export', 'a.html', '--open')).toMatch(
      /^error: --port, --open and --read-only are for a page/,
    );
    expect(await usage('--port', '65536')).toMatch(/it is no whole number from 0 to 65535\./);
  });
});
