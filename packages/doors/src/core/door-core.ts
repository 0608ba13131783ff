/** What all doors of a capsule share: its tasks, who asks, and how many streams are open. */

import type { ByteBudget } from '@svc/kit/http/byte-budget.ts';
import { kitRefusal, HttpRefusal } from '@svc/kit/http/refusal.ts';
import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { StreamReply } from '@svc/kit/http/reply.ts';
import type { RequestHead } from '@svc/kit/http/route.ts';
import type { AgentCard } from '@svc/protocol/agent-card.ts';
import { encodeResourcePath } from '@svc/protocol/resource-path.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { ResourceDoor } from '@svc/session/files/resource-routes.ts';
import type { Session } from '@svc/session/session.ts';
import type { KeptFile } from '@svc/session/task/task-record.ts';
import { TaskRecords } from '@svc/session/task-records.ts';
import type { RequestSpans } from '@svc/telemetry/request-spans.ts';
import type { Callers } from '../callers/callers.ts';
import { type Principal, shareOf } from '../callers/principal.ts';
import { Heartbeats } from './heartbeats.ts';
import { beatMs, DoorStream, type DoorStreamOptions } from './door-stream.ts';
import type { CardKey } from './card-signature.ts';

/** An artifact that teaches a model how something is done. */
export interface OfferedSkill {
  readonly name: string;
  readonly description: string;
}

/** A host of `doors.push.allow`. */
export interface PushHost {
  readonly destination: NetworkDestination;
  /** Whether it may be in a private network, or on this machine. */
  readonly isPrivate: boolean;
}

/** What doors say of the capsule they belong to. */
export interface DoorFacts {
  /** Scheme, host, port and the path in front of the doors' own, as clients reach them; without a slash at the end. */
  readonly publicUrl: string;
  /** It is null where the manifest has none. */
  readonly description: string | null;
  /** Whether clients have to show a token. */
  readonly asksForToken: boolean;
  readonly skills: readonly OfferedSkill[];
  /** Where notifications may be pushed to; absent where nothing is. */
  readonly push?: readonly PushHost[];
  /** Signs the agent card; absent where the user has none. */
  readonly cardKey?: CardKey;
  readonly outside?: DoorOutside;
}

/** What doors do around the session that they show. */
export interface DoorOutside {
  /** Writes a line of the trace; one that cannot be written ends the session. */
  readonly record: (event: TraceEvent) => void;
  /** `close` is called once, at the end of the session, which waits for it. */
  readonly onClose: (close: () => Promise<void>) => void;
  /** Makes spans of requests; null where no telemetry is sent. */
  readonly requests: () => RequestSpans | null;
  /** Puts a file that a client sent into `in/` of the workdir; false where it cannot be written. */
  readonly saveInput: (name: string, bytes: Uint8Array) => boolean;
  /** Paths below `exports.files.root` of files that have changed since then; none where the capsule exports none. */
  readonly filesSince: (sinceMs: number) => readonly string[];
}

/** A session as its doors meet it. */
export interface DoorSession {
  readonly session: Session;
  readonly callers: Callers;
  readonly card: AgentCard;
  /** The exported files, as `/resources/` has them: each access is recorded. */
  readonly resources: Pick<ResourceDoor, 'answer'>;
  readonly facts: () => Promise<DoorFacts>;
  /** What all long answers of the server may hold. */
  readonly answers: ByteBudget;
}

/** What becomes of a stream that has its place. */
export interface StreamOpening {
  readonly headers?: Readonly<Record<string, string>>;
  /** Writes what it begins with, and has it follow its task. */
  readonly onOpen: (stream: DoorStream) => void;
  readonly onGone: (stream: DoorStream) => void;
}

/** Made for the first request that comes to any door; there is one of a session. */
export class DoorCore {
  readonly session: Session;
  readonly card: AgentCard;
  readonly facts: DoorFacts;
  readonly records: TaskRecords;
  readonly resources: DoorSession['resources'];
  readonly answers: ByteBudget;
  readonly #places = new OpenStreams();
  readonly #open = new Set<DoorStream>();
  readonly #heartbeats: Heartbeats;
  readonly #callers: Callers;

