/** The exported files of a capsule as resources of the Model Context Protocol. */

import { isUtf8 } from 'node:buffer';

import type { ReadResourceResult, Resource, ResourceLink } from '@modelcontextprotocol/server';

import { readUpTo } from './reply-bytes.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import { decodeListing, type ListedFile, resourcesPath } from '@svc/protocol/resource-files.ts';
import type { TaskRecord } from '../../../session/task-record.ts';
import type { DoorCore } from '../door-core.ts';

const scheme = 'svc-file:///';
/** Of the list of all files as JSON. */
const mostListed = 16 * 1024 * 1024;
/** Of one file: it is held whole, and a message is no way to send more. */
const mostRead = 10 * 1024 * 1024;
const pageSize = 1000;

export interface ResourcePage {
  readonly resources: Resource[];
  readonly nextCursor?: string;
}

/** A page of the files, in the order of their paths; null where there are too many to list, or they cannot be read. */
export async function listResources(cursor: string | undefined, core: DoorCore): Promise<ResourcePage | null> {
  const files = await listedFiles(core);
  if (files === null) return null;
  const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString();
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

/** What a file holds: text, or else base64. Null for one that is not there, that may not be read or that is too large. */
export async function readResource(uri: string, core: DoorCore): Promise<ReadResourceResult | null> {
  if (!uri.startsWith(scheme) || /[?#]/.test(uri)) return null;
  const bytes = await answered(`${resourcesPath}files/${uri.slice(scheme.length)}`, mostRead, core);
  if (bytes === null) return null;
  const isText = !bytes.includes(0) && isUtf8(bytes);
  if (isText) return { contents: [{ uri, mimeType: 'text/plain', text: bytes.toString() }] };
  return { contents: [{ uri, mimeType: 'application/octet-stream', blob: bytes.toString('base64') }] };
}

/** Links to the files that the task has changed, as its record names them at its end for every door; none for a capsule that exports no files. */
export function linksToChanged({ artifacts }: TaskRecord): ResourceLink[] {
  const files = artifacts.flatMap((artifact) => artifact.files ?? []);
  return files.map(({ filename }) => ({ type: 'resource_link', uri: uriOf(filename), name: filename }));
}

async function listedFiles(core: DoorCore): Promise<readonly ListedFile[] | null> {
  if (!exportsFiles(core)) return [];
  const bytes = await answered(`${resourcesPath}files`, mostListed, core);
  return bytes === null ? null : (decodeListing(parseJson(bytes.toString()))?.files ?? null);
}

function exportsFiles({ card }: DoorCore): boolean {
  return card.serves.planes.includes('files');
}

/** The body of what `/resources/` answers; null for a refusal, and for more than `most` bytes. */
async function answered(path: string, most: number, { resources }: DoorCore): Promise<Buffer | null> {
  const reply = await resources.answer({ method: 'GET', path, query: '', headers: {} });
  return await readUpTo(reply, most);
}

function uriOf(path: string): string {
  return scheme + path.split('/').map(encodeURIComponent).join('/');
}
