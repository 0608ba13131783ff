/** Takes the conversation of a recorded session out of its journal, for a session that goes on with it. */

import * as z from 'zod/mini';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shownBytes } from '@svc/kit/shown-values.ts';
import { damaged, type JournalReader } from '@svc/record/journal/journal-reader.ts';
import { PassedTexts } from '@svc/record/journal/passed-texts.ts';
import { parsed } from '@svc/record/journal/recorded-json.ts';
import { type EndRecord, type JournalRecord, type StartRecord, questionAt } from '@svc/record/journal/records.ts';
import { contextProblem } from '../loop/compacted-context.ts';
import { toldMessages } from '../loop/told-messages.ts';
import type { Message, ToolCallBlock } from '../model/driver.ts';
import { fenceUntrusted } from '../tools/untrusted-fence.ts';

/** What was said so far, and with which model. */
export interface RecordedConversation {
  /** It ends with a message of the assistant; empty where nothing was said. */
  readonly messages: readonly Message[];
  /** Is null if no model was asked: `messages` are then what commands of the person gave, behind whatever was said before the session. */
  readonly model: string | null;
}

type ModelStart = Extract<StartRecord, { port: 'model' }>;

/** One request to the model, with its answer once that is there. */
interface Request {
  readonly start: ModelStart;
  readonly taskId: string;
  end: EndRecord | null;
}

interface TaskRead {
  readonly ctx: string;
  state: string | null;
  last: Request | null;
  /** Is null unless it is a command that a person typed with `!!`. */
  readonly told: { shell: string; end: EndRecord | null } | null;
}

const kinds = ['body', 'task', 'start', 'end', 'task-end'] as const;

const block = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('thinking'), text: z.string(), signature: z.exactOptional(z.string()) }),
  z.object({
    type: z.literal('tool_call'),
    id: z.string(),
    name: z.string(),
    input: z.unknown(),
    digits: z.exactOptional(z.record(z.string(), z.string())),
  }),
]);

const messageShape = z.discriminatedUnion('role', [
  z.object({ role: z.literal(['user', 'assistant']), content: z.array(block) }),
  z.object({ role: z.literal('tool'), toolCallId: z.string(), isError: z.boolean(), content: z.array(block) }),
]);

/** What stands in a journal for a secret: a signature does not hold for such a text. */
const secretMark = '[secret]';

/**
 * The conversation of the last task that a user gave: as the session would have gone on with it, and where that task came to no answer, with what it did.
 * Every call has a result. Returns null if no model was asked for such a task. Throws `E-RUN-073` for a journal that is damaged, `E-RUN-200` for one without the texts.
 */
export function recordedConversation(reader: JournalReader): RecordedConversation | null {
  const scan = reader.scan(kinds);
  const journal = new ConversationReader(new PassedTexts(reader));
  for (const { record } of scan.records()) journal.take(record);
  if (scan.damage !== null) throw damaged(scan.damage);
  return journal.conversation();
}

class ConversationReader {
  readonly #texts: PassedTexts;
  readonly #tasks = new Map<string, TaskRead>();
  readonly #requests = new Map<string, Request>();
  readonly #steps = new Map<string, EndRecord | null>();
  #lastContext: string | null = null;

  constructor(texts: PassedTexts) {
    this.#texts = texts;
  }

  take(record: JournalRecord<(typeof kinds)[number]>): void {
    switch (record.k) {
      case 'body':
        return this.#texts.note(record);
      case 'task': {
        if (record.command === 'shown' || record.command === 'passed') return;
        const told = record.command === undefined ? null : { shell: '', end: null };
        this.#tasks.set(record.id, { ctx: record.ctx, state: null, last: null, told });
        if (record.origin === 'user' || record.origin === 'message') this.#lastContext = record.ctx;
        return;
      }
      case 'task-end': {
        const task = this.#tasks.get(record.id);
        if (task !== undefined) task.state = record.state;
        return;
      }
      case 'start':
        return this.#begin(record);
      case 'end':
        return this.#end(record);
    }
  }

