/** Makes of a call what a person is shown before it runs, and the hash that an answer is bound to. */

import { inertJson } from '@svc/kit/diagnostics/printable.ts';
import { withDigits } from '@svc/kit/exact-json.ts';
import type { HeldRequest } from '@svc/kit/keys/bound-host.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import type { AskedApproval } from '@svc/protocol/approval.ts';
import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { redactedJson } from '@svc/record/trace/file-trace.ts';
import type { StartedProgram } from '@svc/sandbox/launcher.ts';
import type { CheckedCall, FileOperation } from '../tools/tool.ts';
import type { CallRuling } from './call-rules.ts';

/** More than that is not shown. */
const maxShown = 64 * 1024;
/** Characters of the beginning of such a call. */
const maxBeginning = 4096;
const maxPrompt = 400;
const maxWordsInRow = 8;
const maxRows = 40;

export interface AskedEffect {
  /** As clients have it, without secrets. */
  readonly effect: JsonObject;
  /** Whether all of it is shown. */
  readonly isWhole: boolean;
  /** The hash of the whole call as it would run. */
  readonly digest: string;
  /** One line of printable ASCII. */
  readonly summary: string;
}

/** What is judged, in the place of its question. */
export interface Judged {
  readonly what: 'call' | 'change' | 'program' | 'request';
  readonly ruling: () => CallRuling | null;
  readonly effectOf: (ruling: Pick<CallRuling, 'argv'>) => AskedEffect;
  /** Whether nobody waits any more, so that what is allowed does not happen now. */
  readonly isLeft?: () => boolean;
}

/** `argv` are the words of a command, null for any other call. */
export function askedEffect(
  call: Pick<CheckedCall, 'toolName' | 'artifact' | 'arguments' | 'digits'>,
  argv: readonly string[] | null,
  redact: (text: string) => string,
): AskedEffect {
  const { toolName, artifact, arguments: args, digits } = call;
  const of = artifact === undefined ? {} : { artifact };
  const exact = digits === undefined ? args : withDigits(sorted(args), digits);
  const whole =
    argv === null
      ? { kind: toolName === 'delegate-task' ? 'spawn' : 'tool', tool: toolName, ...of, arguments: exact }
      : { kind: 'command', argv, cwd: '.' };
  return effectOf(whole, { inShort: { kind: whole.kind, tool: toolName }, words: argv ?? [toolName, args], redact });
}

/** What is asked about a file that the component of a call is about to change: `path` is where that happens, whatever led there. */
export function askedChange(
  { toolName, arguments: args, digits }: Pick<CheckedCall, 'toolName' | 'arguments' | 'digits'>,
  { operation, path, to }: Pick<FileOperation, 'operation' | 'path' | 'to'>,
  redact: (text: string) => string,
): AskedEffect {
  const exact = digits === undefined ? args : withDigits(sorted(args), digits);
  const place = { operation, path, ...(to === null ? {} : { to }) };
  const inShort = { kind: 'path', tool: toolName, ...place };
  const words = [toolName, operation, path, ...(to === null ? [] : [to]), args];
  return effectOf({ ...inShort, arguments: exact }, { inShort, words, redact });
}

/**
 * What is asked about a request that a component or program of a call is about to make. `argv` are the words of the command, null for any other call. What
 * cannot be read is not shown whole: a person then allows it once.
 */
export function askedRequest(
  { toolName, arguments: args, digits }: Pick<CheckedCall, 'toolName' | 'arguments' | 'digits'>,
  { request: { origin, method, target: path, headers, keys, body }, argv }: RequestOfCall,
  redact: (text: string) => string,
): AskedEffect {
  const by = callerOf({ arguments: args, digits }, argv);
  const { text, ...size } = body;
  const inShort = { kind: 'request', method, origin, path, body: size, tool: toolName };
  const told = headers.length === 0 ? {} : { headers };
  const whole = { ...inShort, ...told, body: text === null ? size : body, called_by: by };
  const words = [method, `${origin}${path}`, text ?? `${size.bytes} bytes`, argv ?? [toolName, args]];
  const asked = effectOf(whole, { inShort, words, redact });
  // The same request with the key of another account is another one.
  const digest = keys === undefined ? asked.digest : `sha256:${sha256Hex(`${asked.digest} ${keys}`)}`;
  return { ...asked, digest, isWhole: asked.isWhole && (text !== null || size.bytes === 0) };
}

/**
 * What is asked about a program that the command of a call, or a native tool, has started. `argv` are the words of the command, null for any other call. A
 * program whose words are no text may be any of several: a person then allows it once.
 */
export function askedProgram(
  call: Pick<CheckedCall, 'toolName' | 'arguments' | 'digits'>,
  { program: { file, argv: words, state, isText }, argv }: ProgramOfCall,
  redact: (text: string) => string,
): AskedEffect {
  const inShort = { kind: 'command', program: file, tool: call.toolName };
  const whole = { kind: 'command', argv: words, program: file, called_by: callerOf(call, argv) };
  const asked = effectOf(whole, { inShort, words, redact });
  return { ...asked, isWhole: asked.isWhole && state === 'whole' && isText };
}

interface ProgramOfCall {
  readonly program: StartedProgram;
  readonly argv: readonly string[] | null;
}

/** The call in whose middle something is asked. */
function callerOf(
  { arguments: args, digits }: Pick<CheckedCall, 'arguments' | 'digits'>,
  argv: readonly string[] | null,
): object {
  return argv === null ? { arguments: digits === undefined ? args : withDigits(sorted(args), digits) } : { argv };
}

