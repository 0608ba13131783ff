import { randomBytes } from 'node:crypto';

import { onTestFinished } from 'vitest';

import { noFlags } from '@svc/artifacts/grants/flag-grants.ts';
import type { SpawnEnvelope } from '@svc/artifacts/grants/spawn-envelope.ts';
import type { CapsuleRegistry, Resolution, ResolvedCapsule } from '../src/capsule-registry.ts';
import type { Clock } from '@svc/kit/clock.ts';
import { RefereeServer } from '../src/referee-server.ts';
import type { Bounds } from '../src/decisions.ts';
import { ask, type RawResponse } from '../../kit/test/http/raw-client.ts';

/** Time that stands still until it is moved; the machine's clock and the one that only rises may be moved apart. */
export class TestClock implements Pick<Clock, 'now' | 'monotonicMs' | 'randomBytes'> {
  unixMs = 1_760_000_000_000;
  #monotonicMs = 5_000;

  now(): number {
    return this.unixMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  randomBytes(size: number): Uint8Array {
    return randomBytes(size);
  }

  advance(ms: number): void {
    this.unixMs += ms;
    this.#monotonicMs += ms;
  }
}

/** Published capsules in memory. */
export class MemoryRegistry implements CapsuleRegistry {
  readonly asked: string[] = [];
  readonly #capsules = new Map<string, ResolvedCapsule>();
  #gate: Promise<void> = Promise.resolve();

  publish(name: string, declared: Partial<SpawnEnvelope> = {}, version = '1.0.0'): ResolvedCapsule {
    const sha256 = randomBytes(32).toString('hex');
    const capsule = { name, version, sha256, envelope: { ...nothing, ...declared } };
    this.#capsules.set(`${name}@${version}`, capsule);
    return capsule;
  }

  /** Answers nothing until the returned function is called. */
  hold(): () => void {
    let open: () => void = () => undefined;
    this.#gate = new Promise((resolve) => {
      open = resolve;
    });
    return open;
  }

  async resolve(name: string, version: string): Promise<Resolution> {
    this.asked.push(`${name}@${version}`);
    await this.#gate;
    const capsule = this.#capsules.get(`${name}@${version}`);
    return capsule === undefined
      ? { kind: 'unresolvable', reason: `${name}@${version} is not in the registry` }
      : { kind: 'resolved', capsule };
  }

  /** Resolves once the registry has been asked that often. */
  async askedTimes(count: number): Promise<void> {
    while (this.asked.length < count) await new Promise(setImmediate);
  }
}

const nothing: SpawnEnvelope = {
  networkAllow: [],
  peerFetchAllow: [],
  bindings: [],
  credentials: [],
  shellAllow: [],
  spawnAllow: [],
  envAllow: [],
  hostRead: [],
  project: null,
  filesystemScope: null,
  ...noFlags,
  stateStores: [],
  artifactRuns: [],
  remoteServers: [],
  containmentFloor: null,
};

export interface Said {
  readonly credential?: string;
  readonly approval?: string;
  readonly headers?: readonly string[];
  /** Sent as JSON, a string as it is. */
  readonly body?: unknown;
}

/** A running referee over capsules in memory. It is closed after the test. */
export class TestReferee {
  readonly port: number;
  readonly clock: TestClock;
  readonly registry: MemoryRegistry;
  readonly bugs: readonly unknown[];
  #registered = 0;

  private constructor({ port, clock, registry, bugs }: Pick<TestReferee, 'port' | 'clock' | 'registry' | 'bugs'>) {
    this.port = port;
    this.clock = clock;
    this.registry = registry;
    this.bugs = bugs;
  }

  static async open({
    spawnAllow = ['lead'],
    ...bounds
  }: Partial<Bounds> & { spawnAllow?: string[] } = {}): Promise<TestReferee> {
    const clock = new TestClock();
    const registry = new MemoryRegistry();
    const bugs: unknown[] = [];
    const server = new RefereeServer({
      clock,
      registry,
      spawnAllow: new Set(spawnAllow),
      bounds: { maxDepth: 3, maxConcurrent: 4, maxLiveCapsules: 16, ...bounds },
      onBug: (error) => bugs.push(error),
    });
    const bound = await server.open(0);
    if (bound.kind !== 'bound') throw new Error(bound.kind);
    onTestFinished(async () => {
      await server.close(0);
      if (bugs.length > 0) throw bugs[0];
    });
    return new TestReferee({ port: bound.port, clock, registry, bugs });
  }

