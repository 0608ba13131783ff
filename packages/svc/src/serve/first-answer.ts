/** Answers the request that clients of the Model Context Protocol begin with before the library of that protocol is there: loading it takes longer than all else. */

import { PassThrough, type Readable } from 'node:stream';

import { asJsonObject, type JsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { holdsWholeText } from '@svc/doors/core/bad-input.ts';
import { type IntroducedCapsule, servedCapabilities } from '@svc/doors/mcp/capsule-tool.ts';

/** A longer request is not answered here. */
const maxFirst = 64 * 1024;
const maxId = 256;

/** The versions that are answered here; the library answers any other. */
const versions: ReadonlySet<unknown> = new Set(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']);

/** How a connection began. */
export interface Beginning {
  /** In the place of the client's stream: all that comes, the first request too. */
  readonly input: PassThrough;
  /** The id of the request that has its answer already; null where none has. */
  readonly answeredId: string | number | null;
}

/**
 * Resolves once the first request is there, and has its answer where it is one of those: as soon as it is known what the capsule is. Returns null for a client
 * that leaves without a word.
 */
export async function answerFirst(
  source: Readable,
  about: Promise<IntroducedCapsule>,
  write: (answer: JsonObject) => void,
): Promise<Beginning | null> {
  const first = await firstOf(source);
  if (first.length === 0) return null;
  const input = new PassThrough();
  const asked = initializeIn(first);
  const held = asked === null ? first : asked.forLibrary;
  if (source.readableEnded || source.destroyed) {
    input.end(held);
  } else {
    source.unshift(held);
    source.pipe(input);
  }
  if (asked === null) return { input, answeredId: null };
  const { name, version } = await about;
  const { id, protocolVersion } = asked;
  const result = { protocolVersion, capabilities: servedCapabilities, serverInfo: { name, version } };
  write({ jsonrpc: '2.0', id, result });
  return { input, answeredId: id };
}

/** What comes up to the first end of a line, and with it; all of it without one. */
async function firstOf(source: Readable): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      source.off('data', take).off('end', done).off('close', done).pause();
      resolve();
    };
    const take = (piece: Buffer): void => {
      pieces.push(piece);
      length += piece.length;
      if (piece.includes(newline) || length > maxFirst) done();
    };
    source.on('data', take).once('end', done).once('close', done);
  });
  return Buffer.concat(pieces);
}

const newline = 0x0a;

interface Initialize {
  readonly id: string | number;
  readonly protocolVersion: string;
  /** What came, but of the request only what is used of it: the library must not find fault with what has been answered. */
  readonly forLibrary: Buffer;
}

function initializeIn(first: Buffer): Initialize | null {
  const end = first.indexOf(newline);
  const text = end === -1 ? null : decodeStrictUtf8(first.subarray(0, end));
  const message = text === null ? null : parseJsonObject(text);
  const { protocolVersion, capabilities, clientInfo, _meta } = asJsonObject(message?.['params']) ?? {};
  const id: unknown = message?.['id'];
  const client = asJsonObject(clientInfo);
  const abilities = asJsonObject(capabilities);
  if (message?.['jsonrpc'] !== '2.0' || message['method'] !== 'initialize' || !isId(id)) return null;
  if (typeof protocolVersion !== 'string' || !versions.has(protocolVersion) || _meta !== undefined) return null;
  if (abilities === null || typeof client?.['name'] !== 'string' || typeof client['version'] !== 'string') return null;
  if (!holdsWholeText(message)) return null;
  const { name, version } = client;
  const params = { protocolVersion, capabilities: usedOf(abilities), clientInfo: { name, version } };
  const line = JSON.stringify({ jsonrpc: '2.0', id, method: 'initialize', params });
  return { id, protocolVersion, forLibrary: Buffer.concat([Buffer.from(line), first.subarray(end)]) };
}

function isId(id: unknown): id is string | number {
  return typeof id === 'string' ? id.length <= maxId : Number.isSafeInteger(id);
}

/** Whether its user can be asked. */
function usedOf({ elicitation }: JsonObject): JsonObject {
  const kinds = asJsonObject(elicitation);
  if (kinds === null) return {};
  const known = ['form', 'url'].filter((kind) => kinds[kind] !== undefined);
  return { elicitation: Object.fromEntries(known.map((kind) => [kind, {}])) };
}
