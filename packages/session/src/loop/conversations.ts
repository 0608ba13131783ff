/** Holds the conversations of a session and writes them as text. */

import * as z from 'zod/mini';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { listUntilBad } from '@svc/kit/bounded-lists.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import type { ContextId } from '@svc/protocol/ids.ts';
import { redactedDigits, redactedJson } from '@svc/record/trace/file-trace.ts';
import type { Message, ContentBlock } from '../model/driver.ts';

/** What earlier tasks of a context said; only a completed task adds to it. */
export interface Conversations {
  /** Whether they outlive the session, so that what `history` gives and `save` meets is not the session's own doing. */
  readonly isKept?: true;
  /** Whether what `history` gives of this context is of another session, which this one goes on with. */
  readonly isOfOther?: (context: ContextId) => boolean;
  /** Whether there is anything of this context. */
  has(context: ContextId): boolean;
  history(context: ContextId): readonly Message[];
  save(context: ContextId, messages: readonly Message[]): void;
}

/** Contexts kept; beyond it, the one saved longest ago goes. */
export const maxContexts = 256;

/** How large the file of one conversation may be. A model's context of a million tokens is some 4 MiB of text. */
export const maxConversationBytes = 16 * 1024 * 1024;

/** `E-RUN-032` for a conversation that is longer than that. */
export function refuseTooLong(bytes: number): void {
  if (bytes <= maxConversationBytes) return;
  const message = `the conversation is too long to be kept: ${bytes} bytes, at most ${maxConversationBytes}`;
  throw new Diagnostic('E-RUN-032', message, {
    hint: 'set inference.context.max_tokens to have it compacted, or begin another context',
  });
}

const fileVersion = 1;

const block = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('thinking'), text: z.string(), signature: z.exactOptional(z.string()) }),
  z.strictObject({
    type: z.literal('tool_call'),
    id: z.string(),
    name: z.string(),
    input: z.unknown(),
    digits: z.exactOptional(z.record(z.string(), z.string())),
  }),
]);

const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal(['user', 'assistant']), content: listUntilBad(block) }),
  z.strictObject({
    role: z.literal('tool'),
    tool_call_id: z.string(),
    is_error: z.boolean(),
    content: listUntilBad(block),
  }),
]);

const conversationFile = z.strictObject({
  version: z.literal(fileVersion),
  context_id: z.string(),
  messages: listUntilBad(message),
});

type KeptMessage = z.infer<typeof message>;

/** Takes secrets out of a text. */
export type Redact = (text: string) => string;

/** The text of the file that keeps a conversation: one JSON object, without the secrets. */
export function encodeConversation(context: ContextId, messages: readonly Message[], redact: Redact): string {
  const encoded = encodeWith((text) => text, context, messages);
  return redact(encoded) === encoded ? encoded : encodeWith(redact, context, messages);
}

function encodeWith(redact: Redact, context: ContextId, messages: readonly Message[]): string {
  const kept: z.infer<typeof conversationFile> = {
    version: fileVersion,
    context_id: redact(context),
    messages: messages.map((each) => encodeMessage(each, redact)),
  };
  return `${JSON.stringify(kept)}\n`;
}

type DecodedConversation =
  | { readonly kind: 'conversation'; readonly messages: readonly Message[] }
  /** `reason` is a clause for a person. */
  | { readonly kind: 'broken'; readonly reason: string };

/** Reads such a text, which has to be of this context. */
export function decodeConversation(text: string, context: ContextId, redact: Redact): DecodedConversation {
  const parsed = conversationFile.safeParse(parseJson(text));
  if (!parsed.success) return { kind: 'broken', reason: brokenAt(parsed.error) };
  const { context_id: of, messages } = parsed.data;
  if (of !== redact(context)) return { kind: 'broken', reason: 'it is of another context' };
  return { kind: 'conversation', messages: messages.map(decodeMessage) };
}

function encodeMessage(each: Message, redact: Redact): KeptMessage {
  const content = each.content.map((one) => encodeBlock(one, redact));
  if (each.role !== 'tool') return { role: each.role, content };
  return { role: 'tool', tool_call_id: redact(each.toolCallId), is_error: each.isError, content };
}

function encodeBlock(one: ContentBlock, redact: Redact): z.infer<typeof block> {
  switch (one.type) {
    case 'text':
      return { type: 'text', text: redact(one.text) };
    case 'thinking':
      return encodeThinking(one, redact);
    case 'tool_call':
      return {
        type: 'tool_call',
        id: redact(one.id),
        name: redact(one.name),
        input: redactedJson(one.input, redact),
        ...(one.digits === undefined ? {} : { digits: redactedDigits(one.digits, redact) }),
      };
  }
}

/** A signature vouches for the original text: a provider refuses it beside another, and ignores thinking without one. */
function encodeThinking(
  { text, signature }: Extract<ContentBlock, { type: 'thinking' }>,
  redact: Redact,
): z.infer<typeof block> {
  const clean = redact(text);
  const holds = clean === text && signature !== undefined && redact(signature) === signature;
  return { type: 'thinking', text: clean, ...(holds ? { signature } : {}) };
}

function decodeMessage(kept: KeptMessage): Message {
  if (kept.role !== 'tool') return kept;
  return { role: 'tool', toolCallId: kept.tool_call_id, isError: kept.is_error, content: kept.content };
}

function brokenAt({ issues: [issue] }: z.core.$ZodError): string {
  if (issue === undefined || issue.path.length === 0) return 'it is damaged';
  if (issue.path[0] === 'version') return `it is not of version ${fileVersion}`;
  return `${issue.path.map(String).join('.')} is not what it should be`;
}

/** How large all conversations may be together, each measured as its file would be. */
const maxBytesInAll = 256 * 1024 * 1024;

interface Thread {
  readonly messages: readonly Message[];
  readonly bytes: number;
}

/**
 * `threaded`: tasks of one context continue each other for as long as the session lives. Every message without a context opens another, so
 * the contexts saved last are kept; a conversation that is too long fails `save` with `E-RUN-032`.
 */
export function threadedConversations(): Conversations {
  const threads = new Map<ContextId, Thread>();
  let bytesInAll = 0;
  const forget = (context: ContextId): void => {
    bytesInAll -= threads.get(context)?.bytes ?? 0;
    threads.delete(context);
  };
  return {
    has: (context) => threads.has(context),
    history: (context) => threads.get(context)?.messages ?? [],
    save: (context, messages) => {
      const bytes = Buffer.byteLength(encodeConversation(context, messages, (text) => text));
      refuseTooLong(bytes);
      forget(context);
      threads.set(context, { messages, bytes });
      bytesInAll += bytes;
      for (const oldest of threads.keys()) {
        if (threads.size <= maxContexts && bytesInAll <= maxBytesInAll) return;
        forget(oldest);
      }
    },
  };
}

/** The same for a session that goes on with another one: a context that it has saved nothing of begins with what was said `before`. */
export function continuedConversations(before: ReadonlyMap<ContextId, readonly Message[]>): Conversations {
  const own = threadedConversations();
  const isOfOther = (context: ContextId): boolean => !own.has(context);
  return {
    isOfOther,
    has: (context) => own.has(context) || before.has(context),
    history: (context) => (isOfOther(context) ? (before.get(context) ?? []) : own.history(context)),
    save: (context, messages) => own.save(context, messages),
  };
}
