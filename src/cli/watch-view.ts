import type { EventSourceMessage } from 'eventsource-parser';

import type { CommandContext } from './command-context.ts';
import { plainText } from './plain-text.ts';

const taskIdTail = 8;

/** Prints the frames of a watched capsule; unknown events and keys are passed over (D1 "Client tolerance"). */
export class WatchView {
  readonly #context: CommandContext;
  readonly #json: boolean;
  #threaded = false;
  #inText = false;

  constructor(context: CommandContext, json: boolean) {
    this.#context = context;
    this.#json = json;
  }

  show(event: EventSourceMessage): void {
    if (this.#json) return this.#showJson(event);
    const data = parseData(event.data);
    switch (event.event) {
      case 'connection-ack':
        this.#threaded = data['conversation_mode'] === 'threaded';
        return;
      case 'status':
        return this.#status(data);
      case 'artifact':
        return this.#artifact(object(data['artifact']));
      case 'text':
        return this.#text(string(data['text']), data['final'] === true);
      case 'gap': {
        const first = firstAvailableId(event.data);
        this.#context.stderr.write(`warning: earlier frames may be gone; the first available id is ${first}\n`);
        return;
      }
      default:
    }
  }

  /** Ends a line that a lost stream left open. */
  end(): void {
    if (this.#inText) this.#context.stdout.write('\n');
    this.#inText = false;
  }

  /** The data goes out as it came, so that ids above 2^53 stay exact. */
  #showJson({ id, event, data }: EventSourceMessage): void {
    const label = id === undefined ? '' : `"id":${JSON.stringify(id)},`;
    const type = JSON.stringify(event ?? 'message');
    this.#context.stdout.write(`{${label}"event":${type},"data":${isJson(data) ? data : JSON.stringify(data)}}\n`);
  }

  #status(data: Data): void {
    const status = object(data['status']);
    const task = this.#threaded ? `${string(data['id']).slice(-taskIdTail)} ` : '';
    this.#line(`[${task}${string(status['state'])}] ${string(status['message'])}`);
  }

  #artifact(artifact: Data): void {
    const outcome = artifact['is_error'] === true ? 'failed' : 'ok';
    this.#line(`[${string(artifact['tool_name'])} ${outcome}] ${string(artifact['content'])}`);
  }

  #text(text: string, final: boolean): void {
    if (text !== '') {
      this.#context.stdout.write(plainText(text));
      this.#inText = !text.endsWith('\n');
    }
    if (final) this.end();
  }

  #line(text: string): void {
    this.end();
    this.#context.stdout.write(`${plainText(text)}\n`);
  }
}

type Data = Readonly<Record<string, unknown>>;

function parseData(text: string): Data {
  return isJson(text) ? object(JSON.parse(text)) : {};
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // D1 lets one frame carry data that is no JSON; a client goes on.
    return false;
  }
}

function object(value: unknown): Data {
  return typeof value === 'object' && value !== null ? (value as Data) : {};
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Read from the text: the id may be above what a parsed number holds. */
function firstAvailableId(text: string): string {
  return /"first_available_id"\s*:\s*(\d+)/.exec(text)?.[1] ?? 'unknown';
}
