/** The agent's half of the Agent Client Protocol: each session of an editor is a capsule. */

import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';

import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { version } from '@svc/kit/version.ts';
import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { decodeTraceparent } from '@svc/protocol/traceparent.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import type { ServedOptions } from '../run-served.ts';
import type { EditorOutput } from './editor-output.ts';
import type { EditorPeer } from './editor-peer.ts';
import { type EditorAbilities, EditorSession } from './editor-session.ts';
import { failed, invalidParams, methodNotFound, notFound } from './fault.ts';
import { KeptSessions, workspacesOf } from './kept-session.ts';
import { parsePrompt } from './prompt.ts';

/** Each is a process. */
const maxSessions = 32;

const noServers =
  'The MCP servers of the editor are not used: the tools of a capsule are those that its manifest names.\n\n';

type Handler = (params: JsonObject, agent: AcpAgent) => Promise<unknown> | JsonObject;

/** By their names (docs/adr/doors.md "An editor's session is a process"). */
const methods: Readonly<Record<string, Handler>> = {
  initialize: (params, agent) => agent.initialize(params),
  'session/new': async (params, agent) => await agent.newSession(params),
  'session/load': async (params, agent) => await agent.load(params),
  'session/list': (params, agent) => agent.list(params),
  'session/prompt': async (params, agent) => await agent.prompt(params),
  'session/close': async (params, agent) => await agent.close(params),
};

/** One connection with an editor. */
export class AcpAgent {
  readonly #options: ServedOptions;
  readonly #context: CommandContext;
  readonly #output: EditorOutput;
  readonly #kept: KeptSessions;
  readonly #sessions = new Map<string, EditorSession>();
  /** Sessions that are being launched. */
  readonly #starting = new Set<string>();
  #abilities: EditorAbilities = { takesForms: false };
  #peer: EditorPeer | null = null;
  #hasEnded = false;

  constructor(options: ServedOptions, context: CommandContext, output: EditorOutput) {
    this.#options = options;
    this.#context = context;
    this.#output = output;
    this.#kept = new KeptSessions(workspacesOf(options, context));
  }

  async request(method: string, given: unknown, peer: EditorPeer): Promise<unknown> {
    this.#peer = peer;
    const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (handler === undefined) throw methodNotFound();
    const params = given === undefined ? {} : asJsonObject(given);
    if (params === null) throw invalidParams('params must be an object');
    return await handler(params, this);
  }

  /** Ignores notifications that it does not know, and those for sessions that are not there. */
  notification(method: string, given: unknown): void {
    if (method !== 'session/cancel') return;
    this.#sessions.get(String(asJsonObject(given)?.['sessionId']))?.cancel();
  }

  /** Ends every session, and what it started with it; one that is being launched, as soon as it is. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await Promise.all([...this.#sessions.values()].map(async (session) => await session.close()));
  }

  /** This version is all there is, whatever the editor asks for: it decides whether it can use it. */
  initialize(params: JsonObject): JsonObject {
    const elicitation = asJsonObject(asJsonObject(params['clientCapabilities'])?.['elicitation']);
    this.#abilities = { takesForms: asJsonObject(elicitation?.['form']) !== null };
    return {
      protocolVersion: 1,
      agentInfo: { name: 'svc', version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: false, audio: false, embeddedContext: true },
        mcpCapabilities: { http: false, sse: false },
        sessionCapabilities: { list: {}, close: {} },
      },
      authMethods: [],
    };
  }

  async newSession(params: JsonObject): Promise<JsonObject> {
    const cwd = directoryOf(params);
    const sessionId = randomUUID().replaceAll('-', '');
    await this.#start(sessionId, cwd, serversOf(params));
    return { sessionId };
  }

  /** What was said before is said again, and the conversation goes on. */
  async load(params: JsonObject): Promise<JsonObject> {
    const info = this.#kept.find(params['sessionId']);
    if (info === null) throw notFound('there is no session of that id to load');
    const cwd = directoryOf(params);
    if (cwd !== info.cwd) throw invalidParams('cwd is not that of the session');
    const { sessionId } = info;
    if (!this.#sessions.has(sessionId)) await this.#start(sessionId, cwd, serversOf(params));
    for (const update of this.#kept.updates(sessionId)) this.#peer?.notify('session/update', { sessionId, update });
    return {};
  }

  list(params: JsonObject): JsonObject {
    const { cwd = null } = params;
    if (cwd !== null && (typeof cwd !== 'string' || !isAbsolute(cwd))) {
      throw invalidParams('cwd must be an absolute path');
    }
    const of = cwd === null ? null : resolve(cwd);
    return { sessions: this.#kept.list().filter((info) => of === null || info.cwd === of) };
  }

  async prompt(params: JsonObject): Promise<JsonObject> {
    const session = this.#sessionOf(params);
    const prompt = parsePrompt(params['prompt']);
    const given = asJsonObject(params['_meta'])?.['traceparent'];
    const traceparent = typeof given === 'string' && decodeTraceparent(given) !== null ? given : undefined;
    return { stopReason: await session.prompt(prompt, traceparent) };
  }

  async close(params: JsonObject): Promise<JsonObject> {
    const session = this.#sessionOf(params);
    this.#sessions.delete(String(params['sessionId']));
    await session.close();
    return {};
  }

  async #start(id: string, cwd: string, hasServers: boolean): Promise<void> {
    const peer = this.#peer;
    if (peer === null) throw new Error('a request comes from somebody');
    if (this.#sessions.size + this.#starting.size >= maxSessions) {
      throw failed(`there are ${maxSessions} sessions already; close one`);
    }
    if (this.#starting.has(id)) throw failed('this session is being loaded already');
    this.#starting.add(id);
    try {
      const session = await EditorSession.start(
        {
          id,
          cwd,
          peer,
          output: this.#output,
          abilities: () => this.#abilities,
          context: this.#context,
          notice: hasServers ? noServers : null,
          onEnd: () => void this.#sessions.delete(id),
        },
        this.#options,
      );
      if (this.#hasEnded) {
        await session.close();
        throw failed('the connection has ended');
      }
      this.#sessions.set(id, session);
    } finally {
      this.#starting.delete(id);
    }
  }

  #sessionOf({ sessionId }: JsonObject): EditorSession {
    const session = typeof sessionId === 'string' ? this.#sessions.get(sessionId) : undefined;
    if (session === undefined) throw invalidParams('there is no session of that sessionId');
    return session;
  }
}

function directoryOf({ cwd }: JsonObject): string {
  if (typeof cwd !== 'string' || !isAbsolute(cwd) || cwd.includes('\0')) {
    throw invalidParams('cwd must be an absolute path');
  }
  if (unlessRefused(() => statSync(cwd).isDirectory(), false)) return resolve(cwd);
  throw invalidParams('cwd is no directory');
}

function serversOf({ mcpServers = [] }: JsonObject): boolean {
  if (!Array.isArray(mcpServers)) throw invalidParams('mcpServers must be a list');
  return mcpServers.length > 0;
}
