/** A model provider that never runs out of answers. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A call as the model makes it; the arguments as JSON text. */
export interface TirelessCall {
  readonly name: string;
  readonly arguments: string;
}

export interface TirelessOptions {
  /** What the model calls in the turn of this number, counted from 1; nothing ends the task. */
  readonly calls: (turn: number) => readonly TirelessCall[];
  /** Called for each request once it has come whole, and awaited before the answer. */
  readonly onTurn: (turn: number, connection: object) => Promise<void>;
}

/** A Chat Completions server for conversations of thousands of turns: it keeps nothing of what it is sent. */
export class TirelessProvider {
  readonly #server: ReturnType<typeof createServer>;
  #turn = 0;

  private constructor({ calls, onTurn }: TirelessOptions) {
    this.#server = createServer((request, response) => {
      request.resume();
      request.on('end', () => {
        this.#turn += 1;
        const turn = this.#turn;
        onTurn(turn, request.socket).then(
          () => {
            response.writeHead(200, { 'content-type': 'text/event-stream' });
            response.end(replyOf(calls(turn), turn));
          },
          (error: unknown) => response.destroy(error as Error),
        );
      });
    });
    // A connection is kept for as long as the client likes.
    this.#server.keepAliveTimeout = 0;
  }

  static async start(options: TirelessOptions): Promise<TirelessProvider> {
    const provider = new TirelessProvider(options);
    provider.#server.listen(0, '127.0.0.1');
    await once(provider.#server, 'listening');
    return provider;
  }

  /** For `inference.endpoint`. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

function replyOf(calls: readonly TirelessCall[], turn: number): string {
  const toolCalls = calls.map((call, index) => ({
    index,
    id: `call_${turn}_${index}`,
    type: 'function',
    function: call,
  }));
  const [delta, finish] =
    calls.length === 0 ? [{ content: 'Done.' }, 'stop'] : [{ tool_calls: toolCalls }, 'tool_calls'];
  return [chunk(delta, null), chunk({}, finish), 'data: [DONE]\n\n'].join('');
}

function chunk(delta: object, finish: string | null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  const said = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'tireless', choices };
  return `data: ${JSON.stringify(said)}\n\n`;
}
