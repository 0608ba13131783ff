import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { type Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { isGone } from '../support/is-gone.ts';
import { startObligingModel } from '../support/obliging-model.mjs';
import { StreamedCapsule, staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';
import { mcpClient, revisions, type ClientChoice } from '../../packages/doors/test/mcp-client.ts';

const capsules = useStreamedCapsules();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));
const manual = fileURLToPath(new URL('../../docs/doors.md', import.meta.url));
const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

/** Its model does what a word in the message asks for. */
async function obliged(more = staysUp): Promise<Workspace> {
  const { workspace, close } = await obligedUntil(more);
  onTestFinished(close);
  return workspace;
}

/** The same until it is closed. */
async function obligedUntil(more = staysUp): Promise<{ readonly workspace: Workspace; readonly close: () => void }> {
  const model = await startObligingModel();
  const inference = `inference: { model: m, endpoint: "${model.endpoint}", driver: { artifact: svc-driver-openai } }\n`;
  const exported = 'exports: { files: { root: out, max_bytes: 100000 } }\n';
  const asker = 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
  const workspace = makeWorkspace({
    'svc.yaml': `name: demo\nversion: 1.2.3\ndescription: Obliges.\n${inference}${exported}${asker}${more}`,
  });
  const close = (): void => {
    model.close();
    workspace.remove();
  };
  return { workspace, close };
}

interface Started {
  readonly transport: StdioClientTransport;
  readonly said: string[];
}

/** `svc serve mcp` as a client starts it. */
function started(workspace: Workspace, args: readonly string[] = [], env: Record<string, string> = {}): Started {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, 'serve', 'mcp', ...args],
    cwd: workspace.folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: workspace.home, SVC_CONTAINMENT_CEILING: 'advisory', ...env },
    stderr: 'pipe',
  });
  const said: string[] = [];
  transport.stderr?.on('data', (bytes: Buffer) => said.push(String(bytes)));
  return { transport, said };
}

async function connected(choice: ClientChoice, transport: Parameters<Client['connect']>[0]): Promise<Client> {
  const client = mcpClient(choice);
  await client.connect(transport);
  clients.push(client);
  return client;
}

const demo = (task: string, more: object = {}): { name: string; arguments: Record<string, unknown> } => ({
  name: 'demo',
  arguments: { task, ...more },
});

const inShort = (result: Awaited<ReturnType<Client['callTool']>>): unknown[] => {
  const { state, text } = result.structuredContent as { state: string; text: string };
  return [state, text];
};

describe.each(['stdio', 'stdio of a session that runs', 'HTTP'] as const)('over %s', (way) => {
  // A session that runs is one for all of them.
  let session: StreamedCapsule;
  beforeAll(async () => {
    if (way === 'stdio') return;
    const { workspace, close } = await obligedUntil();
    session = await StreamedCapsule.start(workspace);
    return async () => {
      await session.dispose();
      close();
    };
  });

  async function open(choice: ClientChoice): Promise<Client> {
    if (way === 'stdio') return await connected(choice, started(await obliged()).transport);
    const { workspace, line } = session;
    if (way !== 'HTTP') return await connected(choice, started(workspace, [line.session_id]).transport);
    return await connected(choice, new StreamableHTTPClientTransport(new URL(`http://${line.url}/mcp`)));
  }

  describe.each(revisions)('a client of %s', (revision) => {
    it('gives tasks, is asked by a form, takes a call back and reads files', async () => {
      const client = await open({ revision, answer: (question) => `plum to ${question}` });
      expect(client.getNegotiatedProtocolVersion()).toBe(revision);
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['demo']);
      const heard: (string | undefined)[] = [];
      const result = await client.callTool(demo('hello'), { onprogress: ({ message }) => heard.push(message) });
      expect(inShort(result)).toEqual(['completed', 'echo: hello']);
      expect(heard).toContain('inference turn 1');
      const links = (result.content as { type: string; uri?: string }[]).filter(({ type }) => type === 'resource_link');
      expect(links.map(({ uri }) => uri)).toEqual(['svc-file:///result.txt']);
      const { resources } = await client.listResources();
      expect(resources.map(({ uri }) => uri)).toEqual(['svc-file:///result.txt']);
      const { contents } = await client.readResource({ uri: 'svc-file:///result.txt' });
      expect(contents).toMatchObject([{ mimeType: 'text/plain', text: expect.stringContaining('echo: hello') }]);
      for (const uri of ['svc-file:///../svc.yaml', 'svc-file:///%2e%2e/svc.yaml', 'svc-file:////etc/passwd']) {
        await expect(client.readResource({ uri })).rejects.toThrow('Resource not found');
      }
      const asked = await client.callTool(demo('ask'));
      expect(inShort(asked)).toEqual(['completed', expect.stringContaining('plum to')]);
      expect(inShort(await client.callTool(demo('fail')))).toEqual([
        'failed',
        expect.stringContaining('the model is on holiday'),
      ]);
      const stop = new AbortController();
      const onprogress = (): void => stop.abort();
      await expect(client.callTool(demo('slow'), { signal: stop.signal, onprogress })).rejects.toThrow(/abort/i);
      // The task that was taken back is in nobody's way.
      expect(inShort(await client.callTool(demo('again')))).toEqual(['completed', 'echo: again']);
    });

    it('without forms answers with the next call', async () => {
      const client = await open({ revision });
      const asked = await client.callTool(demo('ask'));
      const { task_id, state } = asked.structuredContent as { task_id: string; state: string };
      expect(state).toBe('input-required');
      expect(inShort(await client.callTool(demo('green', { task_id })))).toEqual([
        'completed',
        expect.stringContaining('green'),
      ]);
    });
  });
});

