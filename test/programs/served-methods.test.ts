import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { changeRecord } from '../support/running-record.ts';
import { startCapsule, svc, type SvcEnd } from '../support/svc-process.ts';

const capsule = useCapsules();
const manifest = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';
const stream =
  'event: connection-ack\ndata: {"role":"observer","conversation_mode":"stateless"}\n\nevent: capsule-closed\ndata: {}\n\n';

/** What `svc watch` comes to with a session whose card has these keys beside its own, and what it asked for. */
async function watched(card: object): Promise<{ readonly end: SvcEnd; readonly asked: readonly string[] }> {
  const workspace = capsule({ manifest });
  const { process: session, line } = await startCapsule(workspace);
  const asked: string[] = [];
  const base = { name: 'demo', version: '1.0.0', url: line.url, session_id: line.session_id };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const isCard = request.method === 'GET';
      asked.push(isCard ? `GET ${request.url}` : (JSON.parse(body) as { method: string }).method);
      response.setHeader('content-type', isCard ? 'application/json' : 'text/event-stream');
      response.end(isCard ? JSON.stringify({ ...base, ...card }) : stream);
    });
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  changeRecord(workspace.home, line.session_id, { address });
  const end = await svc(workspace, ['watch', line.session_id]);
  session.child.kill('SIGTERM');
  await session.ended;
  return { end, asked };
}

const cardPath = 'GET /.well-known/agent-card.json';
const followed = { code: 0, stdout: '', stderr: 'the capsule closed its stream\n' };

describe('svc watch of a session', () => {
  it('asks for nothing that its card does not say it serves [D1-CARD-23]', async () => {
    const { end, asked } = await watched({ serves: { methods: ['tasks/get', 'session/stop'], planes: [] } });
    expect(asked).toEqual([cardPath]);
    expect(end.code).toBe(1);
    expect(end.stderr).toMatch(
      /^error\[E-RUN-057\]: the capsule at \S+ does not serve stream\/watch, as its card says\n/,
    );
  });

  it('asks for what its card says it serves, among methods it does not know [D1-CARD-23]', async () => {
    const { end, asked } = await watched({ serves: { methods: ['tasks/later', 'stream/watch'], planes: ['later'] } });
    expect(end).toMatchObject(followed);
    expect(asked).toEqual([cardPath, 'stream/watch']);
  });

  it('takes a card without serves for one of v0.3.0 or earlier, which shows by its answer [D1-CARD-23, D1-VER-01]', async () => {
    const { end, asked } = await watched({});
    expect(end).toMatchObject(followed);
    expect(asked).toEqual([cardPath, 'stream/watch']);
  });
});
