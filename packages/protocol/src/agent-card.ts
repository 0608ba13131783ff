/** The agent card: what a capsule says of itself before it is asked to do anything. */

import { asJsonObject, asStrings, stringOr } from './json-object.ts';

/** Where every capsule serves its card, also without a token. */
export const agentCardPath = '/.well-known/agent-card.json';

/** Every method `POST /` can answer, in the order the card lists them (D1 "Agent card"). */
export const servableMethods = [
  'message/send',
  'message/stream',
  'stream/watch',
  'tasks/get',
  'tasks/cancel',
  'session/stop',
] as const;

export type ServedMethod = (typeof servableMethods)[number];

export type ServedPlane = 'files' | 'peer_files';

/** `GET /.well-known/agent-card.json`: every key is on every card, in this order (D1 "Agent card"). */
export interface AgentCard {
  readonly name: string;
  readonly version: string;
  /** `host:port` the listener answers on. */
  readonly url: string;
  readonly session_id: string;
  readonly capabilities: {
    readonly tools: readonly string[];
    readonly shell: boolean;
    readonly network: boolean;
    readonly streaming: boolean;
  };
  readonly serves: {
    readonly methods: readonly ServedMethod[];
    readonly planes: readonly ServedPlane[];
  };
}

export interface AgentCardFacts {
  readonly name: string;
  readonly version: string;
  readonly url: string;
  readonly sessionId: string;
  /** Names of the installed artifacts the model can call. */
  readonly tools: readonly string[];
  readonly shellAllow: readonly string[];
  readonly networkAllow: readonly string[];
  readonly taskAcceptance: 'none' | 'single' | 'queue';
  /** Which planes the manifest declares. */
  readonly exports: Readonly<Record<ServedPlane, boolean>>;
}

export function agentCard(facts: AgentCardFacts): AgentCard {
  const methods = servedMethods(facts.taskAcceptance);
  return {
    name: facts.name,
    version: facts.version,
    url: facts.url,
    session_id: facts.sessionId,
    capabilities: {
      tools: facts.tools,
      shell: facts.shellAllow.length > 0,
      network: facts.networkAllow.length > 0,
      streaming: methods.includes('message/stream'),
    },
    serves: { methods, planes: planes.filter((plane) => facts.exports[plane]) },
  };
}

const planes = ['files', 'peer_files'] as const satisfies readonly ServedPlane[];

const needsAcceptance: ReadonlySet<ServedMethod> = new Set<ServedMethod>(['message/send', 'message/stream']);

function servedMethods(taskAcceptance: AgentCardFacts['taskAcceptance']): readonly ServedMethod[] {
  if (taskAcceptance !== 'none') return servableMethods;
  return servableMethods.filter((method) => !needsAcceptance.has(method));
}

/** What a card says its runtime answers; methods and planes of later versions are among them. */
export interface AgentServes {
  readonly methods: readonly string[];
  readonly planes: readonly string[];
}

/** A card as a client reads it. */
export interface DecodedCard {
  readonly name: string;
  readonly version: string;
  readonly url: string;
  readonly sessionId: string | null;
  /** Null on the card of a runtime at v0.3.0 or earlier, and where it has another form: what it answers follows from its version (D1 "Versioning" 1). */
  readonly serves: AgentServes | null;
}

/** A peer's card; undefined when it has no `name` or `url`. Another key of another form counts as absent; keys it does not know are ignored. */
export function decodeAgentCard(card: unknown): DecodedCard | undefined {
  const { name, url, version, session_id: sessionId, serves } = asJsonObject(card) ?? {};
  if (typeof name !== 'string' || typeof url !== 'string' || name === '' || url === '') return undefined;
  return {
    name,
    version: stringOr(version, ''),
    url,
    sessionId: stringOr(sessionId, null),
    serves: decodeServes(serves),
  };
}

function decodeServes(value: unknown): AgentServes | null {
  const serves = asJsonObject(value);
  const methods = asStrings(serves?.['methods']);
  const { planes: named = [] } = serves ?? {};
  const listed = asStrings(named);
  return methods === null || listed === null ? null : { methods, planes: listed };
}
