import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const headEnd = Buffer.from('\r\n\r\n');

/**
 * A client of an event stream that sends exactly the given bytes and keeps exactly those it gets. It reads only while the test lets it, so
 * it can be as slow as a test needs.
 */
export class StreamReader {
  readonly socket: Socket;
  ended = false;
  readonly #chunks: Buffer[] = [];
  #joined: { readonly chunks: number; readonly bytes: Buffer } = { chunks: 0, bytes: Buffer.alloc(0) };
  #changed: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => this.#note(() => this.#chunks.push(chunk)));
    socket.on('close', () => this.#note(() => (this.ended = true)));
    // What a reset does to a connection is shown by its end.
    socket.on('error', () => socket.destroy());
  }

  static async open(port: number): Promise<StreamReader> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('end', () => socket.end());
    await once(socket, 'connect');
    return new StreamReader(socket);
  }

  send(text: string): void {
    this.socket.write(text);
  }

  /** Every byte so far, head included. */
  get bytes(): Buffer {
    const { length } = this.#chunks;
    if (this.#joined.chunks < length) {
      const bytes = Buffer.concat([this.#joined.bytes, ...this.#chunks.slice(this.#joined.chunks)]);
      this.#joined = { chunks: length, bytes };
    }
    return this.#joined.bytes;
  }

  get head(): string {
    return this.bytes.subarray(0, this.#bodyStart).toString('latin1');
  }

  get body(): string {
    return this.bytes.subarray(this.#bodyStart).toString('utf8');
  }

  /** The id lines of the body, `-` for a frame without one. */
  get ids(): string[] {
    return this.body
      .split('\n\n')
      .slice(0, -1)
      .map((frame) => /^id: (.*)$/m.exec(frame)?.[1] ?? '-');
  }

  /** Resolves once the whole head is there. */
  async untilHead(): Promise<this> {
    return await this.#until(() => this.bytes.includes(headEnd), 'its head');
  }

  /** Resolves once what was received holds `text`; rejects when the connection ends without it. */
  async until(text: string): Promise<this> {
    const wanted = Buffer.from(text);
    let searched = 0;
    let tail = Buffer.alloc(0);
    // Each piece is looked at once, with as much of those before it as an occurrence may begin in.
    return await this.#until(
      () => {
        const fresh = this.#chunks.slice(searched);
        searched = this.#chunks.length;
        const window = Buffer.concat([tail, ...fresh]);
        tail = window.subarray(Math.max(0, window.length - wanted.length + 1));
        return window.includes(wanted);
      },
      JSON.stringify(text.slice(0, 200)),
    );
  }

  /** Resolves once the other side has closed. */
  async untilClosed(): Promise<this> {
    while (!this.ended) await this.#change();
    return this;
  }

  /** Leaves without a word: the other side sees that nobody is there. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  get #bodyStart(): number {
    const at = this.bytes.indexOf(headEnd);
    return at === -1 ? this.bytes.length : at + headEnd.length;
  }

  async #until(isThere: () => boolean, what: string): Promise<this> {
    for (;;) {
      if (isThere()) return this;
      if (this.ended) throw new Error(`the connection ended without ${what}: ${this.head}${this.body.slice(-2000)}`);
      await this.#change();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#changed.push(resolve));
  }

  #note(change: () => void): void {
    change();
    for (const resolve of this.#changed.splice(0)) resolve();
  }
}
