import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

import { calls, says, script } from '../support/scripted-turns.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { svc } from '../support/svc-process.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const fixtures = join(checkout, 'test', 'fixtures', 'languages');
const run = promisify(execFile);
const capsules = useStreamedCapsules();

interface Language {
  readonly name: string;
  /** What `svc new` writes, and the fixture that the test puts in its place. */
  readonly source: string;
  readonly probe: string;
  /** What builds it where `svc new` writes nothing for it. */
  readonly command?: string;
  readonly answers: Readonly<Record<string, string>>;
}

const languages: readonly Language[] = [
  {
    name: 'rust',
    source: 'src/lib.rs',
    probe: 'rust.rs',
    answers: {
      greets: 'Hello, Kim!',
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
      greets: 'Hello, Kim!',
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
  {
    name: 'c',
    source: 'tool.c',
    probe: 'c.c',
    answers: {
      greets: 'Hello! You said {"who":"Kim"}',
      traceback: `the tool probe broke off: wasm trap: wasm \`unreachable\` instruction executed
Assertion failed: !"the reason" (tool.c: exports_svc_tool_run_run: 144)`,
    },
  },
  {
    name: 'starlingmonkey',
    source: 'component.js',
    probe: 'starlingmonkey.js',
    command: `componentize-js component.js --wit ${join(checkout, 'packages', 'guest', 'wit')} -n svc:worlds/tool -o component.wasm`,
    answers: {
      trap: `the tool probe broke off: wasm trap: wasm \`unreachable\` instruction executed
expected a string, received [number]
Stack:
  _utf8AllocateAndEncode@<made>/initializer.js:145:11
  export_run_0_1_0$run@<made>/initializer.js:13742:41

Redirecting call to abort() to mozalloc_abort`,
      traceback: `the tool probe broke off: wasm trap: wasm \`unreachable\` instruction executed
the reason <place>
Stack:
  traceback@component.js:59:11
  run@component.js:11:60
  export_run_0_1_0$run@<made>/initializer.js:13719:15

Redirecting call to abort() to mozalloc_abort`,
    },
  },
];

/** What is tried, one call each, and the answers that are the same in every language. */
const trials = ['files', 'clock', 'random', 'http', 'ask', 'tell', 'sockets', 'trap', 'traceback', 'again'] as const;
const answers = {
  files: 'moved.txt 9 Dear Sam NotFound',
  clock: 'true <now>',
  random: '8 different',
  http: '200 GET /tea?cups=2',
  ask: 'blue',
  tell: 'told',
  trap: 'the tool probe broke off: wasm trap: wasm `unreachable` instruction executed',
  again: '8 different',
};

describe.each(languages)(
  'a tool in $name',
  { timeout: 1_200_000 },
  ({ name, source, probe, command, answers: own }) => {
    it('builds as svc new prints it, and reaches files, clocks, chance, HTTP and people, until it breaks off', async (context) => {
      if (process.env['BUILD_SLOW'] === undefined) {
        return context.skip('brings and builds a toolchain, which takes minutes, if BUILD_SLOW is set');
      }
      const { stdout } = await run(process.execPath, [join(checkout, 'scripts', 'guest-toolchains.mjs'), name]);
      const [, skipped, path = ''] = /^\w+ (?:skipped: (.+)|ready: (.*))\n$/.exec(stdout) ?? expect.fail(stdout);
      if (skipped !== undefined) return context.skip(skipped);
      const server = createServer(({ method, url }, response) => response.end(`${method} ${url}`));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      context.onTestFinished(() => void server.close());
      const { port } = server.address() as AddressInfo;

      const expected: Readonly<Record<string, string>> = { ...answers, ...own };
      const tried = trials.filter((trial) => trial in expected);
      const greets = 'greets' in expected ? [['greets', 'greeter', { who: 'Kim' }] as const] : [];
      const names = [...greets.map(([, tool]) => tool), 'probe'];
      const workspace = scriptCapsule({
        manifest: `artifacts: [${names.map((each) => `{ name: ${each}, version: 0.1.0, source: ./${each} }`).join()}]
capabilities: { network: { allow: ["http://127.0.0.1:${port}"] }, filesystem: { scope: in } }
${staysUp}`,
        script: script(
          calls([
            ...greets,
            ...tried.map((trial) => [trial, 'probe', { try: trial, given: `127.0.0.1:${port}` }] as const),
          ]),
          says('Done.'),
        ),
      });
      const env = {
        ...process.env,
        PATH: [path, process.env['PATH'] ?? ''].filter((each) => each !== '').join(delimiter),
      };
      const folder = join(workspace.folder, 'probe');
      const build = async (): Promise<void> => {
        await run('sh', ['-c', command ?? 'sh build.sh'], { cwd: folder, env });
        expect(await svc(workspace, ['build', 'probe'])).toMatchObject({
          code: 0,
          stderr: expect.stringMatching(/^packed tool probe@0\.1\.0, /) as string,
        });
      };
      if (command === undefined) {
        expect(await svc(workspace, ['new', 'tool', 'probe', '--lang', name])).toMatchObject({
          code: 0,
          stderr: `next: cd probe && sh build.sh && svc build, after every change of ${source}\n`,
        });
        await build();
        const made = readFileSync(join(folder, 'svc.yaml'), 'utf8');
        workspace.write('greeter/svc.yaml', made.replace('name: probe', 'name: greeter'));
        copyFileSync(join(folder, 'component.wasm'), join(workspace.folder, 'greeter', 'component.wasm'));
      }
      workspace.write(
        'probe/svc.yaml',
        'name: probe\nversion: 0.1.0\nruntime: tool\ndescription: Tries what is there.\n',
      );
      copyFileSync(join(fixtures, probe), join(folder, source));
      await build();

      const capsule = await capsules.from(workspace);
      mkdirSync(join(capsule.line.workdir, 'in'), { recursive: true });
      writeFileSync(join(capsule.line.workdir, 'in', 'offer.txt'), 'Dear Sam\n');
      const earliest = Math.floor(Date.now() / 1000);
      const stream = await capsule.submit('Try it.');
      await stream.status('input-required', 'Which colour?');
      await capsule.send('blue');
      const { frames } = await stream.untilClosed();
      const latest = Math.ceil(Date.now() / 1000);
      const plain = (text: string): string =>
        text
          .replace(/^<untrusted-content source=tool:\w+>\n([^]*)\n<\/untrusted-content>$/, '$1')
          .replaceAll(`127.0.0.1:${port}`, '<place>')
          .replaceAll(/\/tmp\/[0-9a-f]+\/sources/g, '<made>')
          .replaceAll(/\b\d{10}\b/g, (digits) => (earliest <= +digits && +digits <= latest ? '<now>' : digits));
      const results = frames.flatMap(({ data }) =>
        data['artifact'] === undefined ? [] : [data['artifact'] as Result],
      );
      expect(Object.fromEntries(results.map((each) => [each.tool_call_id, plain(each.content)]))).toEqual(expected);
      expect(results.filter((each) => each.is_error).map((each) => each.tool_call_id)).toEqual(
        tried.filter((trial) => ['sockets', 'trap', 'traceback'].includes(trial)),
      );
      expect(frames.find(({ event }) => event === 'text')?.data).toMatchObject({ text: 'told to watchers' });
      expect(readFileSync(join(capsule.line.workdir, 'in', 'made', 'moved.txt'), 'utf8')).toBe('Dear Sam\n');
    });
  },
);

interface Result {
  readonly tool_call_id: string;
  readonly content: string;
  readonly is_error: boolean;
}
