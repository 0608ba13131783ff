import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it, type TestContext } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { changeRecord } from '../support/running-record.ts';
import { startCapsule, svc, SvcProcess } from '../support/svc-process.ts';

const capsule = useCapsules();
const manifest = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';
const token = 'a-token-of-the-listener';
const env = { SVC_LISTENER_TOKEN: token };
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Thief {
  readonly address: string;
  /** The headers of every request that reached it. */
  readonly heard: IncomingHttpHeaders[];
}

/** What another user of the machine could run: it answers as a capsule would, and asks for a token. Null without IPv6. */
async function thief(host: string, port: number, card: unknown = {}): Promise<Thief | null> {
  const heard: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    heard.push(request.headers);
    request.resume();
    const isCard = request.method === 'GET';
    response
      .writeHead(isCard ? 200 : 401, { 'content-type': 'application/json' })
      .end(isCard ? JSON.stringify(card) : '');
  });
  const failure = await Promise.race([
    once(server.listen(port, host), 'listening').then(() => null),
    once(server, 'error').then(([error]) => error as NodeJS.ErrnoException),
  ]);
  if (failure !== null) return null;
  servers.push(server);
  return { address: `${host === '::1' ? '[::1]' : host}:${(server.address() as AddressInfo).port}`, heard };
}

/** The environment of a machine whose hosts file names ::1 before 127.0.0.1, as most do. */
function ipv6First(folder: string): Record<string, string> {
  const hook = join(folder, 'hosts.cjs');
  const answer = "[{ address: '::1', family: 6 }, { address: '127.0.0.1', family: 4 }]";
  writeFileSync(
    hook,
    `const dns = require('node:dns'), { lookup } = dns;
dns.lookup = (name, options, done) => name !== 'localhost' ? lookup(name, options, done)
  : process.nextTick(() => options.all ? done(null, ${answer}) : done(null, '::1', 6));\n`,
  );
  return { ...env, NODE_OPTIONS: `--require ${hook}` };
}

async function needsIpv6(context: TestContext, stranger: Promise<Thief | null>): Promise<Thief> {
  const listening = await stranger;
  context.skip(listening === null, 'needs ::1');
  return listening!;
}

const tokensOf = ({ heard }: Thief): unknown[] => heard.map(({ authorization }) => authorization).filter(Boolean);

describe('the listener token', () => {
  it('goes to the session and not to what listens on [::1] at its port', async (context) => {
    const workspace = capsule({ manifest });
    const { process, line } = await startCapsule(workspace, [], { env });
    const port = Number(line.url.split(':')[1]);
    const other = await needsIpv6(
      context,
      thief('::1', port, { name: 'demo', url: line.url, session_id: line.session_id }),
    );
    const options = { env: ipv6First(workspace.home) };
    for (const wanted of [line.session_id, line.url]) {
      const watch = new SvcProcess(workspace, ['watch', '--json', wanted], options);
      await watch.printed(/connection-ack/);
      watch.child.kill('SIGKILL');
      await watch.ended;
    }
    expect((await svc(workspace, ['stop', line.url], options)).stderr).toContain(`stopped ${line.session_id}`);
    expect(await process.ended).toMatchObject({ code: 0 });
    expect(other.heard).toEqual([]);
  });

  it('goes to nobody at an address where no session of this user is bound, unless that is asked for', async () => {
    const workspace = capsule({ manifest });
    const { process, line } = await startCapsule(workspace, [], { env });
    const other = (await thief('127.0.0.1', 0))!;
    for (const command of ['watch', 'stop']) {
      const { code, stderr } = await svc(workspace, [command, other.address], { env });
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr:
          `error[E-IO-005]: the capsule at ${other.address} asks for a token; SVC_LISTENER_TOKEN was not sent, as no session of yours is bound there\n` +
          'hint: svc ps lists your sessions; --send-token sends it there all the same\n',
      });
    }
    expect(tokensOf(other)).toEqual([]);
    await svc(workspace, ['watch', other.address, '--send-token'], { env });
    expect(tokensOf(other)).toEqual([`Bearer ${token}`]);
    process.child.kill('SIGTERM');
    expect((await process.ended).code).toBe(0);
    expect(line.session_id).toMatch(/^ses_/);
  });

  it('goes to nobody when the card at the address of a session is of another one', async () => {
    const workspace = capsule({ manifest });
    const { process, line } = await startCapsule(workspace, [], { env });
    const other = (await thief('127.0.0.1', 0, { name: 'x', url: 'x', session_id: 'ses_\u001B[2Jother' }))!;
    changeRecord(workspace.home, line.session_id, { address: other.address });
    const watch = await svc(workspace, ['watch'], { env });
    expect(watch.stderr).toContain('is used by session ses_\\u{1b}[2Jother, not by');
    const stop = await svc(workspace, ['stop'], { env });
    expect(stop.stderr).toContain(`its process ${line.pid} is sent SIGTERM\nstopped ${line.session_id}\n`);
    expect((await process.ended).code).toBe(0);
    expect(tokensOf(other)).toEqual([]);
    expect(stop.stderr).not.toContain('\u001B');
  });
});
