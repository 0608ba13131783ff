/** Reads and writes the lines of a driver that is a program. */

import * as z from 'zod/mini';

import { issueClause } from '@svc/artifacts/manifest/schema-issues.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { type Digits, digitsBelow, exactJson, withDigits } from '@svc/kit/exact-json.ts';
import { decodeMarkedUtf8 } from '@svc/protocol/strict-utf8.ts';
import { asJsonObject, maxList } from '@svc/protocol/json-object.ts';
import type { LaunchEnd } from '@svc/sandbox/launcher.ts';
import type { OutputLine } from '@svc/sandbox/launched-process.ts';
import type { DriverOutcome, ContentBlock, InferenceRequest, InferenceResponse, Message } from './driver.ts';
import type { ReportedUsage } from './driver-notes.ts';

/** A longer line is not read. */
export const maxLineBytes: number = 16 * 1024 * 1024;
/** How many values one line may hold. A limit on bytes alone would let empty objects take fifty times their size and seconds to read. */
const maxLineValues = 262_144;

/** How much of the end of what a driver says on its stderr is kept, for a failure. */
export const stderrTailBytes = 4096;
/** How much of the start is kept, where many programs say what is wrong before they list where. */
export const stderrHeadBytes = 1024;
const firstLines = 2;
const lastLines = 5;
/** What an interpreter says between where it was and how it got there: `Error: Cannot find module …`. */
const namesError = /^\w*(?:Error|Exception)\b[^:]{0,80}: \S/;

type DriverLineReading =
  /** `digits` are those of its numbers that lose some. */
  | { readonly kind: 'value'; readonly value: unknown; readonly digits?: Digits }
  | { readonly kind: 'blank' }
  /** A part of a line: the output ended in the middle of it. */
  | { readonly kind: 'part' }
  | { readonly kind: 'fault'; readonly outcome: DriverOutcome };

/** Reads one line of a driver's output. `who` is the driver, for the sentence of a fault. */
export function readDriverLine(line: OutputLine, who: string): DriverLineReading {
  if (line.kind === 'too-long') return failed(`${who} wrote a line of more than ${maxLineBytes} bytes`);
  const text = decodeMarkedUtf8(line.bytes);
  if (text?.trim() === '') return { kind: 'blank' };
  const json = text === null ? ({ kind: 'not-json' } as const) : parseJsonText(text, maxLineValues);
  if (text !== null && json.kind === 'json') return { kind: 'value', ...(exactJson(text) ?? { value: json.value }) };
  if (line.kind === 'rest') return { kind: 'part' };
  if (json.kind === 'too-deep') return failed(`${who} wrote JSON that is nested too deeply`);
  if (json.kind === 'too-many') return failed(`${who} wrote a line of more than ${maxLineValues} values`);
  const error = `${who} wrote a line that is not JSON: ${excerpt(line.bytes)}`;
  return { kind: 'fault', outcome: { kind: 'malformed', error } };
}

interface EarlyEnd {
  readonly end: LaunchEnd;
  /** In the middle of a line. */
  readonly midLine: boolean;
  /** The start and the end of what it said on its stderr. */
  readonly stderr: string;
}

/** How a driver ended that had not responded. */
export function exitSentence(who: string, { end, midLine, stderr }: EarlyEnd): string {
  const how = end.kind === 'exited' ? `exited with status ${end.exitCode}` : `was ended by ${end.signal}`;
  const where = midLine ? 'in the middle of a line, before its response' : 'before its response';
  const said = firstAndLast(stderr);
  return `${who} ${how} ${where}${said === '' ? '' : `: ${said}`}`;
}

function firstAndLast(text: string): string {
  const lines = text.split('\n');
  if (lines.length <= firstLines + lastLines) return text;
  const between = lines.slice(firstLines, -lastLines).find((line) => namesError.test(line));
  const last = lines.slice(-lastLines).filter((line) => line !== '…');
  return [...lines.slice(0, firstLines), '…', ...(between === undefined ? [] : [between, '…']), ...last].join('\n');
}

function failed(error: string): DriverLineReading {
  return { kind: 'fault', outcome: { kind: 'failed', error } };
}

function excerpt(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return JSON.stringify(shortened(text, 120));
}

/** What is wrong with a line that has another shape, with the key it is about: `response.stop_reason must be text`. */
export function describeFirst(error: z.core.$ZodError): string {
  const [issue] = error.issues;
  if (issue === undefined) return 'it has another shape';
  const place = issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  const described = `${place === '' ? 'the line' : place.replace(/^\./, '')} ${issue.message}`;
  return shortened(described, 300);
}

/** The line that asks for a response, in which arguments have the digits that the model wrote. */
export function requestLine(request: InferenceRequest): string {
  const digits = request.messages.flatMap(({ content }, message) =>
    content.flatMap((block, place) =>
      Object.entries((block.type === 'tool_call' ? block.digits : undefined) ?? {}).map(([pointer, text]) => [
        `/request/messages/${message}/content/${place}/input${pointer}`,
        text,
      ]),
    ),
  );
  const line = { type: 'request', request: encodeDriverRequest(request) };
  return `${withDigits(line, digits.length === 0 ? undefined : (Object.fromEntries(digits) as Digits))}\n`;
}

