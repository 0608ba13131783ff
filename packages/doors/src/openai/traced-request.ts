/** Makes a span of each request that comes to the OpenAI door, as the conventions have it of HTTP. */

import type { Reply, StreamReply } from '@svc/kit/http/reply.ts';
import type { RequestHead } from '@svc/kit/http/route.ts';
import { singleHeader } from '@svc/kit/http/hygiene.ts';
import type { RequestSpan, RequestSpans } from '@svc/telemetry/request-spans.ts';
import { otherError } from '../core/other-error.ts';

type Answer = Reply | Promise<Reply>;

/** What a request and its span exchange. */
export interface TracedRequest {
  /** For a task that the request starts; undefined for the one that came with it. */
  readonly traceparent: string | undefined;
  /** The task that the request is about, once it is known. */
  taskId: string | null;
}

export function untraced(): TracedRequest {
  return { traceparent: undefined, taskId: null };
}

/** The span ends with the answer, and that of a stream with the stream. */
export function traced(spans: RequestSpans, request: RequestHead, answer: (traced: TracedRequest) => Answer): Answer {
  const span = beginSpan(spans, request);
  const about: TracedRequest = { traceparent: span.traceparent, taskId: null };
  const answered = (reply: Reply): Reply => {
    if (reply.kind === 'stream') return tracedStream(reply, () => endSpan(span, 200, about));
    endSpan(span, reply.status, about);
    return reply;
  };
  const failed = (error: unknown): never => {
    span.end({ errorType: otherError, taskId: about.taskId });
    throw error;
  };
  try {
    const reply = answer(about);
    return reply instanceof Promise ? reply.then(answered, failed) : answered(reply);
  } catch (error) {
    return failed(error);
  }
}

function beginSpan(spans: RequestSpans, { method, path, headers }: RequestHead): RequestSpan {
  const route = routeOf(path);
  const attributes = {
    httpMethod: method,
    httpRoute: route,
    urlPath: path.slice(0, maxPath),
    urlScheme: 'http',
  };
  const traceparent = singleHeader(headers['traceparent']);
  return spans.begin({ door: 'openai', binding: 'HTTP', name: `${method} ${route}`, attributes, traceparent });
}

const maxPath = 256;

/** The path with the names of what is in it, so that there are few of them. */
function routeOf(path: string): string {
  const [, , kind = '', name, action] = path.split('/');
  if (name === undefined || kind === 'chat') return path;
  const named = kind === 'models' ? '{model}' : '{response_id}';
  return `/v1/${kind}/${named}${action === 'cancel' ? '/cancel' : ''}`;
}

/** What the client did wrong is no error of the server. */
function endSpan(span: RequestSpan, status: number, { taskId }: TracedRequest): void {
  span.end({ errorType: status >= 500 ? String(status) : null, taskId, attributes: { httpStatus: status } });
}

function tracedStream(reply: StreamReply, end: () => void): StreamReply {
  return {
    ...reply,
    start: (response) => {
      response.once('close', end);
      reply.start(response);
    },
    abandon: () => {
      reply.abandon?.();
      end();
    },
  };
}
