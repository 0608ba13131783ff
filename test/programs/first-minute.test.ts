import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it, onTestFinished } from 'vitest';

import { endpointFault } from '@svc/kit/net/endpoint.ts';
import { scriptLineSchemas } from '@svc/svc/run/script/run-result.ts';
import { startFakeOllama } from '@svc/testing/fake-ollama.ts';
import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import { calls, refuses, says } from '@svc/testing/fake-reply.ts';
import { FirstMinute, type TaskEnd } from '../support/first-minute.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';

let opened: FirstMinute[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.dispose();
});

/** What is the same in every class is tried in the one that every host has. */
function fresh(name = 'shop'): FirstMinute {
  const minute = new FirstMinute({ name, ceiling: 'advisory' });
  opened.push(minute);
  return minute;
}

function urlOf(address: string): string {
  return `http://${address.includes(':') ? `[${address}]` : address}`;
}

/** Has 200 ms, which a busy machine may not give it: so often is it tried. */
async function untilFound(run: () => Promise<TaskEnd>): Promise<TaskEnd> {
  for (let left = 5; ; left -= 1) {
    const end = await run();
    if (left === 0 || !end.stderr.includes('E-MAN-004')) return end;
  }
}

const manifest = `name: demo
version: 1.2.3
inference:
  model: scripted
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
`;
const script = '- content: [{ type: text, text: From the manifest. }]\n  stop_reason: end_turn\n';

