/** Signs the agent card, so that clients can check who has written it (A2A 1.0, 8.4). */

import { type KeyObject, sign } from 'node:crypto';

import { isJsonObject } from '@svc/protocol/json-object.ts';

/** What cards are signed with: Ed25519. */
export interface CardKey {
  readonly privateKey: KeyObject;
  /** The thumbprint of its public half (RFC 7638). */
  readonly kid: string;
}

/** A JWS without its payload, which is the card itself. */
export interface CardSignature {
  readonly protected: string;
  readonly signature: string;
}

/** The part of the protocol's definition of a card that cards of svc have; `true` takes a value whole, `*` stands for every name. */
type Part = true | { readonly [name: string]: Part } | readonly [Part];

const scheme = { description: true, scheme: true, bearerFormat: true } as const;
const cardParts: Part = {
  name: true,
  description: true,
  version: true,
  supportedInterfaces: [{ url: true, protocolBinding: true, protocolVersion: true }],
  capabilities: {
    streaming: true,
    pushNotifications: true,
    extendedAgentCard: true,
    extensions: [{ uri: true, description: true }],
  },
  securitySchemes: { '*': { httpAuthSecurityScheme: scheme } },
  defaultInputModes: true,
  defaultOutputModes: true,
  skills: [{ id: true, name: true, description: true, tags: true }],
};

/**
 * What is signed of a card: the keys that the protocol has. Verifiers read a card by its definition before they write it anew, so others are
 * not covered. Some verifiers leave out the keys of the protocol that are empty lists and some do not, so the signed text has no empty list.
 */
export function signedText(card: unknown): string {
  return canonicalJson(partOf(card, cardParts));
}

export function signCard(card: unknown, { privateKey, kid }: CardKey): CardSignature {
  const head = base64url(JSON.stringify({ alg: 'EdDSA', typ: 'JOSE', kid }));
  const signature = sign(null, Buffer.from(`${head}.${base64url(signedText(card))}`), privateKey);
  return { protected: head, signature: signature.toString('base64url') };
}

/** JSON as RFC 8785 writes it. Numbers and texts are as ECMAScript has them, and keys in the order of their UTF-16 code units. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${(value as unknown[]).map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .toSorted((one, other) => (one < other ? -1 : 1))
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${members.join(',')}}`;
}

function partOf(value: unknown, part: Part): unknown {
  if (part === true) return value;
  if (Array.isArray(part)) {
    const [each] = part as readonly [Part];
    return (value as readonly unknown[]).map((item) => partOf(item, each));
  }
  const parts = part as Readonly<Record<string, Part>>;
  const kept = Object.entries(value as object).flatMap(([key, held]: [string, unknown]) => {
    const inner = parts[key] ?? parts['*'];
    return inner === undefined || held === undefined ? [] : [[key, partOf(held, inner)] as const];
  });
  return Object.fromEntries(kept);
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
