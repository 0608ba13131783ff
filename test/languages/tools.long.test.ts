import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

import { bringToolchain } from '../../scripts/guest-toolchains.mjs';
import { calls, says, script } from '../support/scripted-turns.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { svc } from '../support/svc-process.ts';

const fixtures = fileURLToPath(new URL('../fixtures/languages/', import.meta.url));
const capsules = useStreamedCapsules();

interface Language {
  readonly name: string;
  /** What `svc new` writes, and the fixture that the test puts in its place. */
  readonly source: string;
  readonly probe: string;
  readonly answers: Readonly<Record<string, string>>;
}

const languages: readonly Language[] = [
  {
    name: 'rust',
    source: 'src/lib.rs',
    probe: 'rust.rs',
    answers: {
      files: 'moved.txt 9 Dear Sam NotFound',
      sockets: 'Permission denied (os error 2)',
      traceback: `the tool probe broke off: wasm trap: wasm \`unreachable\` instruction executed
thread '<unnamed>' (1) panicked at src/lib.rs:31:28:
the reason <place>
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace`,
    },
  },
  {
    name: 'python',
    source: 'app.py',
    probe: 'python.py',
    answers: {
      files: 'moved.txt 9 Dear Sam NotFound',
      sockets: '[Errno 2] Permission denied',
      traceback: `the tool probe broke off: wasm trap: wasm \`unreachable\` instruction executed
Traceback (most recent call last):
  File "/0/app.py", line 22, in run
  File "/0/app.py", line 91, in traceback
ValueError: the reason <place>

thread '<unnamed>' (1) panicked at runtime/src/lib.rs:1280:25:
Python function threw an unexpected exception
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace`,
    },
  },
];

/** What is tried, one call each, and the answers that are the same in every language. */
const trials = ['files', 'clock', 'random', 'http', 'ask', 'tell', 'sockets', 'trap', 'traceback', 'again'] as const;
const answers = {
  clock: 'true <now>',
  random: '8 different',
  http: '200 GET /tea?cups=2',
  ask: 'blue',
  tell: 'told',
  trap: 'the tool probe broke off: wasm trap: wasm `unreachable` instruction executed',
  again: '8 different',
};

describe.each(languages)('a tool in $name', { timeout: 1_200_000 }, ({ name, source, probe, answers: own }) => {
  it('builds as svc new prints it, and reaches files, clocks, chance, HTTP and people, until it breaks off', async (context) => {
    const brought = bringToolchain(name);
    if ('reason' in brought) return context.skip(brought.reason);
    const server = createServer(({ method, url }, response) => response.end(`${method} ${url}`));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    context.onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;

    const workspace = scriptCapsule({
      manifest: `artifacts: [{ name: probe, version: 0.1.0, source: ./probe }]
capabilities: { network: { allow: ["http://127.0.0.1:${port}"] }, filesystem: { scope: in } }
${staysUp}`,
      script: script(
        calls(trials.map((trial) => [trial, 'probe', { try: trial, given: `127.0.0.1:${port}` }])),
        says('Done.'),
      ),
    });
    const env = { PATH: [...brought.path, process.env['PATH'] ?? ''].join(delimiter) };
    const made = await svc(workspace, ['new', 'tool', 'probe', '--lang', name]);
    expect(made).toMatchObject({
      code: 0,
      stderr: `next: cd probe && sh build.sh && svc build, after every change of ${source}\n`,
    });
    const folder = join(workspace.folder, 'probe');
    copyFileSync(join(fixtures, probe), join(folder, source));
    workspace.write(
      'probe/svc.yaml',
      'name: probe\nversion: 0.1.0\nruntime: tool\ndescription: Tries what is there.\n',
    );
    await promisify(execFile)('sh', ['build.sh'], { cwd: folder, env: { ...process.env, ...env } });
    expect(await svc(workspace, ['build', 'probe'])).toMatchObject({ code: 0, stderr: /^packed tool probe@0.1.0, / });

    const capsule = await capsules.from(workspace);
    mkdirSync(join(capsule.line.workdir, 'in'), { recursive: true });
    writeFileSync(join(capsule.line.workdir, 'in', 'offer.txt'), 'Dear Sam\n');
    const earliest = Math.floor(Date.now() / 1000);
    const stream = await capsule.submit('Try it.');
    await stream.status('input-required', 'Which colour?');
    await capsule.send('blue');
    const { frames } = await stream.untilClosed();
    const latest = Math.ceil(Date.now() / 1000);
    const told = (text: string): string =>
      text
        .replace(/^<untrusted-content source=tool:probe>\n([^]*)\n<\/untrusted-content>$/, '$1')
        .replaceAll(`127.0.0.1:${port}`, '<place>')
        .replaceAll(/\b\d{10}\b/g, (digits) => (earliest <= +digits && +digits <= latest ? '<now>' : digits));
    const results = frames.flatMap(({ data }) => (data['artifact'] === undefined ? [] : [data['artifact'] as Result]));
    expect(Object.fromEntries(results.map((each) => [each.tool_call_id, told(each.content)]))).toEqual({
      ...answers,
      ...own,
    });
    expect(results.filter((each) => each.is_error).map((each) => each.tool_call_id)).toEqual([
      'sockets',
      'trap',
      'traceback',
    ]);
    expect(frames.find(({ event }) => event === 'text')?.data).toMatchObject({ text: 'told to watchers' });
    expect(readFileSync(join(capsule.line.workdir, 'in', 'made', 'moved.txt'), 'utf8')).toBe('Dear Sam\n');
  });
});

interface Result {
  readonly tool_call_id: string;
  readonly content: string;
  readonly is_error: boolean;
}