describe('svc serve mcp', () => {
  it('says what it is of a capsule that ends after each task, and stays for the next', async () => {
    const { transport } = started(await obliged('lifecycle: { task_acceptance: none }\n'));
    const client = await connected({ revision: '2025-11-25' }, transport);
    expect(inShort(await client.callTool(demo('one')))).toEqual(['completed', 'echo: one']);
    expect(inShort(await client.callTool(demo('two')))).toEqual(['completed', 'echo: two']);
  });

  it('ends with its standard input, and the task with it', async () => {
    const { transport, said } = started(await obliged());
    const client = await connected({ revision: '2025-11-25' }, transport);
    const slow = client.callTool(demo('slow')).catch(() => 'lost');
    await client.listTools();
    const { pid } = transport;
    await client.close();
    expect(await slow).toBe('lost');
    while (!isGone(pid ?? 0)) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(said.join('')).not.toMatch(/internal error|bug/i);
  });

  it('says on standard error why a capsule cannot be launched', async () => {
    const { transport, said } = started(makeWorkspace({ 'svc.yaml': 'name: demo\n' }));
    await expect(connected({ revision: '2025-11-25' }, transport)).rejects.toThrow(/closed/i);
    await expect.poll(() => said.join('')).toContain('E-MAN-');
  });

  it('has the form in which docs/doors.md has programs start it', async () => {
    const [, block = ''] = /```json\n([^]*?)```/.exec(readFileSync(manual, 'utf8')) ?? [];
    const { mcpServers } = JSON.parse(block) as { mcpServers: Record<string, { command: string; args: string[] }> };
    const { command, args } = mcpServers['scribe'] ?? { command: '', args: [] };
    expect([command, ...args]).toEqual(['svc', 'serve', 'mcp', '--manifest', '/home/me/scribe/svc.yaml']);
    const workspace = await obliged();
    const { transport } = started(workspace, ['--manifest', `${workspace.folder}/svc.yaml`]);
    const client = await connected({ revision: '2025-11-25' }, transport);
    expect((await client.listTools()).tools[0]?.description).toContain('Obliges.');
  });
});

describe('svc serve mcp of a session that runs', () => {
  it.each(revisions)(
    'takes back what a client of %s asks as its standard input ends, and the session runs on',
    async (revision) => {
      const workspace = await obliged();
      const capsule = await capsules.from(workspace);
      const { transport } = started(workspace, [capsule.line.session_id.slice(-8)]);
      const client = await connected({ revision }, transport);
      const { pid } = transport;
      let hear = (): void => {};
      const heard = new Promise<void>((resolve) => (hear = resolve));
      const slow = client.callTool(demo('slow'), { onprogress: () => hear() }).catch(() => 'lost');
      await heard;
      await client.close();
      expect(await slow).toBe('lost');
      while (!isGone(pid ?? 0)) await new Promise((resolve) => setTimeout(resolve, 20));
      const received = capsule.trace.find(({ event_type: type }) => type === 'task_received');
      const task = String(received?.['task_id']);
      while ((await capsule.task(task)).status.state !== 'canceled')
        await new Promise((resolve) => setTimeout(resolve, 20));
      expect((await capsule.send('hello')).status.state).toBe('submitted');
    },
  );

  it('answers what is asked with an error, and ends, when the process of the capsule ends', async () => {
    const workspace = await obliged();
    const capsule = await capsules.from(workspace);
    const { transport, said } = started(workspace, [capsule.line.session_id]);
    const client = await connected({ revision: '2025-11-25' }, transport);
    let hear = (): void => {};
    const heard = new Promise<void>((resolve) => (hear = resolve));
    const slow = client.callTool(demo('slow'), { onprogress: () => hear() });
    await heard;
    const { pid } = transport;
    const refused = slow.then(
      () => 'answered',
      ({ message }: Error) => message,
    );
    capsule.process.child.kill('SIGKILL');
    expect(await refused).toMatch(/the connection to the capsule was lost|the capsule has ended/);
    while (!isGone(pid ?? 0)) await new Promise((resolve) => setTimeout(resolve, 20));
    await expect.poll(() => said.join('')).toContain('error[E-IO-003]: the capsule at 127.0.0.1:');
  });

  it('shows the token of the environment, and says when it has none', async () => {
    const workspace = await obliged();
    const token = { SVC_LISTENER_TOKEN: 'open-sesame-of-the-test' };
    const capsule = await capsules.from(workspace, token);
    const client = await connected(
      { revision: '2026-07-28' },
      started(workspace, [capsule.line.session_id], token).transport,
    );
    expect(inShort(await client.callTool(demo('hello')))).toEqual(['completed', 'echo: hello']);
    const without = await svc(workspace, ['serve', 'mcp', capsule.line.session_id]);
    expect([without.code, without.stdout]).toEqual([1, '']);
    expect(without.stderr).toContain('answered 401');
  });

  it('fails where the manifest closes the door, and takes no option of a start', async () => {
    const workspace = await obliged(`${staysUp}doors: { serve: [a2a] }\n`);
    const { line } = await capsules.from(workspace);
    const closed = await svc(workspace, ['serve', 'mcp', line.session_id]);
    expect([closed.code, closed.stdout]).toEqual([1, '']);
    expect(closed.stderr).toContain('error[E-RUN-057]');
    const both = await svc(workspace, ['serve', 'mcp', line.session_id, '--manifest', 'svc.yaml']);
    expect([both.code, both.stderr]).toEqual([
      2,
      expect.stringContaining('--manifest is for a capsule that is started'),
    ]);
    const unknown = await svc(workspace, ['serve', 'mcp', 'ffff']);
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('E-RUN-026')]);
  });
});
