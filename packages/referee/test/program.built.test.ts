import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { ask, exchange, type RawResponse } from '../../kit/test/http/raw-client.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { portToName } from '../../../test/support/port-to-name.ts';
import { RawSocket } from '../../../test/support/raw-socket.ts';
import { capsuleText, publishCapsule } from './published.ts';
import { identitySentence, refusal, sentence, textOf } from './referee-kit.ts';
import { runReferee, startReferee } from './referee-process.ts';

const hasProc = process.platform === 'linux';

/** A registry with a capsule `lead` that may spawn `scout`, and `scout`. */
async function publishBoth(root: string): Promise<void> {
  await publishCapsule(root, capsuleText('capabilities: { spawn: { allow: [scout] } }', 'lead'), { name: 'lead' });
  await publishCapsule(root, capsuleText('', 'scout'), { name: 'scout' });
}

async function registry(): Promise<string> {
  const root = temporaryDirectory();
  await publishBoth(root);
  return root;
}

async function post(port: number, path: string, headers: readonly string[], body: unknown): Promise<RawResponse> {
  return await ask(port, `POST ${path} HTTP/1.1`, { headers, body: JSON.stringify(body) });
}

async function register(port: number, id: string, name: string, approval?: string): Promise<RawResponse> {
  const headers = approval === undefined ? [] : [`x-svc-spawn-approval: ${approval}`];
  return await post(port, '/register', headers, { session_id: id, name, version: '1.0.0' });
}

async function spawn(port: number, credential: string, name = 'scout'): Promise<RawResponse> {
  return await post(port, '/spawn', [`x-svc-spawn-credential: ${credential}`], { name, version: '1.0.0' });
}

describe('svc-referee', () => {
  it.each([
    [['--max-total', '5'], '--max-total'],
    [['--max-total'], '--max-total'],
    [['--port', '0', '--max-total=5'], '--max-total'],
    [['--bind', '0.0.0.0'], '--bind'],
    [['-p', '1'], '-p'],
    [['serve'], 'serve'],
    [[''], ''],
    [['--versions'], '--versions'],
  ])('does not start with %j, which is unknown: exit code 2 [D2-OPT-14] [D2-OPT-15]', async (args, argument) => {
    const { code, stdout, stderr } = await runReferee(args, { HOME: temporaryDirectory() });
    const hint = 'hint: svc-referee --help lists the options';
    expect([code, stdout, stderr]).toEqual([2, '', `unknown argument: ${argument}\n${hint}\n`]);
  });

  it.each([
    [['--max-depth', 'unlimited'], '--max-depth is "unlimited", which is not a whole number'],
    [['--port', '65536'], '--port is "65536", which is not a whole number up to 65535'],
    [['--spawn-allow'], '--spawn-allow needs a value'],
  ])('does not start with %j: exit code 2 and a coded error [D2-OPT-10]', async (args, problem) => {
    const { code, stdout, stderr } = await runReferee(args, { HOME: temporaryDirectory() });
    expect([code, stdout, stderr.split('\n')[0]]).toEqual([2, '', `error[E-REF-001]: ${problem}`]);
  });

  it('does not start on a port that is taken: exit code 1, a hint, and no line that says it listens', async () => {
    const { port } = await startReferee(['--registry-path', temporaryDirectory()]);
    const { code, stdout, stderr } = await runReferee(['--port', String(port)], { HOME: temporaryDirectory() });
    expect([code, stdout, stderr]).toEqual([
      1,
      '',
      `error[E-REF-002]: cannot listen on 127.0.0.1:${port}: it is taken\n` +
        'hint: one referee per host is enough; choose another port with --port\n',
    ]);
  });

  it('does not start without a home, unless a registry is named [D2-OPT-02]', async () => {
    const { code, stderr } = await runReferee(['--port', '0'], { HOME: '' });
    expect([code, stderr.split('\n')[0]]).toEqual([
      2,
      'error[E-REF-001]: HOME names no directory, so that there is no default for --registry-path',
    ]);
    await startReferee(['--registry-path', temporaryDirectory()], { env: { HOME: '' } });
  });

  it('does not start to print its version or help, also where the port is taken [D2-OPT-09]', async () => {
    const { port } = await startReferee(['--registry-path', temporaryDirectory()]);
    const { code, stdout, stderr } = await runReferee(['--port', String(port), '--version'], {});
    expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/), '']);
    const help = await runReferee(['--help']);
    expect(help.code).toBe(0);
    const flags = help.stdout.matchAll(/^ {2}(--[a-z-]+)/gm);
    expect([...flags].map(([, flag]) => flag)).toEqual([
      '--port',
      '--registry-path',
      '--spawn-allow',
      '--max-depth',
      '--max-concurrent',
      '--max-live-capsules',
      '--version',
      '--help',
    ]);
  });
});

