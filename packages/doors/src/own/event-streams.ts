/** Opens the event streams of a session. */

import type { ServerResponse } from 'node:http';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { StreamReply } from '@svc/kit/http/reply.ts';
import type { AgentCard } from '@svc/protocol/agent-card.ts';
import { type ConnectionFrame, parseLastEventId } from '@svc/protocol/frames.ts';
import { JsonRpcFault } from '@svc/protocol/json-rpc.ts';
import { eventsHeader, eventsVersion, methodsBeyond } from '@svc/protocol/asked-events.ts';
import type { SentFrame } from '@svc/session/stream/frame-batches.ts';
import type { LiveEvents } from '@svc/session/live-events.ts';
import type { Session } from '@svc/session/session.ts';
import { isTerminal } from '@svc/session/task/task.ts';
import type { Submission } from '@svc/session/loop/task-board.ts';
import type { Callers } from '../callers/callers.ts';
import { answererOf, isOwn, type Principal } from '../callers/principal.ts';
import { EventConnection, type EventConnectionOptions, type OpenConnections } from './event-connection.ts';
import { may } from '../callers/scopes.ts';
import { Heartbeats } from '../core/heartbeats.ts';

/** The time from the opening of a connection to its first heartbeat, and between heartbeats (D1 "Heartbeat"). */
const heartbeatIntervalMs = 15_000;

/** The session whose streams they are, and what its connections begin with. */
export interface StreamedSession {
  readonly session: Session;
  readonly conversationMode: 'stateless' | 'threaded';
  readonly card: Pick<AgentCard, 'name' | 'version'>;
  /** The class of containment that was achieved. */
  readonly containment: string;
  readonly callers: Callers;
  /** Keeps secrets out of live events. */
  readonly redact: (text: string) => string;
}

/** Who asks for a stream, and from where on. */
interface StreamRequest {
  readonly lastEventId: string | undefined;
  readonly principal: Principal;
}

/** The two event streams of a session (D1 "`message/stream` and `stream/watch`"). */
export class EventStreams implements OpenConnections {
  readonly #streamed: StreamedSession;
  readonly #session: Session;
  readonly #heartbeats: Heartbeats;
  /** It is null until somebody asks for them. */
  #live: LiveEvents | null = null;
  #readers = 0;

  constructor(streamed: StreamedSession) {
    this.#streamed = streamed;
    this.#session = streamed.session;
    this.#heartbeats = new Heartbeats(streamed.session.clock, heartbeatIntervalMs);
  }

  get readers(): number {
    return this.#readers;
  }

  leave(connection: EventConnection): void {
    this.#streamed.callers.release(connection);
    this.#readers -= 1;
    this.#session.events.unsubscribe(connection);
    this.#live?.part(connection);
    this.#heartbeats.leave(connection);
  }

  /** `stream/watch`: the acknowledgement, the replay, then everything live until the capsule ends its stream. */
  watch({ lastEventId, principal }: StreamRequest): StreamReply {
    return this.#stream({ closesOnFinal: false, principal }, (connection) => {
      connection.write({ event: 'connection-ack', conversationMode: this.#streamed.conversationMode });
      connection.replay(this.#session.events.replayFrom(parseLastEventId(lastEventId) ?? 0n));
      this.#session.events.subscribe(connection);
    });
  }

  /** The same with live events: a snapshot behind the acknowledgement, the others among what is live (docs/protocol.md "Events beyond the specification"). */
  async watchWithEvents({ lastEventId, principal }: StreamRequest): Promise<StreamReply> {
    const { LiveEvents } = await import('@svc/session/live-events.ts');
    const { card, containment, redact } = this.#streamed;
    const about = { name: card.name, version: card.version, containment, methods: methodsBeyond, redact };
    const live = (this.#live ??= new LiveEvents(this.#session, about));
    return this.#stream(
      { closesOnFinal: false, principal, headers: { [eventsHeader]: eventsVersion } },
      (connection) => {
        connection.write({ event: 'connection-ack', conversationMode: this.#streamed.conversationMode });
        connection.writeText(live.snapshot());
        connection.replay(this.#session.events.replayFrom(parseLastEventId(lastEventId) ?? 0n));
        live.join(connection, answererOf(principal));
      },
    );
  }

  /**
   * `message/stream`: the replay when one was asked for, the task, then everything live until a final status. `hand` submits the task, and may throw
   * a fault. Without the scope `read` there is no replay, and what is live is that of the client's own tasks (docs/doors.md "Tokens").
   */
  submit(hand: () => Submission, { lastEventId, principal }: StreamRequest): StreamReply {
    const { events, board } = this.#session;
    const isOfOwn = ({ taskId }: SentFrame): boolean => {
      const task = taskId === null ? undefined : board.find(taskId);
      return task !== undefined && isOwn(principal, task);
    };
    const seesAll = may(principal, 'read');
    return this.#stream({ closesOnFinal: true, principal, ...(seesAll ? {} : { sees: isOfOwn }) }, (connection) => {
      const replayed = seesAll ? parseLastEventId(lastEventId) : undefined;
      if (replayed !== undefined) connection.replay(events.replayFrom(replayed));
      // A stream that has ended would close the connection before its client hears what became of the task.
      if (!events.isOver) events.subscribe(connection);
      const { refusal, isOver } = this.#handOver(hand);
      if (refusal !== null) connection.write(refusal);
      if (isOver || events.isOver) connection.close();
    });
  }

  /** `open` replays and subscribes in one turn of the event loop, so that no frame is lost or written twice between the two. */
  #stream(
    { principal, ...options }: EventConnectionOptions & Pick<StreamRequest, 'principal'>,
    open: (connection: EventConnection) => void,
  ): StreamReply {
    return {
      kind: 'stream',
      start: (response: ServerResponse) => {
        this.#readers += 1;
        // Whatever a connection keeps is kept for each idle reader: this object, and no functions of its own.
        const connection = new EventConnection(response, options, this);
        this.#streamed.callers.hold(principal, connection);
        this.#heartbeats.join(connection);
        open(connection);
      },
    };
  }

  /** No refusal once the task is in the queue. A message that was sent before may be that of a task which is over. */
  #handOver(hand: () => Submission): { refusal: ConnectionFrame | null; isOver: boolean } {
    const refused = (refusal: ConnectionFrame) => ({ refusal, isOver: true });
    try {
      const { kind, task } = hand();
      if (kind === 'accepted') return { refusal: null, isOver: isTerminal(task.reportedState) };
      return refused(kind === 'rejected' ? { event: 'rejected', taskId: task.id } : queueSendFailed);
    } catch (error) {
      if (error instanceof JsonRpcFault) return refused(invalidParams(error.message));
      // The trace failed: the session cannot go on, and the client learns that its task went nowhere.
      if (!(error instanceof Diagnostic)) throw error;
      this.#session.trap(error);
      return refused(queueSendFailed);
    }
  }
}

const invalidPrefix = 'Invalid params: ';

/** One of the two errors this stream knows (D1 "Frame types", `error`). */
function invalidParams(problem: string): ConnectionFrame {
  return { event: 'error', error: problem.startsWith(invalidPrefix) ? problem : `${invalidPrefix}${problem}` };
}

const queueSendFailed: ConnectionFrame = { event: 'error', error: 'internal error: queue send failed' };
