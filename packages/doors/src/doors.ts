/** The routes of the doors that a capsule has beside its own protocol. What answers there is loaded with the first request. */

import type { DoorName } from '@svc/artifacts/manifest/door-names.ts';
import type { Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest, RequestHead, Route } from '@svc/kit/http/route.ts';
import type { DoorSession } from './core/door-core.ts';
import type { OpenDoors } from './open-doors.ts';

/** Largest body that a door takes (docs/doors.md "What all doors have in common"). */
const maxBodyBytes = 10 * 1024 * 1024;

/** Where clients of the Model Context Protocol find the capsule. */
const mcpPath = '/mcp';

type Answer = Reply | Promise<Reply>;

/** The routes of these doors. `use` hands the doors of the session on as soon as there is one. */
export function doorRoutes(
  serve: readonly DoorName[],
  use: (answer: (doors: Doors) => Answer) => Answer,
): readonly Route[] {
  const routes: Route[] = [];
  if (serve.includes('a2a')) {
    const handle = (request: HttpRequest): Answer => use((doors) => doors.use((open) => open.a2a(request)));
    // Some HTTP libraries put a slash behind the address of an interface.
    for (const path of ['/a2a', '/a2a/']) {
      routes.push({ method: 'POST', path, body: 'whole', maxBytes: maxBodyBytes, handle });
    }
    routes.push({ method: '*', path: '/a2a/', prefix: true, body: 'whole', maxBytes: maxBodyBytes, handle });
  }
  if (serve.includes('mcp')) {
    const handle = (request: RequestHead | HttpRequest): Answer =>
      use((doors) => doors.use((open) => open.mcp(request)));
    routes.push({ method: 'POST', path: mcpPath, body: 'whole', maxBytes: maxBodyBytes, handle });
    for (const method of ['GET', 'DELETE']) routes.push({ method, path: mcpPath, body: 'unread', handle });
  }
  if (serve.includes('openai')) {
    const handle = (request: RequestHead | HttpRequest): Answer =>
      use((doors) => doors.use((open) => open.openAi(request)));
    routes.push(...openAiRoutes(handle));
  }
  return routes;
}

/** What is taken to cancel a response says nothing. */
const maxCancelBytes = 16 * 1024;

function openAiRoutes(handle: (request: RequestHead | HttpRequest) => Answer): readonly Route[] {
  const whole = { method: 'POST', body: 'whole', maxBytes: maxBodyBytes, handle } as const;
  const unread = { method: 'GET', body: 'unread', handle } as const;
  return [
    { ...unread, path: '/v1/models' },
    { ...unread, path: '/v1/models/', prefix: true },
    { ...whole, path: '/v1/chat/completions' },
    { ...whole, path: '/v1/responses' },
    { ...unread, path: '/v1/responses/', prefix: true },
    { ...whole, path: '/v1/responses/', prefix: true, maxBytes: maxCancelBytes },
  ];
}

/** The doors of one session, which are opened when somebody comes. */
export class Doors {
  readonly #session: DoorSession;
  readonly #serve: readonly DoorName[];
  #opening: Promise<OpenDoors> | null = null;
  #open: OpenDoors | null = null;

  constructor(session: DoorSession, serve: readonly DoorName[]) {
    this.#session = session;
    this.#serve = serve;
  }

  /** Without a promise once they are open, which is what nearly every request meets. */
  use(answer: (open: OpenDoors) => Answer): Answer {
    if (this.#open !== null) return answer(this.#open);
    this.#opening ??= import('./open-doors.ts').then(async ({ OpenDoors }) => {
      this.#open = new OpenDoors(this.#session, await this.#session.facts());
      return this.#open;
    });
    return this.#opening.then(answer);
  }

  /** The card with what the doors add to it; null where they add nothing. */
  card(request: Pick<RequestHead, 'headers'>): Answer | null {
    return this.#serve.includes('a2a') ? this.use((open) => open.card(request)) : null;
  }
}