interface RequestOfCall {
  readonly request: HeldRequest;
  readonly argv: readonly string[] | null;
}

interface Shown {
  /** What of it is shown where the whole is too long. */
  readonly inShort: JsonObject;
  /** For the line of the question. */
  readonly words: unknown;
  readonly redact: (text: string) => string;
}

function effectOf(whole: object, { inShort, words, redact }: Shown): AskedEffect {
  const json = JSON.stringify(sorted(whole));
  const digest = `sha256:${sha256Hex(json.toWellFormed())}`;
  const isWhole = json.length <= maxShown;
  const beginning = { beginning: redact(json).slice(0, maxBeginning), bytes: Buffer.byteLength(json) };
  return {
    effect: redactedJson(isWhole ? whole : { ...inShort, ...beginning }, redact) as JsonObject,
    isWhole,
    digest,
    summary: cut(inertJson(redactedJson(words, redact))),
  };
}

/** The same line for a call of which only that is known what clients are shown. */
export function shownSummary(effect: JsonObject): string {
  const { argv, tool, operation, path, to, arguments: args, beginning } = effect;
  const { method, origin, body, called_by: by } = effect;
  const words =
    effect['kind'] === 'request'
      ? [method, `${String(origin)}${String(path)}`, body, by ?? beginning]
      : [tool, operation, path, to, args ?? beginning ?? null];
  return cut(inertJson(argv ?? words.filter((word) => word !== undefined)));
}

/** Who asks for what, and why a person is asked: the line above the rows of the call. */
export function askerOf({ effect, capsule, rule }: Pick<AskedApproval, 'effect' | 'capsule' | 'rule'>): string {
  if (effect['kind'] === 'grant') {
    if (typeof effect['write'] === 'string')
      return 'the task wants to write in the folder that it was granted read only:';
    const what = typeof effect['host'] === 'string' ? 'to reach a host' : 'a command';
    return `the task wants ${what} that it was not granted:`;
  }
  const [who, why] = [capsule.join(' > '), rule].map((text) => inertJson(text).slice(1, -1));
  const does = wanted[String(effect['kind'])] ?? 'run this';
  return `${who} wants to ${does}, and ${why} asks you:`;
}

const wanted: Readonly<Record<string, string>> = { path: 'change this file', request: 'send this request' };

/** The call in rows of printable ASCII, each cut to what a person reads. More words than eight stand one in a row. */
export function effectRows(effect: JsonObject): readonly string[] {
  const { argv, ...others } = effect;
  if (effect['kind'] === 'grant' && typeof effect['host'] === 'string')
    return [`${cut(inertJson(effect['host']))}, to which a command can send whatever the task can read`];
  if (effect['kind'] === 'grant' && typeof effect['write'] === 'string')
    return [
      `${cut(inertJson(effect['write']))}, where a command can change and remove files, and there is no undo yet`,
    ];
  if (effect['kind'] === 'grant') {
    return [`${cut(inertJson(effect['program']))}, with any arguments, held to all else that the task was granted`];
  }
  if (effect['kind'] === 'request') return requestRows(effect);
  const about = ([key, value]: readonly [string, unknown]): string =>
    `${inertJson(key).slice(1, -1)}: ${inertJson(value)}`;
  if (!Array.isArray(argv)) return Object.entries(effect).map((entry) => cut(about(entry)));
  const words = argv.map((word: unknown) => inertJson(word));
  const rest = Object.entries(others).filter(([key]) => key !== 'kind');
  return [...(words.length > maxWordsInRow ? words : [words.join(' ')]), ...rest.map(about)].map((row) => cut(row));
}

/** What is sent where, then the body by itself, and who asks. */
function requestRows(effect: JsonObject): readonly string[] {
  const { method, origin, path, headers, tool, body, called_by: by, beginning, bytes } = effect;
  const { text, ...size } = asJsonObject(body) ?? {};
  const { argv, arguments: args } = asJsonObject(by) ?? {};
  const plain = (value: unknown): string => inertJson(String(value)).slice(1, -1);
  const rows = [
    `${plain(method)} ${plain(origin)}${plain(path)}`,
    ...(headers === undefined ? [] : [`headers: ${inertJson(headers)}`]),
    `body: ${plain(size['bytes'])} bytes, sha256 ${plain(size['sha256'])}`,
    ...(text === undefined ? [] : [`  ${inertJson(text)}`]),
    ...(beginning === undefined ? [] : [`beginning of ${plain(bytes)} bytes: ${inertJson(beginning)}`]),
    `called by: ${inertJson(argv ?? [tool, ...(args === undefined ? [] : [args])])}`,
  ];
  return rows.map((row) => cut(row));
}

/** The first rows of it, and how many more there are. */
export function firstEffectRows({ effect }: Pick<AskedApproval, 'effect'>): readonly string[] {
  const rows = effectRows(effect);
  const left = rows.length - maxRows;
  return left > 0 ? [...rows.slice(0, maxRows), `... ${left} more; svc approve --list --json has all`] : rows;
}

/** Who asks for what, and those rows below it. */
export function askedRows(asked: Pick<AskedApproval, 'id' | 'effect' | 'capsule' | 'rule'>): readonly string[] {
  return [askerOf(asked), ...firstEffectRows(asked).map((row) => `  ${row}`)];
}

export function cut(text: string): string {
  return text.length <= maxPrompt
    ? text
    : `${text.slice(0, maxPrompt)}... and ${text.length - maxPrompt} more characters`;
}

/** With the keys of each object in one order. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}
