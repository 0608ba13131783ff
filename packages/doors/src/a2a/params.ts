/** Reads what the methods of A2A are called with. */

import { isJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { namedSkills } from '@svc/protocol/task-skills.ts';
import type { KeptPart } from '@svc/session/task/task-record.ts';
import { holdsWholeText } from '../core/bad-input.ts';
import { describeFile, type InputFile, inputFile } from './input-files.ts';
import { A2aFault, faultOf, invalidField } from './errors.ts';

/** A message that starts a task, or answers one. */
export interface ReceivedA2aMessage {
  readonly messageId: string;
  /** It is null if unnamed. */
  readonly contextId: string | null;
  readonly taskId: string | null;
  readonly parts: readonly KeptPart[];
  /** What the model receives: the texts, data as JSON, and where files are, joined by newlines. */
  readonly text: string;
  /** What belongs into `in/` of the workdir. */
  readonly files: readonly InputFile[];
  /** The skills that the task begins with. */
  readonly skills: readonly string[];
}

export interface SendRequest {
  readonly message: ReceivedA2aMessage;
  readonly returnImmediately: boolean;
  /** With null as many as there are. */
  readonly historyLength: number | null;
  /** Undefined where none was asked for; what it holds is for push to read. */
  readonly push: JsonObject | undefined;
}

export interface ListRequest {
  readonly contextId: string | null;
  readonly status: string | null;
  /** Unix milliseconds. */
  readonly changedSince: number | null;
  readonly pageSize: number;
  readonly pageToken: string | null;
  readonly historyLength: number;
  readonly includeArtifacts: boolean;
}

const maxId = 256;
const printable = /^[^\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]*$/u;

export const taskStates = [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
] as const;

/** The `SendMessageRequest`. Throws a fault that names the field. */
export function parseSend(params: unknown): SendRequest {
  const { message, configuration } = objectOf(params, 'params');
  const settings = optionalObject(configuration, 'configuration') ?? {};
  checkOutputModes(settings['acceptedOutputModes']);
  return {
    message: parseMessage(message),
    returnImmediately: flag(settings['returnImmediately'], 'configuration.returnImmediately'),
    historyLength: lengthOf(settings['historyLength'], 'configuration.historyLength'),
    push: optionalObject(settings['taskPushNotificationConfig'], 'configuration.taskPushNotificationConfig'),
  };
}

/** The task that a method is for, under `id`, and how much of its history is wanted; null is all. */
export function parseTaskRequest(params: unknown): { readonly id: string; readonly historyLength: number | null } {
  const { id, historyLength } = objectOf(params, 'params');
  return { id: requiredId(id, 'id'), historyLength: lengthOf(historyLength, 'historyLength') };
}

const maxPageSize = 100;
const usualPageSize = 50;

export function parseList(params: unknown): ListRequest {
  const asked = params === undefined || params === null ? {} : objectOf(params, 'params');
  const pageSize = lengthOf(asked['pageSize'], 'pageSize') ?? usualPageSize;
  if (pageSize < 1 || pageSize > maxPageSize) throw invalidField('pageSize', `must be from 1 to ${maxPageSize}`);
  return {
    contextId: optionalId(asked['contextId'], 'contextId'),
    status: stateOf(asked['status']),
    changedSince: timeOf(asked['statusTimestampAfter']),
    pageSize,
    pageToken: optionalId(asked['pageToken'], 'pageToken'),
    // A list is short unless more is asked for.
    historyLength: lengthOf(asked['historyLength'], 'historyLength') ?? 0,
    includeArtifacts: flag(asked['includeArtifacts'], 'includeArtifacts'),
  };
}

function parseMessage(given: unknown): ReceivedA2aMessage {
  const message = objectOf(given, 'message');
  const messageId = requiredId(message['messageId'], 'message.messageId');
  if (message['role'] !== 'ROLE_USER') throw invalidField('message.role', 'must be ROLE_USER');
  const taskId = optionalId(message['taskId'], 'message.taskId');
  const contextId = optionalId(message['contextId'], 'message.contextId');
  if (contextId !== null && !printable.test(contextId)) {
    throw invalidField('message.contextId', 'must hold printable characters alone');
  }
  const listed: unknown = message['parts'];
  if (!Array.isArray(listed)) throw invalidField('message.parts', 'must be a list');
  if (listed.length === 0) throw invalidField('message.parts', 'must hold at least one part');
  const parts = (listed as unknown[]).map((part, index) => parsePart(part, `message.parts[${index}]`));
  const files: InputFile[] = [];
  const texts = parts.map((part, index) => {
    if ('text' in part) return part.text;
    if (!('raw' in part)) return JSON.stringify(part.data);
    if (files.length === maxFiles) throw invalidField('message.parts', `must hold at most ${maxFiles} files`);
    const file = inputFile(part, `${messageId} ${index}`);
    files.push(file);
    return describeFile(file, part.mediaType);
  });
  const skills = skillsOf(message['metadata']);
  if (taskId !== null && skills.length > 0) throw invalidField(skillsField, 'does not go with an answer');
  return { messageId, contextId, taskId, parts, text: texts.join('\n'), files, skills };
}

/** The extension under which the metadata of a message has the skills that its task begins with. */
export const skillsExtension = 'urn:svc:skills:1';
/** Its place, as faults name it. */
export const skillsField = `message.metadata["${skillsExtension}"]`;

function skillsOf(metadata: unknown): readonly string[] {
  const given = isJsonObject(metadata) ? metadata[skillsExtension] : undefined;
  if (given === undefined || given === null) return [];
  const decoded = namedSkills(given);
  if (decoded.kind === 'invalid') throw invalidField(skillsField, decoded.problem);
  return decoded.skills;
}

/** The most files of one message. */
const maxFiles = 32;

const contents = ['text', 'raw', 'url', 'data'] as const;

function parsePart(given: unknown, field: string): KeptPart {
  const part = objectOf(given, field);
  const held = contents.filter((name) => part[name] !== undefined && (name === 'data' || part[name] !== null));
  const [content] = held;
  if (content === undefined || held.length > 1) throw invalidField(field, 'must hold one of text, raw, url and data');
  const mediaType = optionalText(part['mediaType'], `${field}.mediaType`, maxId);
  if (content === 'text') return textPart(part['text'], mediaType, field);
  if (content === 'data') return dataPart(part['data'], mediaType, field);
  if (content === 'raw') return rawPart(part, mediaType, field);
  throw unsupported(mediaType ?? 'application/octet-stream', `${field}.url is not taken, send the file itself`);
}

function textPart(text: unknown, mediaType: string | null, field: string): KeptPart {
  if (typeof text !== 'string') throw invalidField(`${field}.text`, 'must be a string');
  if (!text.isWellFormed()) throw invalidField(`${field}.text`, 'must hold whole characters');
  if (mediaType === null) return { text };
  if (!/^text\/[^\s]+|^application\/json(;|$)/i.test(mediaType)) {
    throw unsupported(mediaType, `${field} must be text`);
  }
  return { text, mediaType };
}

function dataPart(data: unknown, mediaType: string | null, field: string): KeptPart {
  if (mediaType !== null && !/[/+]json(;|$)/i.test(mediaType)) throw unsupported(mediaType, `${field} must be JSON`);
  if (!holdsWholeText(data)) throw invalidField(`${field}.data`, 'must hold whole characters');
  return { data };
}

/** In either alphabet of base64, which may leave out the padding at its end. */
function isBase64(text: string): boolean {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) return false;
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='));
  const rest = (text.length - padding) % 4;
  return padding === 0 ? rest !== 1 : rest + padding === 4;
}

