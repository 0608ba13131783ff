/** Reads what providers say when they refuse or fail, in the shapes of all makers: their words, and whether the same request may do better later. */

import { isObject, parseJson, textIn, type JsonObject } from '../json.ts';
import { oneLine, RequestFailure } from '../request-failure.ts';
import { lastingReason, type LastingReason } from './failure-reason.ts';

const deepest = 10;
const maxFaults = 3;
/** The most characters of the words of one part. A message keeps a few hundred of all parts together. */
const maxWords = 4_096;
const maxPlace = 200;

/** Whether a value is an error instead of what was asked for. */
export function isError(value: unknown): boolean {
  if (Array.isArray(value)) return value.some((each) => isError(each));
  if (!isObject(value)) return false;
  const { error, object, type, code, choices } = value;
  if (isObject(error) || (typeof error === 'string' && error !== '')) return true;
  if (object === 'error' || type === 'error' || textIn(value, 'error_message') !== '') return true;
  if (choices === undefined && type === undefined && code !== undefined) return textIn(value, 'message') !== '';
  return statusOfMaker(value) !== 0;
}

/** One maker answers with a status of its own, 0 when all is well. */
function statusOfMaker(value: JsonObject): unknown {
  const answer = value['base_resp'];
  return isObject(answer) ? (answer['status_code'] ?? 0) : 0;
}

/** Whether an event of this name has data of the API: every other one keeps the connection open, whatever is in it. */
export function isSpoken(type: string): boolean {
  return /^(?:$|message|content_block|error)/.test(type);
}

export function notAnObject(what: string, data: string): RequestFailure {
  return new RequestFailure(`the provider sent ${what} that is not a JSON object: ${oneLine(data)}`, {
    transient: true,
  });
}

/** The failure that a provider reports in its answer; `kind` is what it calls it. */
export function reportedFailure(kind: string, said: unknown): RequestFailure {
  const report = readReport(said);
  return new RequestFailure(`provider reported ${kind}${report.words === '' ? '' : `: ${report.words}`}`, {
    transient: isPassing(report, 200, false),
    retryAfterMs: report.retryAfterMs,
    status: report.status,
  });
}

/** The failure that a status of HTTP and the body below it mean; `retryAfterMs` is what its head asks for. */
export function refusedRequest(status: number, body: string, retryAfterMs: number | null): RequestFailure {
  const report = readReport(body);
  return new RequestFailure(`provider answered ${status}${report.words === '' ? '' : `: ${report.words}`}`, {
    transient: isPassing(report, status, retryAfterMs !== null),
    retryAfterMs: retryAfterMs ?? report.retryAfterMs,
    status,
  });
}

/** The words of an error, `''` when it has none. A text that is JSON is read as what it holds. */
export function wordsOf(said: unknown): string {
  return readReport(said).words;
}

interface Report {
  /** In one line of what the provider says, with the code where only that names the reason. */
  readonly words: string;
  /** Kinds of errors in the words of makers. */
  readonly codes: readonly string[];
  /** The status of HTTP that the error itself names; null when it names none. */
  readonly status: number | null;
  readonly retryAfterMs: number | null;
}

function readReport(said: unknown): Report {
  const found = { codes: [] as string[], status: null as number | null, retryAfterMs: null as number | null };
  const words = speak(said, found, 0);
  const code = found.codes.find((each) => needsWords.has(lastingReason(each)));
  const isNamed = code === undefined || lastingReason(words) !== null;
  return { ...found, words: isNamed ? words : `${words} (${code})`.trim() };
}

/** The reasons that a person cannot see by the status. */
const needsWords: ReadonlySet<LastingReason | null> = new Set(['quota', 'context']);

type Found = { codes: string[]; status: number | null; retryAfterMs: number | null };

