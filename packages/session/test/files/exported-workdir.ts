import { exportedPlanes } from '../../src/files/resource-planes.ts';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { HttpServer } from '@svc/kit/http/server.ts';
import { RefusedRequests, type RefusalCount } from '../../src/files/refused-requests.ts';
import {
  resourceDoor,
  resourceRoute,
  type ResourceEvent,
  type ResourcePlanesOptions,
} from '../../src/files/resource-routes.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { ask, type RawResponse } from '../../../kit/test/http/raw-client.ts';

export const mebibyte = 1024 * 1024;

/** Servers of a workdir of their own, with `out` exported unless the test says otherwise. */
export class ExportedWorkdir {
  readonly base: string = realpathSync(mkdtempSync(join(tmpdir(), 'svc-resources-')));
  readonly out: string = join(this.base, 'workdir', 'out');
  readonly events: (ResourceEvent | RefusalCount)[] = [];
  readonly clock: FakeClock = new FakeClock();
  readonly #refusals = new RefusedRequests({ clock: this.clock, write: (event) => this.events.push(event) > 0 });
  generation = 0;
  readonly #bugs: unknown[] = [];
  readonly #servers: HttpServer[] = [];

  constructor() {
    mkdirSync(this.out, { recursive: true });
    mkdirSync(join(this.base, 'session'));
  }

  /** A server on loopback; its port. */
  async open(over: Partial<ResourcePlanesOptions> = {}): Promise<number> {
    const options: ResourcePlanesOptions = {
      workdir: join(this.base, 'workdir'),
      files: { root: 'out', max_bytes: 100 * mebibyte },
      peerFiles: null,
      achieved: 'sealed',
      generation: () => this.generation,
      spoolDirectory: join(this.base, 'session'),
      onAccepted: (event) => this.events.push(event),
      refusals: this.#refusals,
      ...over,
    };
    const door = resourceDoor(options, exportedPlanes(options));
    const onBug = (error: unknown): unknown => this.#bugs.push(error);
    const server = new HttpServer({ routes: [resourceRoute(door)], token: null, onBug });
    this.#servers.push(server);
    const bound = await server.bind({ address: '127.0.0.1', port: 0 });
    if (bound.kind !== 'bound') throw new Error(bound.kind);
    return bound.port;
  }

  /** Fails when a handler had a bug. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close(0)));
    rmSync(this.base, { recursive: true });
    if (this.#bugs.length > 0) throw new AggregateError(this.#bugs, 'a handler had a bug');
  }
}

export function get(port: number, target: string): Promise<RawResponse> {
  return ask(port, `GET ${target} HTTP/1.1`);
}

/** `<status> <error>` of a refusal: a JSON object of exactly `error` and `message`, a sentence. */
export function refusalOf({ status, headers, body }: RawResponse): string {
  const refusal = JSON.parse(body) as Record<string, string>;
  const isSentence = /^[A-Z].*\.$/.test(refusal['message'] ?? '');
  const isRefusal = headers['content-type'] === 'application/json' && isSentence;
  if (!isRefusal || Object.keys(refusal).join(',') !== 'error,message') throw new Error(`no refusal: ${body}`);
  return `${status} ${refusal['error']}`;
}
