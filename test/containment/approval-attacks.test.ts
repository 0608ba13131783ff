import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { type AddressInfo, connect, createServer } from 'node:net';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { calls, says, script } from '../support/scripted-turns.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { ask, startCapsule, svc } from '../support/svc-process.ts';
import { hasProgram, whereClassIs } from './use-capsule.ts';

const operator = 'the-token-of-the-operator';

/** Runs on in the background while the call waits: reads all that could hold a key, and speaks to the door with what it may know. */
const attack = `until [ -e go ]; do sleep 0.05; done
. ./go
for file in "$KEY" "/proc/1/root$KEY" "/proc/$PID/root$KEY" "/proc/$PID/environ" "/proc/$PID/mem" "$TOKENS" "$KEPT"; do
  head -c 100000 "$file" >> stolen 2>> refused
done
touch "$KEPT.json" && echo kept >> stolen
for header in 'x: y' 'authorization: Bearer svc_person_guessed' 'authorization: Bearer ${operator}'; do
  curl -s -o /dev/null -w '%{http_code}\\n' -H "$header" -H 'svc-events: 1' -H 'content-type: application/json' \\
    -d @answer.json "http://localhost:$PORT/" >> codes
done
mv codes tried
`;

/** A port of this machine that leads to the door once that is known: a grant names it before the capsule starts. */
async function wayIn(): Promise<{ readonly port: number; to: number }> {
  const way = { port: 0, to: 0 };
  const server = createServer((socket) => {
    const door = connect(way.to, '127.0.0.1');
    for (const [one, other] of [
      [socket, door],
      [door, socket],
    ] as const) {
      one.on('error', () => other.destroy());
      one.pipe(other);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  way.port = (server.address() as AddressInfo).port;
  return way;
}

describe.each(['scoped', 'sealed'] as const)('a program of a capsule that waits for approval, in %s', (containment) => {
  it('reads no key and answers nothing, also where it may speak to the door and knows the listener token', async (context) => {
    for (const name of ['curl', 'sh']) context.skip(!hasProgram(name), `needs ${name}`);
    const way = await wayIn();
    const workspace = scriptCapsule({
      manifest: `capabilities:
  containment: ${containment}
  shell: { allow: [sh, sleep, head, curl, mv, touch] }
  network: { allow: ["http://localhost:${way.port}"] }
approvals: { rules: [{ ask: { command: [touch, "**"] } }] }
lifecycle: { task_acceptance: queue, after_task: sleep, shell_grace_secs: 1 }
`,
      script: script(
        calls([['c1', 'sh', { command: 'sh attack.sh' }]]),
        calls([['c2', 'touch', { command: 'pushed' }]]),
        says('Done.'),
        says('Done.'),
      ),
      files: { 'work/attack.sh': attack },
    });
    const token = (await svc(workspace, ['token', 'add', 'anna', '--scope', 'answer'])).stdout.trim();
    const env = { SVC_CONTAINMENT_CEILING: 'sealed', SVC_LISTENER_TOKEN: operator };
    const started = async (): ReturnType<typeof startCapsule> =>
      await startCapsule(workspace, ['--workdir', 'work', '--task', 'Push.'], { env });
    const { process: capsule, line } = await whereClassIs(context, containment, started);
    onTestFinished(async () => {
      capsule.child.kill('SIGKILL');
      await capsule.ended;
    });
    const rpc = async (method: string, params: unknown): Promise<Record<string, unknown>> =>
      (await ask(line.url, method, params, token)).result as Record<string, unknown>;
    type Open = { readonly id: string; readonly digest: string };
    const open = async (): Promise<readonly Open[]> => (await rpc('approvals/list', {}))['approvals'] as Open[];
    await expect.poll(async () => (await open()).length, { timeout: 30_000 }).toBe(1);
    const [asked] = await open();
    const running = join(workspace.home, '.svc', 'running');
    const key = join(running, readdirSync(running).find((name) => name.endsWith('.key')) ?? '');
    const inWork = (name: string): string => join(workspace.folder, 'work', name);
    const allow = { id: asked?.id, digest: asked?.digest, decision: 'allow' };
    writeFileSync(
      inWork('answer.json'),
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'approvals/answer', params: allow }),
    );
    way.to = Number(line.url.split(':').at(-1));
    const kept = join(workspace.home, '.svc', 'approvals', 'kept');
    mkdirSync(dirname(kept));
    writeFileSync(kept, 'kept');
    const known = {
      KEY: key,
      PID: capsule.child.pid,
      TOKENS: join(workspace.home, '.svc', 'door-tokens.json'),
      KEPT: kept,
    };
    const facts = Object.entries({ ...known, PORT: way.port }).map(([name, value]) => `${name}='${value}'\n`);
    writeFileSync(inWork('going'), facts.join(''));
    spawnSync('mv', [inWork('going'), inWork('go')]);
    await expect.poll(() => existsSync(inWork('tried')), { timeout: 30_000 }).toBe(true);
    expect(readFileSync(key, 'utf8')).toMatch(/^svc_person_[\w-]{43}$/);
    expect(readFileSync(inWork('stolen'), 'utf8')).toBe('');
    expect(readFileSync(inWork('refused'), 'utf8').trimEnd().split('\n').length).toBe(7);
    if (process.getuid?.() === 0) {
      const reading = `require('node:fs').readFileSync(${JSON.stringify(key)})`;
      const other = spawnSync(process.execPath, ['-e', reading], { uid: 65_534, gid: 65_534, encoding: 'utf8' });
      expect([other.stdout, other.stderr]).toEqual(['', expect.stringContaining('EACCES')]);
    }
    // It did speak to the door.
    expect(readFileSync(inWork('tried'), 'utf8')).toBe('401\n401\n403\n');
    expect([existsSync(inWork('pushed')), await open()]).toEqual([false, [asked]]);
    expect(await rpc('approvals/answer', { ...allow, decision: 'deny' })).toMatchObject({ decision: 'deny' });
    await expect.poll(async () => (await open()).length).toBe(0);
    expect(existsSync(inWork('pushed'))).toBe(false);
  }, 120_000);
});
