/** The doors of a session that somebody has come to: each is loaded with its first request. */

import type { Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest, RequestHead } from '@svc/kit/http/route.ts';
import type { A2aDoor } from './a2a/a2a-door.ts';
import { cardReplies } from './a2a/card.ts';
import type { McpDoor } from './mcp/mcp-door.ts';
import type { DoorFacts, DoorCore, DoorSession } from './core/door-core.ts';
import type { OpenAiDoor } from './openai/openai-door.ts';

/** What answers at the doors of one session. */
export class OpenDoors {
  /** The card with what A2A adds to it. */
  readonly card: (request: Pick<RequestHead, 'headers'>) => Reply;
  readonly #session: DoorSession;
  readonly #facts: DoorFacts;
  #core: Promise<DoorCore> | null = null;
  #a2aOpening: Promise<A2aDoor> | null = null;
  #a2a: A2aDoor | null = null;
  #mcp: Promise<McpDoor> | null = null;
  #openAiOpening: Promise<OpenAiDoor> | null = null;
  #openAi: OpenAiDoor | null = null;

  constructor(session: DoorSession, facts: DoorFacts) {
    this.card = cardReplies({ card: session.card, facts }, session.session.clock.now());
    this.#session = session;
    this.#facts = facts;
  }

  a2a(request: HttpRequest): Reply | Promise<Reply> {
    if (this.#a2a !== null) return this.#a2a.handle(request);
    this.#a2aOpening ??= this.#openA2a();
    return this.#a2aOpening.then((door) => door.handle(request));
  }

  async mcp(request: RequestHead | HttpRequest): Promise<Reply> {
    this.#mcp ??= this.#openMcp();
    const door = await this.#mcp;
    return await door.handle(request);
  }

  async #openMcp(): Promise<McpDoor> {
    const [{ McpDoor }, core] = await Promise.all([import('./mcp/mcp-door.ts'), this.#shared()]);
    return await McpDoor.open(core);
  }

  async #openA2a(): Promise<A2aDoor> {
    const [{ A2aDoor }, core] = await Promise.all([import('./a2a/a2a-door.ts'), this.#shared()]);
    const pushes = (this.#facts.push ?? []).length > 0;
    const push = pushes ? new (await import('./a2a/push/push-configs.ts')).PushConfigs(core) : null;
    this.#a2a = new A2aDoor(core, push);
    return this.#a2a;
  }

  openAi(request: RequestHead | HttpRequest): Reply | Promise<Reply> {
    if (this.#openAi !== null) return this.#openAi.handle(request);
    this.#openAiOpening ??= this.#openOpenAi();
    return this.#openAiOpening.then((door) => door.handle(request));
  }

  async #openOpenAi(): Promise<OpenAiDoor> {
    const [{ OpenAiDoor }, core] = await Promise.all([import('./openai/openai-door.ts'), this.#shared()]);
    this.#openAi = new OpenAiDoor(core);
    return this.#openAi;
  }

  /** What all doors share is made once, by the first that is used. */
  #shared(): Promise<DoorCore> {
    this.#core ??= import('./core/door-core.ts').then(({ DoorCore }) => new DoorCore(this.#session, this.#facts));
    return this.#core;
  }
}