  async post(path: string, { credential, approval, headers = [], body }: Said): Promise<RawResponse> {
    const named = [
      ...(credential === undefined ? [] : [`x-svc-spawn-credential: ${credential}`]),
      ...(approval === undefined ? [] : [`x-svc-spawn-approval: ${approval}`]),
      ...headers,
    ];
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const bytes = text === undefined ? {} : { body: Buffer.from(text) };
    return decoded(await ask(this.port, `POST ${path} HTTP/1.1`, { headers: named, ...bytes }));
  }

  async get(path: string): Promise<RawResponse> {
    return await ask(this.port, `GET ${path} HTTP/1.1`);
  }

  async spawn(credential: string, name: string, version = '1.0.0'): Promise<RawResponse> {
    return await this.post('/spawn', { credential, body: { name, version } });
  }

  async register(sessionId: string, name: string, approval?: string): Promise<RawResponse> {
    const body = { session_id: sessionId, name, version: '1.0.0' };
    return await this.post('/register', { body, ...(approval === undefined ? {} : { approval }) });
  }

  /** A session on the path that is open to it, with its credential. */
  async session(name: string, approval?: string): Promise<{ readonly id: string; readonly credential: string }> {
    const id = `ses_${(this.#registered += 1)}`;
    return { id, credential: textOf(await this.register(id, name, approval), 'credential') };
  }

  async approval(credential: string, name: string): Promise<string> {
    return textOf(await this.spawn(credential, name), 'approval');
  }

  /** A session under an approval of another. */
  async child(credential: string, name: string): Promise<{ readonly id: string; readonly credential: string }> {
    return await this.session(name, await this.approval(credential, name));
  }

  async end(credential: string, outcome: 'complete' | 'failed' = 'complete'): Promise<RawResponse> {
    return await this.post('/deregister', { credential, body: { outcome } });
  }

  async status(id: string): Promise<unknown> {
    const { status, body } = await this.get(`/status/${id}`);
    return status === 200 ? JSON.parse(body) : status;
  }

  async liveCapsules(id: string): Promise<unknown> {
    return fieldOf(await this.get(`/status/${id}`), 'live_capsules');
  }

  async liveChildren(id: string): Promise<unknown> {
    return fieldOf(await this.get(`/status/${id}`), 'live_children');
  }
}

/** The client reads one character a byte. */
function decoded(answer: RawResponse): RawResponse {
  return { ...answer, body: Buffer.from(answer.body, 'latin1').toString() };
}

/** A field of an answer that has to be a `200`. */
export function fieldOf({ status, body }: RawResponse, field: string): unknown {
  if (status !== 200) throw new Error(`${status} ${body}`);
  const parsed: unknown = JSON.parse(body);
  if (typeof parsed !== 'object' || parsed === null || !(field in parsed)) throw new Error(body);
  return Object.entries(parsed).find(([name]) => name === field)?.[1];
}

export function textOf(answer: RawResponse, field: string): string {
  const text = fieldOf(answer, field);
  if (typeof text !== 'string') throw new Error(`${field} is no text`);
  return text;
}

/** What every refusal looks like: a status and one sentence. */
export function refusal({ status, body }: RawResponse): readonly [number, string] {
  return [status, body];
}

export function sentence(text: string): string {
  return JSON.stringify({ error: text });
}

export const identitySentence =
  'identity not accepted: the token is absent, not valid here or of no running session, or the session id is taken';

/** Status, headers and body of the one identity refusal, on a connection that closes after it. */
export const identityBytes = [
  'HTTP/1.1 403 Forbidden',
  'content-type: application/json',
  'content-length: 123',
  'Connection: close',
  '',
  `{"error":"${identitySentence}"}`,
].join('\r\n');
