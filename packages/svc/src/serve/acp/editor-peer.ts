/** Speaks JSON-RPC with an editor, a message a line, in both directions. */

import { holdsWholeText, nestsTooDeep } from '@svc/doors/core/bad-input.ts';
import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { parsedJson } from '@svc/protocol/json-text.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { AcpFault } from './fault.ts';
import { Lines, maxMessage, type ReadLine, tooLong } from '../lines.ts';

const maxId = 256;
/** Requests that wait for an answer, each way. */
const maxOpen = 256;
/** Limit for the messages that brought those of the editor, together. */
const maxOpenBytes = 64 * 1024 * 1024;

type RequestId = string | number;

/** What the agent's half answers. A rejection that is no `AcpFault` is a bug, which the editor does not see. */
export interface EditorHandlers {
  readonly onRequest: (method: string, params: unknown, id: RequestId) => Promise<unknown>;
  readonly onNotification: (method: string, params: unknown) => void;
  readonly onBug: (error: unknown) => void;
}

interface EditorRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: unknown;
}

interface Asked {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: AcpFault) => void;
}

/** One connection. */
export class EditorPeer {
  readonly #write: (message: JsonObject) => void;
  readonly #handlers: EditorHandlers;
  readonly #lines = new Lines(maxMessage);
  readonly #asked = new Map<string, Asked>();
  #open = 0;
  #openBytes = 0;
  #ids = 0;

  constructor(write: (message: JsonObject) => void, handlers: EditorHandlers) {
    this.#write = write;
    this.#handlers = handlers;
  }

  read(bytes: Buffer): void {
    for (const line of this.#lines.read(bytes)) this.#take(line);
  }

  notify(method: string, params: JsonObject): void {
    this.#write({ jsonrpc: '2.0', method, params });
  }

  /** Returns the result. Rejects with the editor's refusal. A caller that waits no more aborts `signal`, which rejects it too. */
  async ask(method: string, params: JsonObject, signal: AbortSignal): Promise<unknown> {
    if (this.#asked.size >= maxOpen) throw new AcpFault(-32_603, 'too many requests wait for the editor');
    this.#ids += 1;
    const id = `svc-${this.#ids}`;
    return await new Promise((resolve, reject) => {
      const cancelTimer = (): void => {
        if (!this.#asked.delete(id)) return;
        this.notify('$/cancel_request', { requestId: id });
        reject(new AcpFault(-32_800, 'Cancelled'));
      };
      const settle = (then: () => void): void => {
        signal.removeEventListener('abort', cancelTimer);
        then();
      };
      this.#asked.set(id, {
        resolve: (result) => settle(() => resolve(result)),
        reject: (error) => settle(() => reject(error)),
      });
      signal.addEventListener('abort', cancelTimer, { once: true });
      this.#write({ jsonrpc: '2.0', id, method, params });
      if (signal.aborted) cancelTimer();
    });
  }

  #take(line: ReadLine): void {
    if (line === 'too-long') return this.#refuse(null, -32_600, tooLong);
    const text = decodeStrictUtf8(line);
    const read = text === null ? null : parsedJson(text);
    if (read?.kind !== 'json') return this.#refuse(null, -32_700, 'Parse error');
    const message = asJsonObject(read.value);
    if (message === null) return this.#refuse(null, -32_600, 'Invalid Request: not an object');
    const { id, method } = message;
    const isId = (typeof id === 'string' && id.length <= maxId) || Number.isSafeInteger(id);
    if (id !== undefined && !isId) return this.#refuse(null, -32_600, 'Invalid Request: id');
    const answered = (id as RequestId | undefined) ?? null;
    if (nestsTooDeep(message)) return this.#refuse(answered, -32_600, 'Invalid Request: nested deeper than 64');
    if (!holdsWholeText(message)) return this.#refuse(answered, -32_602, 'texts must hold whole characters');
    if (method === undefined) return this.#answered(message);
    if (typeof method !== 'string' || message['jsonrpc'] !== '2.0') {
      return this.#refuse(answered, -32_600, 'Invalid Request: jsonrpc and method');
    }
    if (answered === null) return this.#handlers.onNotification(method, message['params']);
    const refusal = this.#refusalOf(line.length);
    if (refusal === null) void this.#answer({ id: answered, method, params: message['params'] }, line.length);
    else this.#refuse(answered, -32_600, refusal);
  }

  #refusalOf(bytes: number): string | null {
    if (this.#open >= maxOpen) return `${maxOpen} requests wait already`;
    if (this.#openBytes + bytes <= maxOpenBytes) return null;
    return `the requests that wait may have ${maxOpenBytes} bytes together`;
  }

  /** `bytes` are those of the message that brought it, which is held until then. */
  async #answer({ id, method, params }: EditorRequest, bytes: number): Promise<void> {
    this.#open += 1;
    this.#openBytes += bytes;
    try {
      const result = await this.#handlers.onRequest(method, params, id);
      this.#write({ jsonrpc: '2.0', id, result });
    } catch (error) {
      if (error instanceof AcpFault) return this.#refuse(id, error.code, error.message);
      this.#refuse(id, -32_603, 'Internal error');
      this.#handlers.onBug(error);
    } finally {
      this.#open -= 1;
      this.#openBytes -= bytes;
    }
  }

  /** An answer to something that was not asked, or not any more, is passed over. */
  #answered({ id, result, error }: JsonObject): void {
    const asked = this.#asked.get(String(id));
    if (asked === undefined) return;
    this.#asked.delete(String(id));
    const fault = error === undefined ? null : (asJsonObject(error) ?? {});
    if (fault === null) asked.resolve(result);
    else asked.reject(new AcpFault(Number(fault['code']), String(fault['message'])));
  }

  #refuse(id: RequestId | null, code: number, message: string): void {
    this.#write({ jsonrpc: '2.0', id, error: { code, message } });
  }
}
