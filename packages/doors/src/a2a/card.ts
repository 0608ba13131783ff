/** The agent card with what A2A 1.0 adds to it. */

import { sha256Hex } from '@svc/kit/sha256.ts';
import { emptyReply, type Reply } from '@svc/kit/http/reply.ts';
import { singleHeader } from '@svc/kit/http/hygiene.ts';
import type { RequestHead } from '@svc/kit/http/route.ts';
import type { AgentCard } from '@svc/protocol/agent-card.ts';
import type { DoorCore, DoorFacts } from '../core/door-core.ts';
import { signCard } from '../core/card-signature.ts';
import { approvalExtension, callExtension, inputTimeoutExtension } from './objects.ts';
import { skillsExtension } from './params.ts';

type Json = Readonly<Record<string, unknown>>;

interface Described {
  readonly card: AgentCard;
  readonly facts: DoorFacts;
}

/** Where both bindings answer, below the public address. */
export const a2aPath = '/a2a';
export const a2aVersion = '1.0';

/**
 * The card of the capsule's own protocol, key for key, and behind its keys those of A2A. It holds no empty text and no empty list, on which
 * programs that sign or verify cards disagree.
 */
function publicCard({ card, facts }: Described): Json {
  return withSkills({ card, facts }, []);
}

/** What a client with a token sees besides: what the capsule has been taught. */
export function extendedCard({ card, facts }: Pick<DoorCore, 'card' | 'facts'>): Json {
  const taught = facts.skills.map(({ name, description }) => ({
    id: name,
    name,
    description: description === '' ? name : description,
    tags: ['skill'],
  }));
  return withSkills({ card, facts }, taught);
}

function withSkills(described: Described, taught: readonly Json[]): Json {
  const { cardKey } = described.facts;
  const card = unsignedCard(described, taught);
  return cardKey === undefined ? card : { ...card, signatures: [signCard(card, cardKey)] };
}

const skillsOfTasks = {
  uri: skillsExtension,
  description: 'Skills that a task begins with, as a list of names in the metadata of its message.',
  required: false,
};

function unsignedCard({ card, facts }: Described, taught: readonly Json[]): Json {
  const { publicUrl, asksForToken } = facts;
  const description = facts.description === null || facts.description === '' ? 'A svc capsule.' : facts.description;
  const guarded = {
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
  };
  return {
    ...card,
    capabilities: {
      ...card.capabilities,
      pushNotifications: (facts.push ?? []).length > 0,
      extendedAgentCard: asksForToken,
      extensions: [
        { uri: callExtension, description: 'Tool calls that ended, in the metadata of a status.', required: false },
        { uri: inputTimeoutExtension, description: 'Marks a question that nobody answered in time.', required: false },
        { uri: approvalExtension, description: 'Calls that a person approves, as data parts.', required: false },
        ...(facts.skills.length === 0 ? [] : [skillsOfTasks]),
      ],
    },
    description,
    supportedInterfaces: ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({
      url: `${publicUrl}${a2aPath}`,
      protocolBinding,
      protocolVersion: a2aVersion,
    })),
    ...(asksForToken ? guarded : {}),
    // Files are taken of whatever type; there is no name for all of them.
    defaultInputModes: ['text/plain', 'application/json', 'application/octet-stream'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'task', name: card.name, description, tags: ['agent'] }, ...taught],
  };
}

/** A card of one session does not change; the next session on the same port has another. */
const maxAgeSecs = 60;

/** The answer of `GET /.well-known/agent-card.json`, of a card made at `madeMs`: 304 to a client that has it. */
export function cardReplies(described: Described, madeMs: number): (request: Pick<RequestHead, 'headers'>) => Reply {
  const text = JSON.stringify(publicCard(described));
  const etag = `"${sha256Hex(text).slice(0, 32)}"`;
  const headers = { 'cache-control': `max-age=${maxAgeSecs}`, etag, 'last-modified': new Date(madeMs).toUTCString() };
  const reply: Reply = { kind: 'json', status: 200, text, headers };
  return (request) => (singleHeader(request.headers['if-none-match']) === etag ? emptyReply(304, headers) : reply);
}