  #begin(start: StartRecord): void {
    const told = this.#toldAt(start.e);
    if (told !== null) told.shell = start.name;
    const taskId = questionAt(start.e)?.taskId ?? '';
    const task = this.#tasks.get(taskId);
    if (start.port !== 'model' || task === undefined) {
      // Only those of the last answer are looked at again.
      this.#steps.set(start.e, null);
      return;
    }
    this.#steps.clear();
    const request: Request = { start, taskId, end: null };
    this.#requests.set(start.e, request);
    task.last = request;
  }

  #end(end: EndRecord): void {
    const told = this.#toldAt(end.e);
    if (told !== null) told.end = end;
    const request = this.#requests.get(end.e);
    if (request !== undefined) request.end = end;
    else if (this.#steps.has(end.e)) this.#steps.set(end.e, end);
  }

  #toldAt(place: string): TaskRead['told'] {
    const [, taskId = ''] = typedCall.exec(place) ?? [];
    return this.#tasks.get(taskId)?.told ?? null;
  }

  conversation(): RecordedConversation | null {
    const tasks = [...this.#tasks.values()].filter(({ ctx }) => ctx === this.#lastContext);
    const at = tasks.findLastIndex(({ last }) => last !== null);
    const told = tasks.slice(at + 1).flatMap((task) => this.#toldBy(task));
    const last = tasks[at];
    const request = last?.last ?? null;
    if (last === undefined || request === null) return told.length === 0 ? null : { messages: told, model: null };
    const messages = [...this.#messagesOf(request.start), ...this.#answerTo(request)];
    if (last.state !== 'completed') endUnfinished(messages, last.state);
    const problem = contextProblem([...messages, { role: 'user', content: [] }]);
    if (problem !== null || messages.at(-1)?.role !== 'assistant')
      throw unusable(problem ?? 'it ends without an answer');
    return { messages: [...messages, ...told], model: request.start.name };
  }

  #toldBy({ told, state }: TaskRead): readonly Message[] {
    if (told?.end?.value == null || state !== 'completed') return [];
    const { content } = (this.#json(told.end.value) ?? {}) as { content?: unknown };
    return typeof content === 'string' ? toldMessages('', fenceUntrusted(`tool:${told.shell}`, content)) : [];
  }

  #messagesOf(start: ModelStart): readonly Message[] {
    const hashes: string[] = [];
    const passed = new Set<string>();
    for (let at: ModelStart | undefined = start; at !== undefined && !passed.has(at.e);) {
      passed.add(at.e);
      hashes.unshift(...at.add);
      at = at.base === null ? undefined : this.#requests.get(at.base)?.start;
    }
    return hashes.map((hash) => {
      const read = messageShape.safeParse(this.#json(hash));
      if (!read.success) throw unusable('a message of it is not what it should be');
      return withoutLostSignatures(read.data);
    });
  }

  /** The answer with the results of its calls, as the model would have read them. */
  #answerTo({ start, end }: Request): readonly Message[] {
    const outcome = end === null || end.value === null ? null : this.#json(end.value);
    const { response } = (outcome ?? {}) as { response?: { content?: unknown } };
    const content = z.array(block).safeParse(response?.content);
    if (!content.success || content.data.length === 0) return [];
    const answer = withoutLostSignatures({ role: 'assistant', content: content.data });
    const calls = answer.content.filter((each) => each.type === 'tool_call');
    const results = calls.map((call, index) => this.#resultOf(call, `${start.e}/t${index + 1}`));
    return [answer, ...results];
  }

  #resultOf({ id, name }: ToolCallBlock, place: string): Message {
    const end = this.#steps.get(place);
    const told = (text: string, isError: boolean): Message => ({
      role: 'tool',
      toolCallId: id,
      isError,
      content: [{ type: 'text', text }],
    });
    if (end === undefined) return told(notDone, true);
    if (end?.value == null) return told(unknownOutcome, true);
    const { content, status } = (this.#json(end.value) ?? {}) as { content?: unknown; status?: unknown };
    if (typeof content !== 'string') return told(unknownOutcome, true);
    return told(fenceUntrusted(`tool:${name}`, content), status !== 'passed');
  }

  #json(sha256: string): unknown {
    const body = this.#texts.body(sha256);
    if (body.kind === 'text') return parsed(body.text);
    throw unusable(body.kind === 'damaged' ? body.why : `a text of ${shownBytes(body.bytes)} was not kept whole`);
  }
}

/** Where the one call of a command stands that a person typed. */
const typedCall = /^([^/]+)\/1\/m1\/t1$/;

const notDone = 'svc: not carried out, as the task had ended before.';
const unknownOutcome =
  'svc: outcome unknown. svc was ended while this ran. It may have acted: look before you do it again.';

/** Providers want an answer of the assistant before the next message of the user. */
function endUnfinished(messages: Message[], state: string | null): void {
  const how = state === null ? 'svc was ended' : state === 'canceled' ? 'the task was canceled' : 'the task failed';
  const said = { type: 'text', text: `[${how} before I was done]` } as const;
  const last = messages.at(-1);
  if (last?.role === 'assistant') messages[messages.length - 1] = { ...last, content: [...last.content, said] };
  else messages.push({ role: 'assistant', content: [said] });
}

/** Thinking from which a secret was taken. Providers refuse it beside its signature, and take an answer without any. */
function withoutLostSignatures(message: Message): Message {
  const content = message.content.filter((each) => each.type !== 'thinking' || !each.text.includes(secretMark));
  if (content.length === message.content.length) return message;
  return { ...message, content: content.length === 0 ? [{ type: 'text', text: '[no words]' }] : content };
}

function unusable(why: string): Diagnostic {
  return new Diagnostic('E-RUN-200', `the conversation of that session cannot be gone on with: ${why}`, {
    hint: 'svc trace show shows what is recorded of it; a journal with capture content has all texts',
  });
}
