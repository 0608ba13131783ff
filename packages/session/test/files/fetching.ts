import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createFetchPeerFileTool, type FetchPeerFileSettings } from '../../src/files/fetch-peer-file-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { allowed, type CalledTool, callTool, FakePeer } from './peer-tool.ts';

/** A workdir that files are fetched into, and a peer that answers as a test says; it serves `report` at first. */
export class Fetching {
  readonly base: string = realpathSync(mkdtempSync(join(tmpdir(), 'svc-fetch-')));
  readonly workdir: string = join(this.base, 'workdir');
  readonly inbox: string = join(this.workdir, 'peer-in');
  answer: RequestListener = (_, response) => serve(response, 'report');
  readonly #peer: Promise<FakePeer> = FakePeer.open((request, response) => this.answer(request, response));
  #opened: FakePeer | null = null;

  async open(): Promise<void> {
    mkdirSync(this.workdir);
    this.#opened = await this.#peer;
  }

  get peer(): FakePeer {
    if (this.#opened === null) throw new Error('not open');
    return this.#opened;
  }

  tool(changed: Partial<FetchPeerFileSettings> = {}): Tool {
    const { workdir } = this;
    const allow = allowed('127.0.0.1');
    return createFetchPeerFileTool({ workdir, audience: 'reader@localhost:4100', allow, maxBytes: 1000, ...changed });
  }

  fetch(args: Record<string, unknown> = {}, changed: Partial<FetchPeerFileSettings> = {}): Promise<CalledTool> {
    return callTool(this.tool(changed), { peer: this.peer.address, handle: handleOf(), ...args });
  }

  /** What the model reads of a fetch that failed, which left nothing behind. */
  refusal(called: CalledTool): string {
    const isRefusal = called.status === 'failed' && called.reached === false;
    if (!isRefusal || /mh1\.\w/.test(called.content)) throw new Error(`no refusal: ${called.content}`);
    if (this.kept.length > 0) throw new Error(`it left ${this.kept.join(', ')}`);
    return called.content;
  }

  /** The names in `peer-in`. */
  get kept(): readonly string[] {
    return existsSync(this.inbox) ? readdirSync(this.inbox) : [];
  }

  async close(): Promise<void> {
    await this.peer.close();
    rmSync(this.base, { recursive: true });
  }
}

export function sha256(bytes: string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** What a peer answers to a redeem. */
export function serve(response: ServerResponse, bytes: string, headers: Record<string, string | number> = {}): void {
  const validators = { etag: `"sha256:${sha256(bytes)}"`, 'x-svc-generation': '3', 'content-length': bytes.length };
  response.writeHead(200, { ...validators, ...headers }).end(bytes);
}

/** A handle that somebody made up; only its form is right. */
export function handleOf(path: unknown = 'reports/q3.csv'): string {
  const payload = Buffer.from(JSON.stringify({ v: 1, iss: 'ses_1', p: path, exp: 1, n: 'x' })).toString('base64url');
  return `mh1.${payload}.pTDJk5BE2O9PVek29X10kprx7horPtESn12_-i8DyjQ`;
}

export function idOf(handle: string): string {
  return sha256(handle).slice(0, 16);
}
