/** Stands in for a running capsule. */

import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { liveRecord } from './running-record.ts';
import type { Workspace } from './workspace.ts';

/** A server that stands where a capsule of a session would, with the card that it had; its streams carry what a test says. */
export class StandInCapsule {
  readonly #server: Server;
  readonly #streams: ServerResponse[] = [];
  /** The `last-event-id` of each stream. */
  readonly asked: (string | undefined)[] = [];
  /** How often its card was asked for. */
  cards = 0;
  #changed: (() => void)[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Listens, and is recorded as the running session `id` with a folder of the workspace, by the process of the test. */
  static async start(
    workspace: Workspace,
    card: Readonly<Record<string, unknown>>,
    id = String(card['session_id']),
  ): Promise<StandInCapsule> {
    const server = createServer();
    const capsule = new StandInCapsule(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => {
      if (request.method === 'GET') {
        capsule.cards += 1;
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ ...card, url: address }));
        return;
      }
      request.resume();
      response.writeHead(200, { 'content-type': 'text/event-stream', 'svc-events': '1' });
      response.write('event: connection-ack\ndata: {"role":"observer","conversation_mode":"stateless"}\n\n');
      capsule.asked.push(request.headers['last-event-id'] as string | undefined);
      capsule.#streams.push(response);
      for (const wake of capsule.#changed.splice(0)) wake();
    });
    const record = liveRecord({
      session_id: id,
      url: address,
      address,
      session_directory: join(workspace.folder, '.svc', 'sessions', id),
    });
    const running = join(workspace.home, '.svc', 'running');
    mkdirSync(running, { recursive: true });
    writeFileSync(join(running, `${id}.json`), JSON.stringify(record));
    return capsule;
  }

  /** The newest stream, once there is one. */
  async stream(): Promise<ServerResponse> {
    for (;;) {
      const stream = this.#streams.at(-1);
      if (stream !== undefined) return stream;
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** A status frame with an id. */
export function statusFrame(id: number, taskId: string, message: string): string {
  const data = { id: taskId, status: { state: 'working', message }, final: false };
  return `id: ${id}\nevent: status\ndata: ${JSON.stringify(data)}\n\n`;
}
