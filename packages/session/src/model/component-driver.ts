/** Asks a model through a driver that is a component, or a bundled one that runs in this process as one would. */

import { type Component, ComponentFault, type ExchangeSign } from '@svc/components/component.ts';
import { outputFunction } from '@svc/components/exchange.ts';
import { offeredInterface } from '@svc/components/interface-versions.ts';
import {
  type Driver,
  type DriverOutcome,
  type InferenceCall,
  type InferenceRequest,
  type Message,
  redactedOutcome,
  type RetryReason,
} from './driver.ts';
import type { ReportedUsage, DriverNote, DriverNotes, LeftOutTool, RetryWait } from './driver-notes.ts';
import { decodeWitResponse, type DriverSurroundings, encodeWitRequest } from './wit-driver.ts';

const inferExport = `${offeredInterface('svc:driver/inference')}#infer`;
const chunks = offeredInterface('svc:text/chunks');

interface ComponentDriverSettings extends DriverSurroundings {
  /** The artifact's name. */
  readonly label: string;
  readonly component: Component;
  /** What is seen of the requests of the component. */
  readonly requests: DriverRequests;
  /** `capabilities.limits.deadline` of the artifact. */
  readonly deadlineMs: number;
  /** Takes the key out of a failure: a provider may repeat it in what it answers. */
  readonly redact: (text: string) => string;
  /** Hears of each tool of a request that its provider refused. */
  readonly onLeftOut?: (left: LeftOutTool) => void;
}

/** The driver behind `inference.transport: http`: a component of the world `svc:driver/driver`. */
export function createComponentDriver(settings: ComponentDriverSettings): Driver {
  const { label, component } = settings;
  return {
    label,
    openTask: () => {
      const kept = new KeptMessages();
      return {
        infer: async (request, call) => {
          const outcome = await inferOnward(kept.next(request), call, settings);
          return redactedOutcome(outcome, settings.redact);
        },
        close: () => Promise.resolve(),
      };
    },
    close: () => component.close(),
  };
}

/** A driver that keeps a conversation gets only what is new in it; one that has lost it meanwhile gets the whole. */
async function inferOnward(
  { whole, onward }: NextRequest,
  call: InferenceCall,
  settings: ComponentDriverSettings,
): Promise<DriverOutcome> {
  if (onward === null) return await infer(whole, call, settings);
  const outcome = await infer(onward, call, settings);
  return outcome.kind === 'failed' && outcome.error === forgotten ? await infer(whole, call, settings) : outcome;
}

async function infer(
  request: InferenceRequest,
  call: InferenceCall,
  settings: ComponentDriverSettings,
): Promise<DriverOutcome> {
  const { component, deadlineMs, requests } = settings;
  const heard = requests.listen(call);
  let cached: CachedTokens = {};
  const notes = new LateNotes((note) => {
    if (note.kind === 'retry') requests.waits(note);
    else if (note.kind === 'cache') cached = note.tokens;
    else if (request.tools.some(({ name }) => name === note.tool)) {
      call.onRetry?.(`the provider refuses the tool ${note.tool}, which is left out`);
      settings.onLeftOut?.({ tool: note.tool, reason: settings.redact(note.reason) });
    }
  });
  try {
    const answer = await component.call({
      export: inferExport,
      args: [encodeWitRequest(request, settings)],
      host: {
        [`${chunks}#emit-chunk`]: call.onText,
        [`${chunks}#emit-thinking-chunk`]: call.onThinking,
        [outputFunction]: (bytes: unknown) => {
          if (bytes instanceof Uint8Array) notes.write(bytes);
        },
      },
      deadlineMs,
      signal: call.signal,
      ...(call.imports === undefined ? {} : { imports: call.imports }),
    });
    await notes.read();
    return withCached(await outcomeOf(answer, heard), cached);
  } catch (error) {
    if (error instanceof ComponentFault) return faultOutcome(error, deadlineMs);
    throw error;
  } finally {
    heard.end();
  }
}