function rawPart(part: JsonObject, mediaType: string | null, field: string): KeptPart {
  const { raw } = part;
  if (typeof raw !== 'string' || !isBase64(raw)) throw invalidField(`${field}.raw`, 'must be base64');
  const filename = optionalText(part['filename'], `${field}.filename`, maxId);
  return { raw, ...(mediaType === null ? {} : { mediaType }), ...(filename === null ? {} : { filename }) };
}

function unsupported(mediaType: string, message: string): A2aFault {
  return faultOf('CONTENT_TYPE_NOT_SUPPORTED', `Content type is not supported: ${message}`, { mediaType });
}

function checkOutputModes(given: unknown): void {
  const field = 'configuration.acceptedOutputModes';
  if (given === undefined || given === null) return;
  if (!Array.isArray(given)) throw invalidField(field, 'must be a list');
  const modes = given as unknown[];
  if (modes.some((mode) => typeof mode !== 'string')) throw invalidField(field, 'must hold strings');
  const isTaken = (mode: unknown): boolean => /^(?:text\/plain|text\/\*|\*\/\*)\s*(?:;|$)/i.test(String(mode));
  if (modes.length > 0 && !modes.some(isTaken)) {
    throw unsupported(String(modes[0]).slice(0, maxId), 'the answer is text/plain');
  }
}

