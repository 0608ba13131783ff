/** Makes spans of the requests that come to the doors of a session. The task of a request hangs on its span. */

import type { Clock } from '@svc/kit/clock.ts';
import { decodeTraceparent, encodeTraceparent } from '@svc/protocol/traceparent.ts';
import { attributes as names, operations, otherError } from './genai-names.ts';
import { AttributeList, type NamedValues, type SpanRecord, spanKinds } from './otlp-records.ts';
import { isKept, type Sampler, taskTrace } from './task-trace.ts';

/** A request as its door understands it. */
export interface DoorRequest {
  readonly door: string;
  /** How the door was reached. */
  readonly binding: string;
  /** What is asked, in the words of the door's protocol; null for what the door does not have. */
  readonly name: string | null;
  /** What the conventions want of such a request. */
  readonly attributes?: NamedValues;
  readonly isToolCall?: boolean;
  /** What the caller says its own span is; a malformed one counts as absent. */
  readonly traceparent: string | undefined;
}

/** The span of one request, which `end` makes. Later calls of it do nothing. */
export interface RequestSpan {
  /** For a task that the request starts. */
  readonly traceparent: string;
  end(how: RequestEnd): void;
}

/** `errorType` is null when nothing went wrong. `taskId` is null for a request of no task. */
export interface RequestEnd {
  readonly errorType: string | null;
  readonly taskId: string | null;
  readonly attributes?: NamedValues;
}

export interface RequestSpansOptions {
  readonly sampler: Sampler;
  readonly clock: Pick<Clock, 'now' | 'randomBytes'>;
  readonly send: (span: SpanRecord) => void;
}

/** Spans of one session. */
export class RequestSpans {
  readonly #options: RequestSpansOptions;

  constructor(options: RequestSpansOptions) {
    this.#options = options;
  }

  begin({ door, binding, name, attributes: asked = {}, isToolCall = false, traceparent }: DoorRequest): RequestSpan {
    const { sampler, clock, send } = this.#options;
    const parent = traceparent === undefined ? null : decodeTraceparent(traceparent);
    const traceId = parent?.traceId ?? this.#random(16);
    const spanId = this.#random(8);
    const isSampled = parent !== null && sampler.followsParent ? parent.isSampled : isKept(traceId, sampler);
    const startMs = clock.now();
    let isOver = false;
    return {
      traceparent: encodeTraceparent({ traceId, spanId, isSampled }),
      end: ({ errorType, taskId, attributes: answered = {} }) => {
        if (isOver || !isSampled) return;
        isOver = true;
        const attributes = new AttributeList()
          .add(names.door, door)
          .add(names.doorBinding, binding)
          .add(names.operation, isToolCall ? operations.tool : null)
          .addNamed(asked)
          .addNamed(answered)
          .add(names.task, taskId)
          .add(names.errorType, errorType);
        send({
          traceId,
          spanId,
          parentSpanId: parent?.spanId ?? null,
          name: name ?? otherError,
          kind: spanKinds.server,
          startMs,
          endMs: Math.max(startMs, clock.now()),
          attributes: attributes.list,
          isError: errorType !== null,
          isParentRemote: parent !== null,
        });
      },
    };
  }

  /** The `traceparent` of a task's own span, for others; its place in a trace follows from what came with it. */
  traceparentOf(taskId: string, traceparent: string | undefined): string {
    return encodeTraceparent(taskTrace(taskId, traceparent, this.#options.sampler));
  }

  /** Never all zero, which would be no id. */
  #random(bytes: number): string {
    const drawn = Buffer.from(this.#options.clock.randomBytes(bytes));
    if (drawn.every((byte) => byte === 0)) drawn[0] = 1;
    return drawn.toString('hex');
  }
}
