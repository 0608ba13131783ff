/** Decides which session may exist and which child it may start. */

import type { Clock } from '@svc/kit/clock.ts';
import type { Grant, SessionReport } from '@svc/protocol/referee-messages.ts';
import type { CapsuleRegistry } from './capsule-registry.ts';
import {
  acceptApproval,
  judgeTopLevel,
  sessionToEnd,
  type Asking,
  type Bounds,
  judgeAsking,
  judgeChild,
} from './decisions.ts';
import { capsuleUnresolvable, identityRefusal, type Refusal } from './refusals.ts';
import {
  approvalLifetimeMs,
  type Registration,
  type SessionRecord,
  SessionRecords,
  type SessionStatus,
} from './session-records.ts';
import { Tokens } from './tokens.ts';

export interface RefereeOptions {
  readonly registry: CapsuleRegistry;
  readonly bounds: Bounds;
  /** Capsules that may register without an approval. */
  readonly spawnAllow: ReadonlySet<string>;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'randomBytes'>;
}

interface SpawnRequest {
  readonly credential: string | undefined;
  readonly name: string;
  readonly version: string;
}

type Spawned = { readonly kind: 'granted'; readonly grant: Grant } | Refusal;

interface RegisterRequest {
  /** Undefined without the header. */
  readonly approval: string | undefined;
  readonly sessionId: string;
  readonly name: string;
  readonly version: string;
}

type Registered = { readonly kind: 'registered'; readonly credential: string } | Refusal;

interface DeregisterRequest {
  readonly credential: string | undefined;
  readonly outcome: Exclude<SessionStatus, 'running'>;
  /** The id of a child to end instead of the asker. */
  readonly child: string | undefined;
}

type Deregistered = { readonly kind: 'deregistered' } | Refusal;

/**
 * Decides which capsules may spawn which others, and keeps who runs (D2). Whatever it looks up in the registry meanwhile, a decision and
 * its record are made in one go, so that requests that race pass no bound together.
 */
export class Referee {
  readonly #options: RefereeOptions;
  readonly #tokens: Tokens;
  readonly #records: SessionRecords;

  constructor(options: RefereeOptions) {
    const { clock } = options;
    this.#options = options;
    this.#tokens = new Tokens((size) => clock.randomBytes(size));
    this.#records = new SessionRecords(() => clock.monotonicMs());
  }

  async spawn({ credential, name, version }: SpawnRequest): Promise<Spawned> {
    const serial = this.#asker(credential);
    const early = this.#judgeAsking(serial, name);
    if (early.kind === 'refused') return early;
    const resolution = await this.#options.registry.resolve(name, version);
    if (resolution.kind === 'unresolvable') return capsuleUnresolvable(resolution.reason);
    // Again: others were granted slots, or the session ended, while the registry was asked.
    const late = this.#judgeAsking(serial, name);
    if (late.kind === 'refused') return late;
    const { capsule } = resolution;
    const { session, asking } = late;
    const beyond = judgeChild(asking.envelope, capsule);
    if (beyond !== null) return beyond;
    const slot = this.#records.reserve(session);
    const { sha256 } = capsule;
    const approval = this.#tokens.mintApproval({
      ...slot,
      parent: session.serial,
      depthRemaining: session.depthRemaining - 1,
      name: capsule.name,
      version: capsule.version,
      sha256,
    });
    const expiresAtMs = Math.trunc(this.#options.clock.now()) + approvalLifetimeMs;
    return { kind: 'granted', grant: { approval, name: capsule.name, version: capsule.version, sha256, expiresAtMs } };
  }

  async register({ approval, sessionId, name, version }: RegisterRequest): Promise<Registered> {
    const refused = approval === undefined ? judgeTopLevel(name, this.#options.spawnAllow) : null;
    if (refused !== null) return refused;
    const resolution = await this.#options.registry.resolve(name, version);
    if (resolution.kind === 'unresolvable') return capsuleUnresolvable(resolution.reason);
    const { capsule } = resolution;
    if (approval === undefined) {
      const { maxDepth } = this.#options.bounds;
      return this.#admit({ id: sessionId, depthRemaining: maxDepth, capsule }, null);
    }
    const acceptance = acceptApproval(approval, capsule, { records: this.#records, tokens: this.#tokens });
    if (acceptance.kind === 'refused') return acceptance;
    const { depthRemaining, serial } = acceptance.approval;
    return this.#admit({ id: sessionId, depthRemaining, capsule }, serial);
  }

  deregister({ credential, outcome, child }: DeregisterRequest): Deregistered {
    const asker = this.#running(this.#asker(credential));
    const ended = asker === undefined ? null : sessionToEnd(asker, child, this.#records);
    if (ended === null) return identityRefusal;
    this.#records.end(ended, child === undefined ? outcome : 'failed');
    return { kind: 'deregistered' };
  }

  /** Returns null for a session that was never registered here. */
  status(sessionId: string): SessionReport | null {
    const record = this.#records.find(sessionId);
    if (record === undefined) return null;
    const { status, depthRemaining } = record;
    const liveChildren = this.#records.liveChildren(record);
    return { status, depthRemaining, liveChildren, liveCapsules: this.#records.liveCapsules() };
  }

  /** The serial that a credential names; null when this referee did not issue it. */
  #asker(credential: string | undefined): number | null {
    return credential === undefined ? null : this.#tokens.verifyCredential(credential);
  }

  #running(serial: number | null): SessionRecord | undefined {
    return serial === null ? undefined : this.#records.running(serial);
  }

  #judgeAsking(serial: number | null, name: string): Judged | Refusal {
    const session = this.#running(serial);
    if (session === undefined || session.envelope === null) return identityRefusal;
    const { envelope, depthRemaining } = session;
    const liveChildren = this.#records.liveChildren(session);
    const asking = { name, envelope, depthRemaining, liveChildren, liveCapsules: this.#records.liveCapsules() };
    return judgeAsking(asking, this.#options.bounds) ?? { kind: 'judged', session, asking };
  }

  /** `approval` is the serial of the spent approval, null without one. */
  #admit(registration: Registration, approval: number | null): Registered {
    if (this.#records.find(registration.id) !== undefined) return identityRefusal;
    const session =
      approval === null ? this.#records.admit(registration) : this.#records.redeem(approval, registration);
    return { kind: 'registered', credential: this.#tokens.mintCredential(session.serial) };
  }
}

interface Judged {
  readonly kind: 'judged';
  readonly session: SessionRecord;
  readonly asking: Asking;
}