describe('a running svc-referee', () => {
  it('reads the variables of a manifest in its own environment, and refuses a spawn for one that it lacks [D2-OPT-19] [D2-OPT-20]', async () => {
    const root = temporaryDirectory();
    const spawns = 'spawn: { allow: [scout] }';
    await publishCapsule(root, capsuleText(`capabilities: { shell: { allow: [bash] }, ${spawns} }`, 'lead'), {
      name: 'lead',
    });
    const scout = capsuleText('capabilities: { shell: { allow: ["${SCOUT_SHELL}"] } }', 'scout');
    await publishCapsule(root, scout, { name: 'scout' });
    const answers = ['bash', 'zsh', undefined].map(async (shell) => {
      const env = shell === undefined ? {} : { SCOUT_SHELL: shell };
      const { port } = await startReferee(['--registry-path', root, '--spawn-allow', 'lead'], { env });
      const { credential } = JSON.parse((await register(port, 'ses_a', 'lead')).body) as { credential: string };
      const answer = await spawn(port, credential);
      return [answer.status, answer.body] as const;
    });
    const [held, other, none] = await Promise.all(answers);
    expect(held?.[0]).toBe(200);
    expect(other).toEqual([403, expect.stringContaining('capabilities.shell.allow')]);
    expect(none).toEqual([500, expect.stringContaining('SCOUT_SHELL, which is not set')]);
  });

  it('prints where it listens and its machine ceiling, and nothing more [D2-OPT-16] [D2-OPT-17]', async () => {
    const root = await registry();
    const { process: referee, port } = await startReferee(['--registry-path', root, '--max-live-capsules', '7']);
    expect((await register(port, 'ses_a', 'lead')).status).toBe(403);
    expect((await ask(port, 'GET /status/ses_a HTTP/1.1')).status).toBe(404);
    referee.child.kill('SIGTERM');
    const { stdout, stderr } = await referee.ended;
    expect(stdout.replace(/ \d+\.\d+\.\d+ /, ' ')).toBe(
      `svc-referee listens on 127.0.0.1:${port}, registry ${root}\n` +
        'machine ceiling: 7 live capsules (--max-live-capsules)\n',
    );
    expect(stderr).toBe('');
  });

  it('has a ceiling of 8 capsules a core, between 16 and 256 [D2-OPT-08] [D2-LIMIT-04]', async () => {
    const { process: referee } = await startReferee(['--registry-path', temporaryDirectory()]);
    const cores = availableParallelism();
    const ceiling = cores <= 2 ? 16 : cores >= 32 ? 256 : cores * 8;
    expect(referee.stdout).toContain(`machine ceiling: ${ceiling} live capsules`);
  });

  it.skipIf(!hasProc)(
    'listens at 127.0.0.1 and at no other address (skipped without /proc) [D2-CORE-02] [D2-OPT-01]',
    async () => {
      const { port } = await startReferee(['--registry-path', temporaryDirectory()]);
      expect((await ask(port, 'GET /health HTTP/1.1')).body).toBe('{}');
      const sockets = readFileSync('/proc/net/tcp', 'utf8') + readFileSync('/proc/net/tcp6', 'utf8');
      const hex = port.toString(16).toUpperCase().padStart(4, '0');
      const listening = sockets.matchAll(new RegExp(`^ *\\d+: ([0-9A-F]+):${hex} [0-9A-F]+:0000 0A `, 'gm'));
      expect([...listening].map(([, address]) => address)).toEqual(['0100007F']);
    },
  );

  it('looks capsules up in the registry that is named, else in that of the user [D2-OPT-02] [D2-OPT-03] [D2-OPT-04] [D2-REG-05] [D2-CORE-05]', async () => {
    const home = temporaryDirectory();
    await publishBoth(join(home, '.svc', 'artifacts'));
    const users = await startReferee(['--spawn-allow', 'lead', '--spawn-allow=scout'], { env: { HOME: home } });
    expect((await register(users.port, 'ses_a', 'lead')).status).toBe(200);
    expect((await register(users.port, 'ses_b', 'scout')).status).toBe(200);
    const args = ['--spawn-allow=lead', '--registry-path', temporaryDirectory()];
    const empty = await startReferee(args, { env: { HOME: home } });
    expect(refusal(await register(empty.port, 'ses_a', 'lead'))).toEqual([
      500,
      sentence('lead@1.0.0 is not in the registry'),
    ]);
  });

  it('warns of a name that no capsule has, such as a list of names [D2-OPT-04]', async () => {
    const root = await registry();
    const { process: referee, port } = await startReferee(['--registry-path', root, '--spawn-allow', 'lead,scout']);
    await referee.complained(/\nhint: .*\n/);
    expect(referee.stderr).toBe(
      'warning[W-REF-001]: --spawn-allow lead,scout is the name of no capsule and admits none\n' +
        'hint: give --spawn-allow once for each name\n',
    );
    expect((await register(port, 'ses_a', 'lead')).status).toBe(403);
  });

  it('takes its bounds from its flags [D2-OPT-05] [D2-OPT-06] [D2-OPT-07]', async () => {
    const root = await registry();
    const refused = async (...flags: readonly string[]): Promise<string> => {
      const { port } = await startReferee(['--registry-path', root, '--spawn-allow', 'lead', ...flags]);
      const credential = textOf(await register(port, 'ses_a', 'lead'), 'credential');
      return (await spawn(port, credential)).body;
    };
    expect(await refused('--max-depth', '0')).toContain('depth bound reached: 0 of the 0 levels');
    expect(await refused('--max-concurrent', '0')).toContain('--max-concurrent allows 0');
    expect(await refused('--max-live-capsules', '1')).toContain('--max-live-capsules allows 1;');
  });

  it('allows three levels and four children unless something else is said [D2-LIMIT-02] [D2-LIMIT-03] [D2-OPT-05] [D2-OPT-06]', async () => {
    const root = await registry();
    const { port } = await startReferee(['--registry-path', root, '--spawn-allow', 'lead']);
    const credential = textOf(await register(port, 'ses_a', 'lead'), 'credential');
    const { body } = await ask(port, 'GET /status/ses_a HTTP/1.1');
    expect(body).toBe('{"status":"running","depth_remaining":3,"live_children":0,"live_capsules":1}');
    for (let held = 0; held < 4; held += 1) expect((await spawn(port, credential)).status).toBe(200);
    expect((await spawn(port, credential)).body).toContain(
      'this session holds 4 live children and --max-concurrent allows 4',
    );
  });

  it('forgets all sessions and tokens when it ends [D2-TOKEN-08] [D2-SESS-10] [D2-CORE-03]', async () => {
    const port = await portToName();
    const args = ['--registry-path', await registry(), '--spawn-allow', 'lead', '--port', String(port)];
    const first = await startReferee(args);
    const credential = textOf(await register(first.port, 'ses_a', 'lead'), 'credential');
    const approval = textOf(await spawn(first.port, credential), 'approval');
    first.process.child.kill('SIGKILL');
    await first.process.ended;
    const second = await startReferee(args);
    expect([first.port, second.port]).toEqual([port, port]);
    expect((await ask(second.port, 'GET /status/ses_a HTTP/1.1')).status).toBe(404);
    await register(second.port, 'ses_b', 'lead');
    const identity = [403, sentence(identitySentence)];
    expect(refusal(await spawn(second.port, credential))).toEqual(identity);
    expect(refusal(await register(second.port, 'ses_c', 'scout', approval))).toEqual(identity);
  });

  it.skipIf(!hasProc)(
    'starts no process and writes no file through a whole delegation (skipped without /proc) [D2-CORE-04] [D2-SPAWN-05] [D2-NAME-01]',
    async () => {
      const cwd = temporaryDirectory();
      const home = temporaryDirectory();
      await publishBoth(join(home, '.svc', 'artifacts'));
      const entries = (): string[] =>
        [cwd, home].flatMap((place) => readdirSync(place, { recursive: true }).map(String));
      const before = entries();
      const { process: referee, port } = await startReferee(['--spawn-allow', 'lead'], { env: { HOME: home }, cwd });
      const credential = textOf(await register(port, 'ses_a', 'lead'), 'credential');
      const approval = textOf(await spawn(port, credential), 'approval');
      const child = textOf(await register(port, 'ses_b', 'scout', approval), 'credential');
      const ended = await post(port, '/deregister', [`x-svc-spawn-credential: ${child}`], { outcome: 'complete' });
      expect(ended.status).toBe(200);
      const { pid } = referee.child;
      const children = readdirSync(`/proc/${pid}/task`).map((task) =>
        readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8'),
      );
      expect(children.join('')).toBe('');
      expect(entries()).toEqual(before);
    },
  );
});

describe('a svc-referee that must stop', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('ends well by %s and takes no new connection', async (signal) => {
    const { process: referee, port } = await startReferee(['--registry-path', temporaryDirectory()]);
    const idle = await RawSocket.open(port);
    idle.send('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await idle.until('{}');
    referee.child.kill(signal);
    expect(await referee.ended).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(await exchange({ port, bytes: ['GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'] })).toBe('');
  });

  it('ends at once at a second signal', async () => {
    const { process: referee, port } = await startReferee(['--registry-path', temporaryDirectory()]);
    const held = await RawSocket.open(port);
    onTestFinished(() => held.close());
    held.send('POST /spawn HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
    await held.until('100 Continue');
    referee.child.kill('SIGTERM');
    // It is stopping once it refuses connections.
    while ((await exchange({ port, bytes: ['GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'] })) !== '');
    referee.child.kill('SIGTERM');
    expect((await referee.ended).code).toBe(143);
  });
});