async function outcomeOf(answer: unknown, heard: HeardRequests): Promise<DriverOutcome> {
  if (isError(answer)) {
    const { val } = answer;
    const error = typeof val === 'string' && val !== '' ? val : 'the driver failed without a reason';
    // A quota or a conversation that is too long has a status that may pass, or none.
    const { lastingReason } = await import('@svc/guest/provider/failure-reason.ts');
    const retryable = heard.retryable(lastingReason(error) !== null);
    return { kind: 'failed', error, ...(retryable === null ? {} : { retryable }) };
  }
  const response = decodeWitResponse(answer);
  if (response === null) return { kind: 'failed', error: 'the driver answered something that is not a response' };
  return { kind: 'response', response };
}

/** Reads the notes of a call by what is only loaded for the first one. */
class LateNotes {
  readonly #take: (note: DriverNote) => void;
  #notes: DriverNotes | null = null;
  #reading: Promise<void> | null = null;
  readonly #waiting: Uint8Array[] = [];

  constructor(take: (note: DriverNote) => void) {
    this.#take = take;
  }

  write(bytes: Uint8Array): void {
    if (this.#notes !== null) return this.#notes.write(bytes);
    this.#waiting.push(bytes);
    this.#reading ??= this.#load();
  }

  /** Resolves once all that was written is read. */
  async read(): Promise<void> {
    await this.#reading;
  }

  async #load(): Promise<void> {
    const { DriverNotes } = await import('./driver-notes.ts');
    this.#notes = new DriverNotes(this.#take);
    for (const bytes of this.#waiting.splice(0)) this.#notes.write(bytes);
  }
}

type CachedTokens = Pick<ReportedUsage, 'cacheReadTokens' | 'cacheWriteTokens'>;

/** Cached tokens are a part of what the provider counted. */
function withCached(outcome: DriverOutcome, cached: CachedTokens): DriverOutcome {
  if (outcome.kind !== 'response' || outcome.response.usage === undefined) return outcome;
  const { response } = outcome;
  return { kind: 'response', response: { ...response, usage: { ...outcome.response.usage, ...cached } } };
}

function isError(answer: unknown): answer is { readonly tag: 'err'; readonly val?: unknown } {
  return typeof answer === 'object' && answer !== null && 'tag' in answer && answer.tag === 'err';
}

function faultOutcome(fault: ComponentFault, deadlineMs: number): DriverOutcome {
  if (fault.kind === 'unavailable') return { kind: 'unavailable', error: fault.message };
  const happenings = {
    trap: `broke off: ${fault.message}`,
    deadline: `did not answer within ${deadlineMs / 1000} s: capabilities.limits.deadline`,
    memory: 'used up its memory',
    canceled: 'was canceled',
  };
  const error = `the driver ${happenings[fault.kind]}`;
  return fault.kind === 'trap' || fault.kind === 'memory'
    ? { kind: 'failed', error, trapped: true }
    : { kind: 'failed', error };
}

/** What a driver's component fails with that does not keep the conversation it is to continue (packages/guest/wit/deps/svc-driver). */
const forgotten = 'kept: forgotten';

interface NextRequest {
  readonly whole: InferenceRequest;
  /** Without the messages that the driver keeps; null when it keeps none of them. */
  readonly onward: InferenceRequest | null;
}

/** `kept:`, a name of the driver's own, and how many messages it keeps. */
const keptShape = /^kept:.{1,200}:(\d{1,9})$/;

/**
 * The messages of a task that its driver keeps: a driver that answers with the continuation id `kept:<name>:<count>` has the first `count`
 * messages of the request, and the next one brings only those behind them.
 */
export class KeptMessages {
  #sent: readonly Message[] = [];

