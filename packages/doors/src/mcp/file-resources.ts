/** The exported files of a capsule as resources of the Model Context Protocol. */

import { isUtf8 } from 'node:buffer';
import type { ReadResourceResult, Resource, ResourceLink } from '@modelcontextprotocol/server';

import { busy } from '@svc/kit/http/refusal.ts';
import { yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import type { Reply } from '@svc/kit/http/reply.ts';
import type { FewAtOnce } from '@svc/kit/few-at-once.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import { decodeListing, type ListedFile, resourcesPath } from '@svc/protocol/resource-files.ts';
import type { TaskRecord } from '@svc/session/task/task-record.ts';
import type { DoorCore } from '../core/door-core.ts';
import { jsonBytes, readPatience, type Room } from './answer-room.ts';
import { bodyLength, discard, readUpTo } from './reply-bytes.ts';

const scheme = 'svc-file:///';
/** Limit for the list of all files as JSON. */
const maxListed = 16 * 1024 * 1024;
/** Limit for one file: it is held whole, and a message is no way to send more. */
const maxRead = 10 * 1024 * 1024;
const pageSize = 1000;
/** In the answer around what a file holds. */
const envelopeBytes = 1024;

/** What reading takes beside the capsule: room for the answer, and a turn, for a file is held several times over on its way into a message. */
export interface Reading {
  readonly core: DoorCore;
  readonly room: Room;
  readonly turns: FewAtOnce;
}

export interface ResourcePage {
  readonly resources: Resource[];
  readonly nextCursor?: string;
}

/** The path that a page begins behind, empty for the first; null for a cursor that no page has given. */
export function afterCursor(cursor = ''): string | null {
  const bytes = Buffer.from(cursor, 'base64url');
  return isUtf8(bytes) && bytes.toString('base64url') === cursor ? bytes.toString() : null;
}

/**
 * A page of the files behind a path, in the order of their paths; null where there are too many to list, or they cannot be read. Throws the refusal 503
 * where there is no room for a long one.
 */
export async function listResources(after: string, reading: Reading): Promise<ResourcePage | null> {
  const { core, room, turns } = reading;
  if (turns.isFull) throw busy();
  const page = await turns.run(async () => (room.isOver ? null : await pageOf(after, core)));
  if (page === null) return null;
  await demandRoom(jsonBytes(page), reading);
  return page;
}

async function pageOf(after: string, core: DoorCore): Promise<ResourcePage | null> {
  const files = await listedFiles(core);
  if (files === null) return null;
  const rest = files.filter(({ path }) => path > after);
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  return {
    resources: page.map(({ path, size_bytes: size }) => ({ uri: uriOf(path), name: path, size })),
    ...(rest.length > page.length && last !== undefined
      ? { nextCursor: Buffer.from(last.path).toString('base64url') }
      : {}),
  };
}

/**
 * What a file holds: text, or else base64. Returns null for one that is not there, that may not be read or that is too large. Throws the refusal 503 where there
 * is no room for a long one.
 */
export async function readResource(uri: string, reading: Reading): Promise<ReadResourceResult | null> {
  if (!uri.startsWith(scheme) || /[?#]/.test(uri)) return null;
  const { core, room, turns } = reading;
  if (turns.isFull) throw busy();
  const path = `${resourcesPath}files/${uri.slice(scheme.length)}`;
  const reply = await turns.run(async () => (room.isOver ? null : await answerOf(path, core)));
  if (reply === null) return null;
  // No file is larger as it is read, so this is enough for one that is sent as base64.
  const length = Math.min(bodyLength(reply) ?? maxRead, maxRead);
  if (!(await room.reserve(asBase64(length), readPatience))) {
    await discard(reply);
    throw busy();
  }
  const read = await turns.run(async () => {
    const bytes = await readUpTo(reply, maxRead);
    if (bytes === null) return null;
    const contents = contentsOf(uri, bytes);
    await yieldToLoop();
    const answerBytes = 'text' in contents ? jsonBytes(contents) : asBase64(bytes.length);
    // The library makes its message of it at once.
    await yieldToLoop();
    return { contents, answerBytes };
  });
  if (read === null) return null;
  await demandRoom(read.answerBytes, reading);
  return { contents: [read.contents] };
}

type Contents = ReadResourceResult['contents'][number];

function contentsOf(uri: string, bytes: Buffer): Contents {
  const isText = !bytes.includes(0) && isUtf8(bytes);
  if (isText) return { uri, mimeType: 'text/plain', text: bytes.toString() };
  return { uri, mimeType: 'application/octet-stream', blob: bytes.toString('base64') };
}

function asBase64(bytes: number): number {
  return Math.ceil(bytes / 3) * 4 + envelopeBytes;
}

async function demandRoom(bytes: number, { room }: Reading): Promise<void> {
  if (!(await room.reserve(bytes, readPatience))) throw busy();
}

/** Links to the files that the task has changed, as its record names them at its end for every door; none for a capsule that exports no files. */
export function linksToChanged({ artifacts }: TaskRecord): ResourceLink[] {
  const files = artifacts.flatMap((artifact) => artifact.files ?? []);
  return files.map(({ filename }) => ({ type: 'resource_link', uri: uriOf(filename), name: filename }));
}

async function listedFiles(core: DoorCore): Promise<readonly ListedFile[] | null> {
  if (!exportsFiles(core)) return [];
  const bytes = await answered(`${resourcesPath}files`, maxListed, core);
  return bytes === null ? null : (decodeListing(parseJson(bytes.toString()))?.files ?? null);
}

function exportsFiles({ card }: DoorCore): boolean {
  return card.serves.planes.includes('files');
}

/** The body of what `/resources/` answers; null for a refusal, and for more than `most` bytes. */
async function answered(path: string, most: number, core: DoorCore): Promise<Buffer | null> {
  return await readUpTo(await answerOf(path, core), most);
}

async function answerOf(path: string, { resources }: DoorCore): Promise<Reply> {
  return await resources.answer({ method: 'GET', path, query: '', headers: {} });
}

function uriOf(path: string): string {
  return scheme + path.split('/').map(encodeURIComponent).join('/');
}