describe('svc "task" in a folder without a manifest', () => {
  it('does it with a local model, and leaves nothing in the folder', async () => {
    const minute = fresh();
    minute.write({ 'a.txt': 'a' });
    await minute.plays();
    const end = await untilFound(async () => await minute.svc(['what is this?'], { env: { SVC_MODEL: undefined } }));
    expect(end).toEqual({ code: 0, stdout: 'Done.\n', stderr: '' });
    expect(minute.asked.task).toBe('what is this?');
    expect(readdirSync(minute.folder)).toEqual(['a.txt']);
    expect(readdirSync(minute.home)).toEqual(['.svc']);
    expect(minute.model?.requests[0]?.json).toMatchObject({ model: 'qwen3:8b' });
  });

  it('takes what is piped in too, and is the same with -p', async () => {
    const minute = fresh();
    await minute.plays();
    expect(await minute.svc(['-p', 'What?'], { input: 'some data\n' })).toEqual({
      code: 0,
      stdout: 'Done.\n',
      stderr: '',
    });
    expect(minute.asked.task).toBe('What?\n\nsome data\n');
    const { system, tools } = minute.asked;
    await minute.plays();
    await minute.svc(['what is it'], { input: 'some data\n' });
    expect(minute.asked).toEqual({ system, tools, task: 'what is it\n\nsome data\n' });
  });

  it('asks a server that SVC_MODEL names for the model that it names, without a key', async () => {
    const minute = fresh();
    await using server = await startFakeOpenAi([says('Hello.')]);
    const env = {
      SVC_MODEL: `${server.endpoint}/org/some-model`,
      OPENAI_API_KEY: 'sk-mine',
      ANTHROPIC_API_KEY: 'sk-other',
    };
    expect(await minute.svc(['say hello'], { env })).toMatchObject({ code: 0, stdout: 'Hello.\n' });
    const [request] = server.requests;
    expect(request?.json).toMatchObject({ model: 'org/some-model' });
    expect(request?.headers['authorization']).toBeUndefined();
    expect(JSON.stringify([request?.headers, request?.body])).not.toMatch(/sk-/);
  });

  it.each<
    [
      how: string,
      named: (at: string) => { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> },
    ]
  >([
    ['--key-env', (at) => ({ args: ['--model', `${at}/some-model`, '--key-env', 'TEAM_KEY'], env: {} })],
    [
      'OPENAI_BASE_URL',
      (at) => ({
        args: ['--model', 'openai/some-model'],
        env: { OPENAI_BASE_URL: `${at}/v1`, OPENAI_API_KEY: 'sk-team-0123456789' },
      }),
    ],
  ])('sends the key of %s to its server, and keeps it out of everything else', async (_, named) => {
    const minute = fresh();
    await using server = await startFakeOpenAi([says('Your key is sk-team-0123456789.')], {
      key: 'sk-team-0123456789',
    });
    const { args, env } = named(server.endpoint);
    const given = { SVC_MODEL: undefined, TEAM_KEY: 'sk-team-0123456789', OPENAI_API_KEY: 'sk-other', ...env };
    const end = await minute.svc([...args, 'say hello'], { env: given });
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(server.requests[0]?.headers['authorization']).toBe('Bearer sk-team-0123456789');
    const left = readdirSync(minute.home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const kept = left.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1')).join('\n');
    expect(`${end.stdout}${kept}`).not.toMatch(/sk-team|sk-other/);
    const made = await minute.svc(['new', 'capsule', 'own', '--from', minute.sessions[0] ?? '']);
    expect(made.code).toBe(0);
    const variable = args.includes('--key-env') ? 'TEAM_KEY' : 'OPENAI_API_KEY';
    expect(readFileSync(join(minute.folder, 'own', 'svc.yaml'), 'utf8')).toContain(`api_key: \${${variable}}`);
  });

  it('sends no key to where the server that was named redirects', async () => {
    const minute = fresh();
    await using elsewhere = await startFakeOpenAi([says('Mine.')]);
    const redirecting = createServer((request, response) => {
      request.resume();
      response.writeHead(307, { location: `${elsewhere.endpoint}/v1/chat/completions` }).end();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void redirecting.close());
    await once(redirecting, 'listening');
    const { port } = redirecting.address() as AddressInfo;
    const model = ['--model', `http://127.0.0.1:${port}/m`, '--key-env', 'TEAM_KEY'];
    const { code, stderr } = await minute.svc([...model, 'say hello'], { env: { TEAM_KEY: 'sk-team-0123456789' } });
    expect(code).toBe(1);
    expect(stderr).toMatch(/\nhint: what answers there sends requests elsewhere, and svc does not follow: /);
    expect(elsewhere.requests).toEqual([]);
  });

  it('asks a server of a private network in plain text only with --insecure-http, and says so', async (context) => {
    const nets = Object.values(networkInterfaces()).flat();
    const own = nets.find(
      (net) => net !== undefined && endpointFault(urlOf(net.address), true) === undefined && !net.internal,
    );
    context.skip(own === undefined, 'needs an address of a private network');
    const minute = fresh();
    await using server = await startFakeOpenAi([says('Hello.')]);
    const { port } = new URL(server.endpoint);
    const relay = createTcpServer((socket) => {
      const onward = connect(Number(port), '127.0.0.1');
      socket.on('error', () => onward.destroy());
      onward.on('error', () => socket.destroy());
      socket.pipe(onward).pipe(socket);
    }).listen(0, own?.address);
    onTestFinished(() => void relay.close());
    await once(relay, 'listening');
    const at = `${urlOf(own?.address ?? '')}:${(relay.address() as AddressInfo).port}`;
    const refused = await minute.svc(['--model', `${at}/m`, 'say hello']);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('\nhint: add --insecure-http where ') as string,
    });
    expect(await minute.svc(['--model', `${at}/m`, '--insecure-http', 'say hello'])).toMatchObject({
      code: 0,
      stdout: 'Hello.\n',
    });
    const text = minute.ofSession('svc.yaml');
    expect(text).toMatch(/^ {2}insecure_http: true/m);
    writeFileSync(join(minute.folder, 'svc.yaml'), text.replace(/^ {2}insecure_http.*\n/m, ''));
    const unsaid = await minute.svc(['run', '--task', 'x']);
    expect(unsaid.stderr).toMatch(
      /error\[E-MAN-003\]: inference\.endpoint must be https, or http to a loopback address/,
    );
  }, 60_000);

  it('says what can be done where the provider does not take the key', async () => {
    const minute = fresh();
    await using server = await startFakeOpenAi([], { key: 'sk-right' });
    const env = { SVC_MODEL: `${server.endpoint}/some-model` };
    const { code, stderr } = await minute.svc(['say hello'], { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error\[E-RUN-059\]: the task failed: provider answered 401: [^\n]*\nhint: it wants a key: --key-env names [^\n]*\n$/,
    );
  });

  it('says how an answer that was cut gets more room', async () => {
    const minute = fresh();
    await minute.plays({ ...says('One, two'), finish: 'length' });
    const { stdout, stderr } = await minute.svc(['-p', 'Count.']);
    expect(stdout).toBe('One, two\n');
    expect(stderr).toMatch(
      /^warning\[W-RUN-171\]: .*\nhint: raise inference\.max_tokens in a manifest that svc new capsule <name> --from <session> makes, /,
    );
  });

  it('names the three shortest ways where there is no model, and asks nothing', async () => {
    const minute = fresh();
    const env = { OLLAMA_HOST: '127.0.0.1:9', SVC_MODEL: undefined };
    const { code, stdout, stderr } = await minute.svc(['say hello'], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      'error[E-MAN-004]: no model is named, no key is set, and no model answers at http://127.0.0.1:9\n' +
        'hint: export ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama with a model, or name one: svc --model http://localhost:8000/<model> "<task>"\n',
    );
    expect(existsSync(join(minute.home, '.svc', 'adhoc'))).toBe(false);
  });

  it('starts no MCP server where nothing would hold it', async () => {
    const minute = fresh();
    await minute.plays();
    const { code, stderr } = await minute.svc(['--mcp', 'node server.mjs', 'what is this?']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^error\[E-CAP-027\]: /) as string });
    expect(minute.model?.requests).toEqual([]);
  });

  it('sums up before the context is full that --context names', async () => {
    const minute = fresh();
    minute.write({ 'long.txt': 'line of a long file\n'.repeat(1500) });
    await minute.plays(calls('svc-tool-editor', { command: 'read', path: 'project/long.txt' }));
    expect(await minute.svc(['--context', '6000', 'read it'])).toMatchObject({ code: 0, stdout: 'Done.\n' });
    const [result = ''] = minute.results;
    expect(result).toContain('line of a long file');
    expect(result.length).toBeLessThan(4000);
    expect(minute.ofSession('trace.jsonl')).toContain('"compaction"');
    expect(await minute.svc(['--context', '100', 'read it'])).toMatchObject({ code: 2 });
  });

  it('sums up once what the model refuses as too long, and says so, where nobody has said what it takes', async () => {
    const minute = fresh();
    minute.write({ 'long.txt': 'line of a long file\n'.repeat(1500) });
    const full = refuses(400, "This model's maximum context length is 8192 tokens.");
    await minute.plays(calls('svc-tool-editor', { command: 'read', path: 'project/long.txt' }), full);
    expect(await minute.svc(['read it'])).toEqual({ code: 0, stdout: 'Done.\n', stderr: '' });
    expect(minute.results[0]?.length).toBeLessThan(4000);
    const [line] = minute.ofSession('trace.jsonl').match(/.*"compaction".*/) ?? [];
    expect(JSON.parse(line ?? '')).toMatchObject({ outcome: 'replaced', max_tokens: 8192 });
    const shown = await minute.svc(['trace', 'show', minute.sessions[0] ?? '']);
    expect(shown.stdout).toContain('\n- svc-hook-compact has shortened the conversation for the model\n\u2502 Done.\n');

    await minute.plays(calls('svc-tool-editor', { command: 'read', path: 'project/long.txt' }), full, full);
    const failed = await minute.svc(['read it again']);
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toMatch(/maximum context length is 8192 tokens/);
    expect(minute.model?.requests).toHaveLength(3);
  });

  it('does not read .env, whatever it holds', async () => {
    const minute = fresh();
    minute.write({ '.env': 'SVC_MODEL=http://127.0.0.1:9/x\nOPENAI_API_KEY=sk-folder\n' });
    await minute.plays();
    expect(await minute.svc(['say hello'])).toMatchObject({ code: 0, stdout: 'Done.\n' });
  });

  it('reads the folder and gives no command where nothing would hold one, and says so', async () => {
    const minute = fresh();
    minute.write({ 'src/cart.js': 'total\n', '.env': 'SECRET=1' });
    const edit = (input: object, id: string): ReturnType<typeof calls> => calls('svc-tool-editor', input, id);
    await minute.plays(
      calls('ls', { command: '' }),
      edit({ command: 'list', recursive: true }, 'a'),
      edit({ command: 'search', pattern: 'total' }, 'b'),
      edit({ command: 'read', path: 'project/src/cart.js' }, 'c'),
      edit({ command: 'read', path: 'project/.env' }, 'd'),
      edit({ command: 'write', path: 'project/src/cart.js', content: 'mine' }, 'e'),
      edit({ command: 'write', path: 'notes.txt', content: 'mine' }, 'f'),
    );
    const { code, stdout, stderr } = await minute.svc(['what is this?', '--allow', 'node']);
    expect({ code, stdout, tools: minute.asked.tools }).toEqual({
      code: 0,
      stdout: 'Done.\n',
      tools: ['svc-tool-editor'],
    });
    expect(minute.asked.system).toMatch(/^You can run no commands: /m);
    expect(minute.asked.system).toMatch(
      /^The tool svc-tool-editor reads, lists and searches files; its write and patch /m,
    );
    const [, listed, found, read, ...refused] = minute.results;
    expect(listed?.split('\n')).toContain('project/src/cart.js');
    expect(found?.split('\n')[0]).toBe('project/src/cart.js:1: total');
    expect(read).toBe('total');
    expect(refused).toEqual([
      'project/.env may not be accessed',
      'project/src/cart.js cannot be changed: the working directory is read-only',
      'notes.txt cannot be changed: the working directory is read-only',
    ]);
    expect(readFileSync(join(minute.folder, 'src/cart.js'), 'utf8')).toBe('total\n');
    expect(stderr).toBe(
      'refused: ls (no class of this host holds commands)\n' +
        'refused: .env (masked, and no flag shows it)\n' +
        'refused: ./shop (read only): --write\n',
    );
  }, 60_000);

  it('changes files with --write, except for masked ones, also where it has no command', async () => {
    const minute = fresh();
    minute.write({ 'src/a.txt': 'old', '.env': 'SECRET=1' });
    const edit = (input: object, id: string): ReturnType<typeof calls> => calls('svc-tool-editor', input, id);
    await minute.plays(
      edit({ command: 'write', path: 'project/src/a.txt', content: 'new' }, 'a'),
      edit({ command: 'read', path: 'project/.env' }, 'b'),
      edit({ command: 'write', path: 'project/.env', content: 'mine' }, 'c'),
      edit({ command: 'search', pattern: 'SECRET' }, 'd'),
      edit({ command: 'read', path: 'project/../../../../../home/.svc/cache/containment.json' }, 'e'),
    );
    expect(await minute.svc(['--write', 'change the text'])).toMatchObject({ code: 0, stdout: 'Done.\n' });
    expect(minute.asked.tools).toEqual(['svc-tool-editor']);
    expect(readFileSync(join(minute.folder, 'src/a.txt'), 'utf8')).toBe('new');
    expect(readFileSync(join(minute.folder, '.env'), 'utf8')).toBe('SECRET=1');
    const [, read, write, search, outside] = minute.results;
    expect(read).toBe('project/.env may not be accessed');
    expect(write).toBe('project/.env may not be accessed');
    expect(search).not.toMatch(/SECRET=1/);
    expect(outside).not.toMatch(/obstacles/);
  }, 60_000);

  it.each<[flags: readonly string[], said: string]>([
    [
      ['--allow', 'rm -rf'],
      `error: option '--allow <commands>' argument 'rm -rf' is invalid. "rm -rf" is no such name`,
    ],
    [['--allow', '../x'], `error: option '--allow <commands>' argument '../x' is invalid. "../x" is no such name`],
    [
      ['--net', 'http://a/b'],
      `error: option '--net <hosts>' argument 'http://a/b' is invalid. "http://a/b" has a path`,
    ],
    [['--env', 'A-B'], `error: option '--env <names>' argument 'A-B' is invalid. "A-B" is no such name`],
    [['--mcp', 'x "y'], `error: option '--mcp <server>' argument 'x "y' is invalid. a " is not closed`],
    [
      ['--mcp', './x'],
      `error: option '--mcp <server>' argument './x' is invalid. "./x" is not the bare name of a program`,
    ],
    [['--workdir', 'x'], 'error: --workdir goes with a manifest: ./svc.yaml is not here'],
    [['--replay'], 'error: --replay goes with a manifest: ./svc.yaml is not here'],
    [['--task', 'x'], 'error: give the task once'],
  ])('refuses %j as a wrong command line', async (flags, said) => {
    const minute = fresh();
    await minute.plays();
    const { code, stdout, stderr } = await minute.svc(['say hello', ...flags]);
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `${said}\n` });
  });

  it('keeps the manifest in its session, and makes a capsule of it that runs', async () => {
    const minute = fresh();
    minute.write({ 'a.txt': 'a' });
    await minute.plays();
    await minute.svc(['--write', '--net', 'example.com', '--env', 'LANG', 'say hello']);
    expect(minute.ofSession('svc.yaml')).toMatch(/^name: task$/m);
    const [id = ''] = minute.sessions;
    const elsewhere = join(minute.base, 'elsewhere');
    mkdirSync(elsewhere);
    const made = await minute.svc(['new', 'capsule', 'shop', '--from', id.slice(-6)], { cwd: elsewhere });
    expect(made).toMatchObject({ code: 0, stdout: `${elsewhere}/shop\n` });
    const text = readFileSync(join(elsewhere, 'shop', 'svc.yaml'), 'utf8');
    expect(text).toMatch(/^# Made of the session ses_[0-9a-f]+, a task without a manifest\.$/m);
    expect(text).toMatch(/^name: shop$/m);
    expect(text).toMatch(/^ {2}network: \{ allow: \["example\.com"\] \}$/m);
    expect(text).toMatch(/^ {2}env: \{ allow: \["LANG"\] \}$/m);
    expect(text).toMatch(/^ {2}project: \{ write: true \}/m);
    expect(made.stderr).toBe('next: svc run --manifest shop/svc.yaml --project <dir> --task "<task>"\n');
    // The model server of the task is the one of the capsule.
    minute.model?.push(says('As a capsule.'));
    const ran = await minute.svc(['run', '--task', 'Say hello', '--project', minute.folder], {
      cwd: join(elsewhere, 'shop'),
    });
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/status: {2}ok\n$/) as string });
    // In the folder of the task the manifest lies in its root.
    const here = await minute.svc(['new', 'capsule', 'shop', '--from', id, '--dir', '.']);
    expect(here).toMatchObject({
      code: 0,
      stderr:
        'next: svc run --manifest svc.yaml --task "<task>"\n' +
        'svc sessions --all lists what this folder did without it\n',
    });
    expect(readFileSync(join(minute.folder, 'svc.yaml'), 'utf8')).toMatch(
      /^ {2}project: \{ path: "\.", write: true \}/m,
    );
    minute.model?.push(says('In its root.'));
    expect(await minute.svc(['run', '-p', 'Say hello', '--containment', 'advisory'])).toMatchObject({
      code: 0,
      stdout: 'In its root.\n',
    });
    expect(readdirSync(minute.folder)).toEqual(['a.txt', 'svc.yaml']);
    expect(await minute.svc(['new', 'tool', 'x', '--from', id])).toMatchObject({
      code: 2,
      stderr: 'error: --from makes a capsule\n',
    });
  }, 60_000);

  it('makes no capsule of a session that ran a manifest', async () => {
    const minute = fresh();
    minute.write({ 'svc.yaml': manifest, 'script.yaml': script });
    await minute.svc(['run', '--task', 'x']);
    const [id = ''] = readdirSync(join(minute.folder, '.svc', 'sessions'));
    const { code, stderr } = await minute.svc(['new', 'capsule', 'shop', '--from', id]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^error\[E-RUN-096\]: ses_/) as string,
    });
  });

  it('can be found by svc sessions, svc trace and svc tasks from its folder, and by its id from elsewhere', async () => {
    const minute = fresh();
    await minute.plays();
    await minute.svc(['say hello']);
    const [id = ''] = minute.sessions;
    const last = id.slice(-6);
    const other = join(minute.base, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'svc.yaml'), manifest);
    const json = async (args: readonly string[], cwd?: string): Promise<string> =>
      (await minute.svc([...args, '--json'], cwd === undefined ? {} : { cwd })).stdout;
    expect(JSON.parse(await json(['sessions']))).toMatchObject({ session_id: id, status: 'ok', task: 'say hello' });
    expect(await json(['sessions'], other)).toBe('');
    const third = join(minute.base, 'third');
    mkdirSync(third);
    expect(await minute.svc(['sessions'], { cwd: third })).toMatchObject({
      stdout: expect.stringContaining('task ./shop') as string,
      stderr: 'this folder has no session; these are of others\n',
    });
    expect((await minute.svc(['sessions'])).stderr).toBe('');
    expect(JSON.parse(await json(['sessions', '--all'], other))).toMatchObject({ session_id: id });
    for (const cwd of [undefined, other]) {
      expect(await json(['trace', 'steps', last], cwd)).toMatch(/"qwen3:8b"|"model"/);
      expect(JSON.parse(await json(['tasks', last], cwd))).toMatchObject({ state: 'completed', text: 'say hello' });
    }
    expect(await minute.svc(['trace', 'rm', last], { cwd: other })).toMatchObject({ code: 0, stdout: `${id}\n` });
    expect(minute.sessions).toEqual([]);
  }, 60_000);
});