  next(request: InferenceRequest): NextRequest {
    const sent = this.#sent;
    const { continuationId, messages } = request;
    this.#sent = messages;
    const count = Number(keptShape.exec(continuationId ?? '')?.[1] ?? 0);
    if (count === 0) return { whole: request, onward: null };
    const { continuationId: _, ...whole } = request;
    // A hook may have replaced the conversation, and a driver may claim what it was never sent.
    const isKept = count === sent.length && sent.every((message, index) => messages[index] === message);
    return { whole, onward: isKept ? { ...request, messages: messages.slice(count) } : null };
  }
}

type Listener = Pick<InferenceCall, 'onSign' | 'onRequest' | 'onFirstBytes' | 'onRetryWait' | 'onRetry'>;

/** How a request ended, as far as is seen of it. */
type RequestEnd = Exclude<ExchangeSign, { kind: 'bytes' }>;

/** What is known of the requests of a call. */
interface SeenRequests {
  /** How the latest one ended, or that it began; null before the first. */
  last: RequestEnd | null;
  /** Its answer comes from the model, and has not begun. */
  awaitsBytes: boolean;
}

/** What the caller learns of the requests of one call. */
interface HeardRequests {
  /** Whether the last one may be answered when it is made again, which what `isLasting` is not; null where that is not known. */
  readonly retryable: (isLasting?: boolean) => boolean | null;
  /** The call is over. */
  readonly end: () => void;
}

/**
 * What is seen from outside of the requests that a driver's component makes: each is a sign of life, and one after another within a call is a
 * retry, whatever the component says of it. Its calls are carried out in the order in which they are made.
 */
export class DriverRequests {
  readonly #calls = new Map<Listener, SeenRequests>();

  /** A call has been made. */
  listen(call: Listener): HeardRequests {
    const seen: SeenRequests = { last: null, awaitsBytes: false };
    this.#calls.set(call, seen);
    return {
      retryable: (isLasting = false) => (seen.last === null ? null : !isLasting && mayPass(seen.last)),
      end: () => void this.#calls.delete(call),
    };
  }

  readonly tell = (sign: ExchangeSign): void => {
    // A call that waits for its turn lives as long as the call that is carried out.
    for (const call of this.#calls.keys()) call.onSign?.();
    const [current] = this.#calls;
    if (current === undefined) return;
    const [call, seen] = current;
    if (sign.kind === 'started' && seen.last !== null) call.onRetry?.(reasonOf(seen.last).reason);
    if (sign.kind === 'started') call.onRequest?.(sign.host);
    if (sign.kind === 'bytes' && seen.awaitsBytes) call.onFirstBytes?.();
    seen.awaitsBytes = sign.kind === 'answered' && sign.status === 200;
    if (sign.kind !== 'bytes') seen.last = sign;
  };

  /** The driver says that it waits before the next request of its call. */
  waits(wait: RetryWait): void {
    const [current] = this.#calls;
    if (current === undefined) return;
    const [call, seen] = current;
    call.onRetryWait?.(wait, seen.last === null ? nothingCame : reasonOf(seen.last));
  }
}

const nothingCame: RetryReason = { reason: 'the request before came to nothing', status: null };

/** Why a request may be made again after this. */
function reasonOf(sign: RequestEnd): RetryReason {
  switch (sign.kind) {
    case 'started':
      return nothingCame;
    case 'answered':
      return sign.status === 200
        ? { reason: 'the response broke off', status: null }
        : { reason: `the provider answered ${sign.status}`, status: sign.status };
    case 'failed':
      return { reason: sign.words ?? sign.error.replaceAll('-', ' '), status: null };
  }
}

/** Statuses below 500 that go away by themselves. */
const busy: ReadonlySet<number> = new Set([408, 425, 429]);
/** Error codes of `wasi:http` that the same request would meet again: the same ones as for a driver that is made with the guest's library. */
const lasting =
  /^(?:HTTP-request-|HTTP-response-content-coding$|TLS-certificate-error$|configuration-error$|loop-detected$|destination-IP-prohibited$)/;
const refusedByProxy = /^the proxy \S+ does not connect to \S+ \((?!408|425|429)4\d\d\)$/;

function mayPass(sign: RequestEnd): boolean | null {
  switch (sign.kind) {
    case 'started':
      return null;
    case 'answered':
      return sign.status === 200 ? null : sign.status >= 500 || busy.has(sign.status);
    case 'failed':
      return !lasting.test(sign.error) && !refusedByProxy.test(sign.words ?? '');
  }
}