export function objectOf(value: unknown, field: string): JsonObject {
  if (value === undefined || value === null) throw invalidField(field, 'is required');
  if (!isJsonObject(value)) throw invalidField(field, 'must be an object');
  return withJsonNames(value);
}

/** Clients may also use the names of the protocol's own definition, `history_length` for `historyLength`, as its encoding in JSON allows. */
function withJsonNames(value: JsonObject): JsonObject {
  if (!Object.keys(value).some((key) => key.includes('_'))) return value;
  const renamed = Object.entries(value).map(([key, held]) => [
    key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    held,
  ]);
  return { ...(Object.fromEntries(renamed) as JsonObject), ...value };
}

export function optionalObject(value: unknown, field: string): JsonObject | undefined {
  return value === undefined || value === null ? undefined : objectOf(value, field);
}

/** An empty one counts as absent, as it does in the protocol's own encoding. */
export function optionalText(value: unknown, field: string, longest: number): string | null {
  if (value === undefined || value === null || value === '') return null;
  if (typeof value !== 'string') throw invalidField(field, 'must be a string');
  if (value.length > longest) throw invalidField(field, `must have at most ${longest} characters`);
  if (!value.isWellFormed()) throw invalidField(field, 'must hold whole characters');
  return value;
}

export function optionalId(value: unknown, field: string): string | null {
  return optionalText(value, field, maxId);
}

export function requiredId(value: unknown, field: string): string {
  const id = optionalId(value, field);
  if (id === null) throw invalidField(field, 'is required');
  return id;
}

function flag(value: unknown, field: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw invalidField(field, 'must be true or false');
  return value;
}

const maxInt32 = 2_147_483_647;

function lengthOf(value: unknown, field: string): number | null {
  if (value === undefined || value === null) return null;
  const isWhole = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maxInt32;
  if (!isWhole) throw invalidField(field, 'must be a whole number of at least 0');
  return value;
}

function stateOf(value: unknown): string | null {
  if (value === undefined || value === null || value === 'TASK_STATE_UNSPECIFIED') return null;
  if (typeof value !== 'string') throw invalidField('status', 'must be a string');
  const known = taskStates.find((state) => state === value);
  if (known === undefined) throw invalidField('status', 'must be a state of a task, such as TASK_STATE_WORKING');
  return known;
}

const timestamp = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

function timeOf(value: unknown): number | null {
  if (value === undefined || value === null || value === '') return null;
  const ms = typeof value === 'string' && timestamp.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw invalidField('statusTimestampAfter', 'must be a time such as 2026-01-31T12:00:00.000Z');
  }
  return ms;
}
