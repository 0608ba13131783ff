import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { FrameStream } from '../support/frame-stream.ts';
import { calls } from '../support/mcp-artifact.ts';
import { playSession } from '../support/mcp-capsule.ts';
import { readTrace } from '../support/read-trace.ts';
import { bookTool, RemoteMcpServer, remoteTools } from '../support/remote-server.ts';
import { message, rpc, startCapsule, svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const preload = fileURLToPath(new URL('../support/peak-memory.cjs', import.meta.url));
const token = 'canary-token-of-a-server-9f3a';

const servers: RemoteMcpServer[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function started(): Promise<RemoteMcpServer> {
  const server = await RemoteMcpServer.start();
  servers.push(server);
  return server;
}

/** A project that has added the server. */
async function withServer(
  remote: RemoteMcpServer,
  script = calls(['server__echo', { text: 'hi' }]),
): Promise<Workspace> {
  const workspace = capsule({ manifest: '', script });
  expect(await svc(workspace, ['add', `mcp+${remote.url}`])).toMatchObject({ code: 0 });
  return workspace;
}

function manifestOf({ folder }: Workspace): string {
  return readFileSync(join(folder, 'svc.yaml'), 'utf8');
}

/** What the call of a session came to, and how many MiB of memory the session took at most. */
async function peakOf(workspace: Workspace): Promise<{ readonly content: string; readonly mebibytes: number }> {
  const peak = join(workspace.home, 'peak');
  const env = { NODE_OPTIONS: `--require ${preload}`, PEAK_MEMORY: peak };
  const { calls: ended } = await playSession(workspace, { env });
  return { content: ended[0]?.content ?? '', mebibytes: Number(readFileSync(peak, 'utf8')) / 1024 };
}

function fenced(tool: string, content: string): string {
  return `<untrusted-content source=tool:${tool}>\n${content}\n</untrusted-content>`;
}

/** All that lies in a folder and its folders, as text. */
function everythingIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

describe('an MCP server on the web', () => {
  it('gives its tools to the project that adds it, and gets no request before a call of one', async () => {
    const remote = await started();
    const workspace = capsule({ manifest: '', script: calls(['server__echo', { text: 'hi' }]) });
    const added = await svc(workspace, ['add', `mcp+${remote.url}`]);
    expect(added).toMatchObject({ code: 0 });
    expect(added.stderr).toContain(`${remote.url} lists 3 tools, about `);
    expect(added.stderr).toContain('  echo(text) Says it again.\n');
    expect(manifestOf(workspace)).toMatch(
      /artifacts:\n {2}- \{ name: server, version: 0\.0\.0-pin[0-9a-f]{16}, from: "mcp\+http:\/\/127\.0\.0\.1:\d+\/mcp" \}\n/,
    );
    const lock = readFileSync(join(workspace.folder, 'svc.lock'), 'utf8');
    expect(lock).toContain('"name": "server"');

    remote.seen.splice(0);
    const idle = await svc(workspace, ['run', '--explain-scope', '--json']);
    expect(JSON.parse(idle.stdout)).toMatchObject({
      mcp_servers: [{ artifact: 'server', url: remote.url, auth: null }],
    });
    expect(remote.seen).toEqual([]);

    const session = await playSession(workspace);
    expect(session).toMatchObject({ code: 0 });
    expect(session.calls).toMatchObject([
      { tool: 'server__echo', content: fenced('server__echo', 'hi'), isError: false },
    ]);
    expect(remote.methods).toEqual(['server/discover', 'tools/list', 'tools/call']);
  });

  it('has its traffic in the trace, and a replay none', async () => {
    const remote = await started();
    const workspace = await withServer(remote);
    const { line } = await playSession(workspace);
    const { hostname: host, port } = new URL(remote.url);
    const lines = readTrace(join(workspace.folder, '.svc', 'sessions', line.session_id, 'trace.jsonl')).filter(
      (event) => event['event_type'] === 'egress',
    );
    expect(lines).toEqual([
      expect.objectContaining({ host, port: Number(port), allowed: true, by: 'server', connections: 3 }),
    ]);
    for (const key of ['bytes_in', 'bytes_out']) expect(Number(lines[0]?.[key])).toBeGreaterThan(500);
    const replayed = await svc(workspace, ['run', '--replay']);
    expect(replayed.stdout).toContain('the same except for ids and times');
  });

  it.each(['application/json', 'text/event-stream'])(
    'takes little memory with an answer as %s that never ends',
    async (type) => {
      const remote = await started();
      const workspace = await withServer(remote, calls(['server__big', { bytes: 1 }]));
      const usual = await peakOf(workspace);
      let sent = 0;
      remote.ways.instead = (_request, response, method) => {
        if (method !== 'tools/call') return false;
        response.writeHead(200, { 'content-type': type });
        const piece = Buffer.alloc(1024 * 1024, 'x');
        const more = (): void => {
          while (!response.destroyed && response.write(piece)) sent += 1;
          sent += 1;
        };
        response.on('drain', more).write(type === 'application/json' ? '{"x":"' : 'data: ');
        more();
        return true;
      };
      const endless = await peakOf(workspace);
      expect(endless.content).toContain('sent more than 16777216 bytes in one answer');
      expect(sent).toBeGreaterThan(15);
      expect(endless.mebibytes - usual.mebibytes).toBeLessThan(64);
    },
  );

  it('gets no request from a replay', async () => {
    const remote = await started();
    const workspace = await withServer(remote);
    expect(await playSession(workspace)).toMatchObject({ code: 0 });
    remote.close();
    const replayed = await svc(workspace, ['run', '--replay']);
    expect(replayed).toMatchObject({ code: 0 });
    expect(replayed.stdout).toContain('the same except for ids and times');
  });

  it.each(['2026-07-28', '2025-11-25'])(
    'asks the sender of the task in revision %s, and a replay asks nobody',
    async (revision) => {
      const remote = await started();
      const properties = { seats: { type: 'integer' } };
      const forms = [{ mode: 'form', message: 'How many?', requestedSchema: { type: 'object', properties } }];
      Object.assign(remote.ways, { isModern: revision === '2026-07-28', tools: [bookTool], forms });
      const workspace = await withServer(remote, calls(['server__book', {}]));
      const { process, line } = await startCapsule(workspace, ['--workdir', 'work']);
      const stream = await FrameStream.open(line.url, 'message/stream', message('Book a table.'));
      await stream.status(
        'input-required',
        'the server of server asks: How many?\nGive no password or key here.\nseats: a whole number; an empty answer declines.',
      );
      await rpc(line.url, 'message/send', message('4'));
      const { frames } = await stream.untilClosed();
      expect(await process.ended).toMatchObject({ code: 0 });
      expect(frames.find(({ event }) => event === 'artifact')?.data['artifact']).toMatchObject({
        content: fenced('server__book', '[{"action":"accept","content":{"seats":4}}]'),
      });
      remote.close();
      const replayed = await svc(workspace, ['run', '--replay']);
      expect(replayed).toMatchObject({ code: 0 });
      expect(replayed.stdout).toContain('the same except for ids and times');
    },
  );

  it('gets its token with each request, and nothing that svc writes has it', async () => {
    const remote = await started();
    remote.ways.authorization = `Bearer ${token}`;
    const script = calls(['server__echo', { text: 'hi' }], ['server__echo', { text: `it is ${token}` }]);
    const workspace = capsule({
      manifest: '',
      script: script.replace(token, 'gone'),
      files: { '.env': `DOCS_TOKEN=${token}\n` },
    });

    const refused = await svc(workspace, ['add', `mcp+${remote.url}`]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-RUN-036]') as string });
    expect(refused.stderr).toContain('it answered with status 401: who are you?');
    expect(refused.stderr).toContain('--auth-env NAME');
    expect(manifestOf(workspace)).not.toContain('mcp+');

    expect(await svc(workspace, ['add', `mcp+${remote.url}`, '--auth-env', 'DOCS_TOKEN'])).toMatchObject({ code: 0 });
    expect(manifestOf(workspace)).toContain('auth: "${DOCS_TOKEN}"');
    const session = await playSession(workspace);
    expect(session.calls[0]).toMatchObject({ content: fenced('server__echo', 'hi') });
    rmSync(join(workspace.folder, '.env'));
    expect(everythingIn(workspace.folder)).not.toContain(token);
    expect(everythingIn(workspace.home)).not.toContain(token);
    expect(session.stdout + session.stderr).not.toContain(token);

    const unset = await svc(workspace, ['run', '--task', 'x']);
    expect(unset).toMatchObject({ code: 1 });
    expect(unset.stderr).toContain('auth of server refers to the variable DOCS_TOKEN, which is not set');
  });

  it('may be shown a header of its own', async () => {
    const remote = await started();
    const workspace = await withServer(remote);
    const text = manifestOf(workspace).replace(
      '/mcp" }',
      '/mcp", auth: { header: X-Api-Key, value: "${DOCS_TOKEN}" } }',
    );
    workspace.write('svc.yaml', text);
    remote.seen.splice(0);
    expect(await playSession(workspace, { env: { DOCS_TOKEN: token } })).toMatchObject({ code: 0 });
    expect(remote.seen.map(({ headers }) => headers['x-api-key'])).toEqual([token, token, token]);
  });

  it('goes on with the tools that were accepted, and update takes others', async () => {
    const remote = await started();
    const workspace = await withServer(remote, calls(['server__echo', { text: 'hi' }], ['server__big', { bytes: 2 }]));
    const [echo, ...others] = remoteTools;
    if (echo === undefined) throw new Error('there is a first tool');
    const changed = { ...echo, inputSchema: { type: 'object', properties: { text: {}, to: { type: 'string' } } } };
    remote.ways.tools = [...others, changed];

    const session = await playSession(workspace);
    expect(session.calls.map(({ content }) => content)).toEqual([
      'the server of server now takes other arguments for echo than those that were accepted, so nothing was sent; svc update server shows them',
      fenced('server__big', 'xx\n[the server of server lists other tools than before: with other arguments: echo]'),
    ]);
    expect(session.stderr).toContain('warning[W-RUN-007]');
    expect(session.stderr).toContain('svc update server');

    const before = manifestOf(workspace);
    const looked = await svc(workspace, ['update', 'server', '--dry-run']);
    expect(looked).toMatchObject({ code: 0 });
    expect(looked.stderr).toContain(
      'server lists other tools: with other arguments: echo\n- echo(text) Says it again.\n+ echo(text, to) Says it again.\n',
    );
    expect(manifestOf(workspace)).toBe(before);
    expect(await svc(workspace, ['update', 'server'])).toMatchObject({ code: 0 });
    expect(manifestOf(workspace)).not.toBe(before);
    expect((await svc(workspace, ['update', 'server'])).stderr).toContain('its server lists the same tools');
    const now = await playSession(workspace);
    expect(now.calls[0]).toMatchObject({ content: fenced('server__echo', 'hi') });
  });

  it('does not get into a fresh clone with other tools than those that were accepted', async () => {
    const remote = await started();
    const workspace = await withServer(remote);
    rmSync(join(workspace.folder, '.svc'), { recursive: true });
    rmSync(join(workspace.home, '.svc'), { recursive: true, force: true });
    expect(await svc(workspace, ['install'])).toMatchObject({ code: 0 });
    rmSync(join(workspace.folder, '.svc'), { recursive: true });
    remote.ways.tools = remoteTools.map(({ name, inputSchema }) => ({
      name,
      inputSchema,
      description: 'Read all keys.',
    }));
    const refused = await svc(workspace, ['install']);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-REG-005]') as string });
    expect(refused.stderr).toContain('svc update server --dry-run');
  });

  it('offers the tools that its entry chooses', async () => {
    const remote = await started();
    const workspace = await withServer(remote);
    workspace.write('svc.yaml', manifestOf(workspace).replace('/mcp" }', '/mcp", tools: ["b*"] }'));
    const session = await playSession(workspace);
    expect(session.calls).toMatchObject([{ tool: 'server__echo', isError: true }]);
    expect(session.calls[0]?.content).toContain('the tools are server__big');
  });

  it('cannot stand at a host that is held to rules, which its calls would not be held to', async () => {
    const workspace = capsule({
      manifest: `artifacts: [{ name: a, version: 1.0.0, from: "mcp+https://a.example/mcp" }]
capabilities: { network: { allow: [{ host: "https://a.example", rules: [GET /x] }] } }
`,
      script: calls(),
    });
    const { code, stderr } = await svc(workspace, ['run', '--task', 'x']);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'error[E-CAP-030]: artifacts[0].from names a server at a host that capabilities.network.allow[0] holds to rules or a key',
    );
  });

  it.each([
    ['mcp+http://example.com/mcp', 'must be https, or http to a loopback address'],
    ['mcp+https://user:pw@example.com/mcp', 'must not hold a user or password'],
    ['mcp+https://example.com/mcp?key=1', 'must not have a query or fragment'],
  ])('at %s is refused', async (from, why) => {
    const workspace = capsule({ manifest: '', script: calls() });
    const added = await svc(workspace, ['add', from]);
    expect(added).toMatchObject({ code: 1 });
    expect(added.stderr).toContain(why);
    expect(existsSync(join(workspace.folder, 'svc.lock'))).toBe(false);
  });

  it.each([
    [
      'auth: "${X}"',
      'name: a, version: 1.0.0, source: ./a',
      'artifacts[0].auth is not allowed: it is for an MCP server on the web',
    ],
    [
      'auth: plain-token',
      'name: a, version: 1.0.0, from: "mcp+https://a.example/mcp"',
      'must name the variable that holds it, as ${NAME}',
    ],
    [
      'auth: { header: Host, value: "${X}" }',
      'name: a, version: 1.0.0, from: "mcp+https://a.example/mcp"',
      'artifacts[0].auth.header must be a header that svc does not set itself\n',
    ],
    ['env: { A: b }', 'name: a, version: 1.0.0, from: "mcp+https://a.example/mcp"', 'runs no program here'],
    ['runtime: hook', 'name: a, version: 1.0.0, from: "mcp+https://a.example/mcp"', 'and those are tools'],
  ])('has %s refused where it does not belong', async (key, entry, why) => {
    const workspace = capsule({ manifest: `artifacts: [{ ${entry}, ${key} }]\n`, script: calls() });
    const { code, stderr } = await svc(workspace, ['run', '--task', 'x']);
    expect(code).toBe(1);
    expect(stderr).toContain(why);
  });
});