/** The JSON spelling of a request (docs/drivers.md "Requests and responses"), ready to be written. */
export function encodeDriverRequest(request: InferenceRequest): Readonly<Record<string, unknown>> {
  return {
    model: request.model,
    system: request.system,
    messages: request.messages.map(encodeMessage),
    tools: request.tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      input_schema: inputSchema,
    })),
    max_tokens: request.maxTokens,
    ...(request.continuationId === undefined ? {} : { continuation_id: request.continuationId }),
  };
}

function encodeMessage(message: Message): Readonly<Record<string, unknown>> {
  const { role } = message;
  const content = message.content.map(encodeBlock);
  if (role !== 'tool') return { role, content };
  return { role, tool_call_id: message.toolCallId, is_error: message.isError, content };
}

/** Blocks are spelled the same inside and outside; the line itself has the digits. */
function encodeBlock(block: ContentBlock): ContentBlock {
  if (block.type !== 'tool_call' || block.digits === undefined) return block;
  const { digits: _, ...rest } = block;
  return rest;
}

/** Keys that may be absent may also be null: many languages write them so. */
const optionalText = z.pipe(
  z.nullish(z.string()),
  z.transform((text) => text ?? undefined),
);

const contentBlock = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('thinking'), text: z.string(), signature: optionalText }),
  z.object({
    type: z.literal('tool_call'),
    id: optionalText,
    name: z.string(),
    input: z.unknown(),
  }),
]);

const tokenCount = z.int().check(z.minimum(0));

const driverResponse = z.object({
  content: z.array(contentBlock),
  stop_reason: z.string(),
  error: optionalText,
  usage: z.nullish(
    z.object({
      input_tokens: tokenCount,
      output_tokens: tokenCount,
      cache_read_tokens: z.nullish(tokenCount),
      cache_write_tokens: z.nullish(tokenCount),
    }),
  ),
  continuation_id: optionalText,
});

const driverLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('chunk'), text: z.string() }),
  z.object({ type: z.literal('thinking'), text: z.string() }),
  z.object({ type: z.literal('response'), response: driverResponse }),
]);

/** What a process driver writes in one line, in its default dialect. */
export type DriverLine =
  | { readonly kind: 'chunk'; readonly text: string }
  | { readonly kind: 'thinking'; readonly text: string }
  | { readonly kind: 'response'; readonly response: InferenceResponse }
  /** JSON, but not of the dialect. `problem` names the key: `response.stop_reason: …`. */
  | { readonly kind: 'wrong'; readonly problem: string };

/** Reads the parsed JSON of one line (docs/drivers.md "Requests and responses"). Unknown keys are passed over. */
export function decodeDriverLine(value: unknown, digits: Digits = {}): DriverLine {
  if (hasTooManyBlocks(value)) return { kind: 'wrong', problem: `response.content has more than ${maxList} blocks` };
  const parsed = driverLine.safeParse(value, { error: issueClause });
  if (!parsed.success) return { kind: 'wrong', problem: describeFirst(parsed.error) };
  const line = parsed.data;
  if (line.type !== 'response') return { kind: line.type, text: line.text };
  return { kind: 'response', response: lowerResponse(line.response, digits) };
}

/** The input of a call may hold any number of anything. */
function hasTooManyBlocks(line: unknown): boolean {
  const content = asJsonObject(asJsonObject(line)?.['response'])?.['content'];
  return Array.isArray(content) && content.length > maxList;
}

function lowerResponse(wire: z.infer<typeof driverResponse>, digits: Digits): InferenceResponse {
  const { usage, error, continuation_id: continuationId } = wire;
  return {
    content: wire.content.map((block, place) =>
      lowerBlock(block, digitsBelow(digits, `/response/content/${place}/input`)),
    ),
    stopReason: wire.stop_reason,
    ...(error === undefined ? {} : { error }),
    ...(usage ? { usage: lowerUsage(usage) } : {}),
    ...(continuationId === undefined ? {} : { continuationId }),
  };
}

function lowerUsage(wire: NonNullable<z.infer<typeof driverResponse>['usage']>): ReportedUsage {
  const { cache_read_tokens: read, cache_write_tokens: written } = wire;
  return {
    inputTokens: wire.input_tokens,
    outputTokens: wire.output_tokens,
    ...(typeof read === 'number' ? { cacheReadTokens: read } : {}),
    ...(typeof written === 'number' ? { cacheWriteTokens: written } : {}),
  };
}

function lowerBlock(block: z.infer<typeof contentBlock>, digits: Digits | undefined): ContentBlock {
  switch (block.type) {
    case 'text':
      return block;
    case 'thinking':
      return { type: 'thinking', text: block.text, ...(block.signature ? { signature: block.signature } : {}) };
    case 'tool_call':
      return {
        type: 'tool_call',
        id: block.id ?? '',
        name: block.name,
        input: block.input,
        ...(digits === undefined ? {} : { digits }),
      };
  }
}