describe('svc "task" in a folder with a manifest', () => {
  it('becomes a task for that capsule', async () => {
    const minute = fresh();
    minute.write({ 'svc.yaml': manifest, 'script.yaml': script });
    for (const args of [
      ['--trust', 'say hello'],
      ['-p', 'Hi'],
      ['--output', 'text', 'say hello'],
    ])
      expect(await minute.svc(args)).toEqual({ code: 0, stdout: 'From the manifest.\n', stderr: '' });
    expect(existsSync(join(minute.home, '.svc', 'adhoc'))).toBe(false);
  });

  it.each(['--model', '--write', '--allow', '--net', '--env'])('does not take %s, and says why', async (flag) => {
    const minute = fresh();
    minute.write({ 'svc.yaml': manifest, 'script.yaml': script });
    const { code, stdout, stderr } = await minute.svc([flag, ...(flag === '--write' ? [] : ['x']), 'say hello']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe(
      `error: ${flag} is for a task without a manifest, and ./svc.yaml says what its capsule may do: change it there\n`,
    );
  });
});

describe('a command line that names no command', () => {
  it('leads to an error that shows how to write a task of one word, or without quotes', async () => {
    const minute = fresh();
    const { code, stderr } = await minute.svc(['seach']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "error: unknown command 'seach'\n(Did you mean search?)\nto give it as a task: svc -p seach\n",
    });
    expect((await minute.svc(['run', 'hello'])).stderr).toMatch(/\nto give it as a task: svc run --task "hello"\n$/);
    expect((await minute.svc(['run', 'hello', 'you'])).stderr).toMatch(
      /\nto give it as a task: svc run --task "<task>"\n$/,
    );
    expect((await minute.svc(['version'])).stderr).toMatch(/\nsvc --version says which version this is\n$/);
    expect((await minute.svc(['add', 'mcp:npx', '-y', 'foo'])).stderr).toMatch(
      /\nthe command of a server is one word: svc add "mcp:npx -y foo"\n$/,
    );
    expect((await minute.svc(['--mcp', 'npx', '-y', 'foo', 'why not?'])).stderr).toMatch(
      /\nthe command of a server is one word: svc --mcp "npx -y <package> \."/,
    );
    expect((await minute.svc(['why', 'not?'])).stderr).toMatch(/\nto give it as a task: svc "why not\?"\n$/);
  });

  it('prints the help and ends with 2 where there is nothing at all', async () => {
    const { code, stdout, stderr } = await fresh().svc([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(
      /^To begin:\n {2}svc "why does the cart test fail\?" [^]*\nUsage: svc "<task>" \| <command>/,
    );
    expect(stderr).toMatch(/\nTo begin: svc "why does the cart test fail\?"\n$/);
    // Each command stands in a group, the first with what most people come for.
    expect(stderr.match(/^\S.*:$/gm)).toEqual([
      'To begin:',
      'Options:',
      'Give work:',
      'See what runs:',
      'Look back:',
      'Use tools and other artifacts:',
      'Write, sign and publish them:',
      'This machine, and svc itself:',
    ]);
  });

  it('leads to an error that shows what the command takes, and nothing about tasks', async () => {
    const minute = fresh();
    expect(await minute.svc(['explain'])).toMatchObject({
      code: 2,
      stderr: "error: missing required argument 'code'\nsvc explain --help shows what it takes\n",
    });
    expect(await minute.svc(['token', 'add', 'phone'])).toMatchObject({
      code: 2,
      stderr: "error: required option '--scope <list>' not specified\nsvc token add --help shows what it takes\n",
    });
    expect(await minute.svc(['trace', 'shwo'])).toMatchObject({
      code: 2,
      stderr: "error: unknown command 'shwo'\n(Did you mean show?)\nsvc trace --help lists its commands\n",
    });
    for (const empty of ['', '  ', '\n']) {
      expect(await minute.svc([empty])).toMatchObject({
        code: 2,
        stderr: 'error: the task is empty: svc "<task>" says what is to be done, svc help lists the commands\n',
      });
    }
  });

  it('takes one word where -p says that it is the task', async () => {
    const minute = fresh();
    await minute.plays();
    expect(await minute.svc(['-p', '--timeout', '20s', 'word'])).toMatchObject({ code: 0, stdout: 'Done.\n' });
    expect(minute.asked.task).toContain('word');
  });

  it('leads to an error about a command that --allow names and that is not here', async () => {
    const minute = fresh();
    await minute.plays();
    const { code, stderr } = await minute.svc(['--allow', 'no-such-program', 'look around'], {
      env: { SVC_CONTAINMENT_CEILING: undefined },
    });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^warning\[W-RUN-003\]: --allow names no-such-program, which cannot be run here: .*\nhint: install it, or leave it out\n/m,
    );
  });

  it('runs with a variable that is not set and has the name of a property of all objects', async () => {
    const minute = fresh();
    await minute.plays();
    expect(await minute.svc(['--env', 'constructor', '-p', 'look around'])).toMatchObject({
      code: 0,
      stdout: 'Done.\n',
    });
  });

  it('leads to an error about a variable that --env names and that no command gets', async () => {
    const minute = fresh();
    const warnings = [
      'warning[W-RUN-172]: --env names constructor, which is not set here\nhint: set and export it before svc runs, or leave it out\n',
      'warning[W-RUN-172]: --env names OTEL_SERVICE_NAME, which svc gives to nobody\nhint: leave it out\n',
    ];
    const env = { BLANK: '', SET: 'x', OTEL_SERVICE_NAME: 'x' };
    for (const command of [['look around'], ['-p', 'look around'], ['--explain-scope', 'look around']]) {
      await minute.plays();
      const { code, stderr } = await minute.svc(['--env', 'SET,constructor,BLANK,OTEL_SERVICE_NAME', ...command], {
        env,
      });
      expect(code).toBe(0);
      expect(stderr.match(/^warning\[W-RUN-172\].*\nhint: .*\n/gm)).toEqual(warnings);
    }
  });

  it('refuses one word behind a flag', async () => {
    const minute = fresh();
    expect(await minute.svc(['--write', 'word'])).toMatchObject({
      code: 2,
      stderr: 'error: word is one word: a task of one word is given with -p\n',
    });
  });
});

it('docs/first-minute.md has the flags and their meaning', async () => {
  const page = readFileSync(new URL('../../docs/first-minute.md', import.meta.url), 'utf8');
  const { stdout } = await fresh().svc(['--write', '--help']);
  for (const flag of ['--model', '--write', '--allow', '--net', '--env']) {
    expect(stdout).toContain(`  ${flag}`);
    expect(page).toContain(`| \`${flag}`);
  }
});

it('a first session is pruned from a folder that is no workspace, as it is listed there', async () => {
  const minute = fresh();
  await minute.plays();
  expect((await minute.svc(['-p', 'say hello'])).code).toBe(0);
  const { stdout } = await minute.svc(['prune', '--keep', '0', '--dry-run', '--json']);
  const listed = JSON.parse(stdout) as { kind: string; paths: readonly string[] };
  expect(listed.kind).toBe('session');
  expect(
    readdirSync(join(minute.home, '.svc', 'adhoc', '.svc', 'sessions')).map((id) => `.svc/sessions/${id}`),
  ).toEqual([listed.paths[0]]);
});

it('svc -p gives a script the refusals with their flags', async () => {
  const minute = fresh();
  await minute.plays(calls('curl', { command: 'http://a.example/' }));
  const { stdout, stderr } = await minute.svc(['-p', 'Go', '--output', 'json']);
  const result = scriptLineSchemas.result.parse(JSON.parse(stdout)) as { refused: unknown; status: string };
  expect(result).toMatchObject({ status: 'ok', refused: [{ kind: 'command', what: 'curl', flag: null }] });
  expect(stderr).toBe('refused: curl (no class of this host holds commands)\n');
});

describe.skipIf(!hasPseudoTerminals())('svc "task" on a terminal (skipped without python3)', () => {
  it('begins with what it works with and ends with what was refused', async () => {
    const minute = fresh();
    await minute.plays(calls('ls', { command: '' }));
    const terminal = new TerminalProcess(minute.workspace, ['what is this?'], {
      env: { OLLAMA_HOST: minute.model?.endpoint ?? '', SVC_MODEL: 'ollama/qwen3:8b' },
      columns: 200,
    });
    expect(await terminal.ended).toBe(0);
    const { rows } = terminal.terminal;
    expect(rows[0]).toMatch(
      new RegExp(
        `^svc \\d+\\.\\d+\\.\\d+ \u00B7 qwen3:8b \\(SVC_MODEL\\) \u00B7 ./shop read only \u00B7 no network \u00B7 advisory, no commands$`,
      ),
    );
    expect(rows[1]).toBe('no command can be run: this host keeps none to what it was granted (svc doctor says why)');
    expect(rows).toContain('\u2502 Done.');
    expect(rows.filter((row) => row === 'Done.')).toEqual([]);
    const last = rows.filter((row) => row !== '');
    expect(last.at(-2)).toMatch(/^session: ses_/);
    expect(last.at(-1)).toBe('refused: ls (no class of this host holds commands)');
  });

  it('shows the answer once where tee writes it to the terminal, and draws all that the model said before', async () => {
    const minute = fresh();
    await minute.plays({ ...calls('ls', { command: '' }), text: ['I **look** ', 'first.'] });
    const svc = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));
    const command = ['sh', '-c', '"$0" "$1" "what is this?" | tee answer', process.execPath, svc];
    const terminal = new TerminalProcess(minute.workspace, [], {
      env: { OLLAMA_HOST: minute.model?.endpoint ?? '', SVC_MODEL: 'ollama/qwen3:8b', NO_COLOR: '' },
      command,
    });
    expect(await terminal.ended).toBe(0);
    const { rows } = terminal.terminal;
    expect(rows.filter((row) => row.includes('Done.'))).toEqual(['Done.']);
    expect(rows).toContain('\u2502 I look first.');
    expect(readFileSync(join(minute.folder, 'answer'), 'utf8')).toBe('Done.\n');
  });

  it('wants a task behind a flag that no chat has, and names the chat', async () => {
    const terminal = new TerminalProcess(fresh().workspace, ['--write', '--capture', 'none'], {
      env: { SVC_MODEL: 'ollama/q' },
    });
    expect(await terminal.ended).toBe(2);
    expect(terminal.terminal.rows[0]).toBe(
      'error: there is no task: svc [options] "<task>" does one, svc chat [options]',
    );
  });

  it('says of --write that there is no undo', async () => {
    const minute = fresh();
    await using ollama = await startFakeOllama(
      [
        { name: 'q\u202E', capabilities: ['tools'] },
        { name: 'q', capabilities: ['tools'] },
      ],
      [says('Done.')],
    );
    const terminal = new TerminalProcess(minute.workspace, ['--write', 'say hello'], {
      env: { OLLAMA_HOST: ollama.endpoint, SVC_MODEL: 'ollama/q' },
      columns: 200,
    });
    expect(await terminal.ended).toBe(0);
    expect(terminal.terminal.rows).toContain(
      '--write: files of ./shop can be changed and removed, and there is no undo yet',
    );
  }, 60_000);
});

describe.runIf(process.getuid?.() === 0)('a user that no list of the system has (only as root)', () => {
  it('does a task with a home that can be written, and reads a hint with any other', async () => {
    const minute = new FirstMinute({ ceiling: 'sealed', uid: 54_321 });
    onTestFinished(async () => await minute.dispose());
    await minute.plays();
    expect(await minute.svc(['-p', 'hi'])).toMatchObject({ code: 0, stdout: 'Done.\n' });
    for (const [home, said] of [
      ['/', 'error[E-IO-001]: HOME is "/", and svc can keep nothing there: / cannot be written: permission denied\n'],
      [undefined, 'error[E-IO-001]: HOME is not set, and the system has no home for this user\n'],
    ] as const) {
      const { code, stderr } = await minute.svc(['-p', 'hi'], { env: { HOME: home } });
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(said) as unknown });
      expect(stderr).toContain('\nhint: set HOME to a folder that this user may write in: ');
    }
  });
});