function speak(said: unknown, found: Found, depth: number): string {
  if (depth > deepest) return '';
  if (typeof said === 'string') {
    const value = parseJson(said);
    return (typeof value === 'object' && value !== null && speak(value, found, depth + 1)) || cut(said);
  }
  if (Array.isArray(said)) {
    const faults = said.slice(0, maxFaults).map((each) => speak(each, found, depth + 1));
    return [...new Set(faults)].filter((each) => each !== '').join('; ');
  }
  return isObject(said) ? speakObject(said, found, depth) : '';
}

function speakObject(said: JsonObject, found: Found, depth: number): string {
  note(said, found);
  const inner = (key: string): string => speak(said[key], found, depth + 1);
  const outer = firstOf(inner, [
    'message',
    'Message',
    'msg',
    'error_message',
    'status_msg',
    'detail',
    'errors',
    'base_resp',
  ]);
  const error = inner('error');
  const place = placeOf(said);
  const words = [error, ...(error.includes(outer) ? [] : [outer])].filter((each) => each !== '').join(': ');
  const located = place === '' || words === '' || words.includes(place) ? words : `${place}: ${words}`;
  return cut(withRaw(located, inner('metadata') || inner('raw')) || bare(said));
}

/** What is compared with other words has to be short: looking for one in the other takes the product of both. */
function cut(words: string): string {
  return words.trim().slice(0, maxWords);
}

/** Servers before the model's own say that it refused, and put what it said aside. */
function withRaw(words: string, raw: string): string {
  if (raw === '' || words.includes(raw)) return words;
  return words === '' ? raw : `${words}: ${raw}`;
}

function firstOf(inner: (key: string) => string, keys: readonly string[]): string {
  for (const key of keys) {
    const words = inner(key);
    if (words !== '') return words;
  }
  return '';
}

/** The field that a fault is about. */
function placeOf(said: JsonObject): string {
  const { loc = said['path'] } = said;
  const parts = Array.isArray(loc) ? loc.slice(0, deepest) : [textIn(said, 'param')];
  const named = parts.filter((each) => typeof each === 'string' || typeof each === 'number');
  return named.join('.').slice(0, maxPlace);
}

/** What is left of an error that has no message. */
function bare(said: JsonObject): string {
  return textIn(said, 'type') || textIn(said, 'code') || textIn(said, 'status');
}

const codeKeys = ['code', 'type', 'status', 'error_type', 'reason'];
const statusKeys = ['code', 'status', 'status_code', 'error_code', 'http_code'];

function note(said: JsonObject, found: Found): void {
  for (const key of codeKeys) {
    const code = textIn(said, key).slice(0, maxPlace);
    if (/[a-z]/i.test(code)) found.codes.push(code);
  }
  for (const key of statusKeys) {
    const named = said[key];
    const number = typeof named === 'string' || typeof named === 'number' ? Number(named) : 0;
    if (Number.isInteger(number) && number >= 400 && number < 600) found.status ??= number;
  }
  const { details } = said;
  if (!Array.isArray(details)) return;
  for (const detail of details.slice(0, 10)) {
    const seconds = isObject(detail) ? /^(\d{1,9}(?:\.\d+)?)s$/.exec(textIn(detail, 'retryDelay'))?.[1] : undefined;
    if (seconds !== undefined) found.retryAfterMs = Math.ceil(Number(seconds) * 1000);
  }
}

const busy: ReadonlySet<number> = new Set([408, 425, 429]);

/** Whether the same request may do better later; `answered` is the status of HTTP, `asksToWait` whether its head says when. */
function isPassing({ words, codes, status, retryAfterMs }: Report, answered: number, asksToWait: boolean): boolean {
  if (answered !== 200 && !mayPass(answered)) return false;
  const reason = lastingReason(words) ?? codes.map((code) => lastingReason(code)).find((each) => each !== null) ?? null;
  if (reason === 'quota') return asksToWait || retryAfterMs !== null;
  if (reason === 'context') return false;
  // The status of a server that is busy says more than the kind that it gives its error.
  if (busy.has(answered)) return true;
  return reason === null && (status === null || mayPass(status));
}

function mayPass(status: number): boolean {
  return status >= 500 || busy.has(status);
}