  constructor({ session, callers, card, resources, answers }: DoorSession, facts: DoorFacts) {
    this.session = session;
    this.card = card;
    this.facts = facts;
    this.resources = resources;
    this.answers = answers;
    this.records = new TaskRecords(session, (sinceMs) => filesSince(facts, sinceMs));
    this.#heartbeats = new Heartbeats(session.clock, beatMs);
    this.#callers = callers;
    session.events.onEnd(() => this.#endStreams());
  }

  principalOf(request: Pick<RequestHead, 'headers'>): Principal {
    return this.#callers.principalOf(request);
  }

  /** Whether the token that the principal showed is still good. */
  holds(principal: Principal): boolean | Promise<boolean> {
    return this.#callers.holds(principal);
  }

  /** Throws the refusal of a token that is not good any more: for an answer that was long in coming. */
  async demandHeld(principal: Principal): Promise<void> {
    if (await this.holds(principal)) return;
    throw kitRefusal('unauthorized', 'A valid bearer token is required.', { 'www-authenticate': 'Bearer' });
  }

  /** Calls `cut` soon after the token of the principal has ended; the function it returns ends that. */
  whileHeld(principal: Principal, cut: () => void): () => void {
    const stream = { cut };
    this.#callers.hold(principal, stream);
    return () => this.#callers.release(stream);
  }

  /** A place for a stream of this client; the function gives it back, once. Throws the refusal 429 where it has none left. */
  place(principal: Principal): () => void {
    return this.#places.take(principal.name);
  }

  /**
   * An event stream for a client that has a place for one. `prepare` does what may be refused, and gives what begins the stream in the turn in
   * which it opens; what it throws is thrown. Throws the refusal 429 where the client has no place left, before anything is done. A long beginning for
   * which there is no room is refused with 503.
   */
  stream(
    principal: Principal,
    around: Pick<DoorStreamOptions, 'head' | 'tail'>,
    prepare: () => StreamOpening,
  ): StreamReply {
    const giveBack = this.place(principal);
    let opening: StreamOpening;
    try {
      opening = prepare();
    } catch (error) {
      giveBack();
      throw error;
    }
    return {
      kind: 'stream',
      outlivesHalf: true,
      start: (response) => {
        const release = this.whileHeld(principal, () => response.destroy());
        const onGone = (gone: DoorStream): void => {
          giveBack();
          release();
          this.#open.delete(gone);
          this.#heartbeats.leave(gone);
          opening.onGone(gone);
        };
        const [{ headers }, { answers }, holder] = [opening, this, shareOf(principal)];
        const stream = new DoorStream(response, { ...around, headers, answers, holder, onGone });
        this.#open.add(stream);
        this.#heartbeats.join(stream);
        opening.onOpen(stream);
        if (this.session.events.isOver) stream.end();
      },
      abandon: giveBack,
    };
  }

  /** Their tasks are over, so each has reported its end, unless the record of the session could not be written. */
  #endStreams(): void {
    for (const stream of this.#open) stream.end();
  }
}

/** Changed files, by their addresses at the capsule. */
function filesSince({ publicUrl, outside }: DoorFacts, sinceMs: number): readonly KeptFile[] {
  const paths = outside?.filesSince(sinceMs) ?? [];
  return paths.map((path) => ({ url: `${publicUrl}/resources/files/${encodeResourcePath(path)}`, filename: path }));
}

/** Limit for one principal, over all doors together. */
const maxStreams = 256;

/** The open streams of all doors of a session. */
class OpenStreams {
  readonly #counts = new Map<string, number>();

  /** Takes a place for a stream; the function gives it back, once. Throws the refusal 429 where the principal has none left. */
  take(principal: string): () => void {
    const open = this.#counts.get(principal) ?? 0;
    if (open >= maxStreams) {
      const message = `There are ${maxStreams} open streams of this client; close one and ask again.`;
      throw new HttpRefusal(429, 'too_many_streams', message, { 'retry-after': '5' });
    }
    this.#counts.set(principal, open + 1);
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      const left = (this.#counts.get(principal) ?? 1) - 1;
      if (left === 0) this.#counts.delete(principal);
      else this.#counts.set(principal, left);
    };
  }
}
