/** Reads the frames of an event stream byte for byte. */

import { bodyOf, postBytes, RawSocket } from './raw-socket.ts';

/** One frame as it was written. */
export interface StreamFrame {
  /** The digits of the id line; null without one. */
  readonly id: string | null;
  readonly event: string;
  /** The data line, byte for byte. */
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The only two forms a frame may have (D1 "Frame format"). */
const frameForm =
  /^(?:id: (?<id>0|[1-9][0-9]*)\nevent: (?<numbered>status|artifact|text|thinking)|event: (?<bare>gap|connection-ack|capsule-closed|error))\ndata: (?<data>[^\r\n]*)$/;

/** An event stream of a capsule, read from a socket of its own. A frame of any other form than the specified one throws. */
export class FrameStream {
  readonly #raw: RawSocket;
  #changed: (() => void)[] = [];

  private constructor(raw: RawSocket) {
    this.#raw = raw;
    for (const event of ['data', 'close']) {
      raw.socket.on(event, () => {
        for (const wake of this.#changed.splice(0)) wake();
      });
    }
  }

  /** Calls a streaming method of the capsule at `host:port`; resolves once it is being answered. */
  static async open(url: string, method: string, params: unknown): Promise<FrameStream> {
    const raw = await RawSocket.open(Number(url.split(':')[1]));
    const stream = new FrameStream(raw);
    raw.send(postBytes(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })));
    await raw.until('\r\n\r\n');
    return stream;
  }

  /** What the body holds so far, byte for byte. */
  get body(): string {
    return bodyOf(this.#raw.received);
  }

  get isOpen(): boolean {
    return !this.#raw.ended;
  }

  /** The whole frames so far. */
  get frames(): readonly StreamFrame[] {
    return this.body
      .split('\n\n')
      .slice(0, -1)
      .filter((group) => group !== ':heartbeat')
      .map(parseFrame);
  }

  /**
   * A line a frame: id or `-`, event and data byte for byte, except for what differs from run to run: task and context ids are
   * numbered in the order in which they appear (`task-1`, `ctx-1`), and durations are `<ms>`.
   */
  get lines(): readonly string[] {
    const seen = { tsk: new Map<string, string>(), ctx: new Map<string, string>() };
    const numbered = (id: string, kind: string): string => {
      const known = kind === 'tsk' ? seen.tsk : seen.ctx;
      if (!known.has(id)) known.set(id, `${kind === 'tsk' ? 'task' : 'ctx'}-${known.size + 1}`);
      return known.get(id) ?? '';
    };
    return this.frames.map(({ id, event, text }) =>
      `${id ?? '-'} ${event} ${text}`
        .replaceAll(/\b(tsk|ctx)_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}\b/g, numbered)
        .replace(/"duration_ms":\d+,/, '"duration_ms":<ms>,'),
    );
  }

  /** The first frame that fits, as soon as it is there; rejects when the stream ends without it. */
  async until(fits: (frame: StreamFrame) => boolean): Promise<StreamFrame> {
    for (;;) {
      const found = this.frames.find(fits);
      if (found !== undefined) return found;
      if (!this.isOpen) throw new Error(`the stream ended without the frame waited for:\n${this.body}`);
      await this.#change();
    }
  }

  /** The first status frame that says this. */
  async status(state: string, message: string): Promise<StreamFrame> {
    return await this.until(({ event, text }) => event === 'status' && text.includes(statusText(state, message)));
  }

  /** Everything that was written, once the other side has closed. */
  async untilClosed(): Promise<this> {
    while (this.isOpen) await this.#change();
    return this;
  }

  close(): void {
    this.#raw.close();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#changed.push(resolve));
  }
}

function statusText(state: string, message: string): string {
  return `{"state":${JSON.stringify(state)},"message":${JSON.stringify(message)}`;
}

function parseFrame(group: string): StreamFrame {
  const groups = frameForm.exec(group)?.groups;
  if (groups === undefined) throw new Error(`not a frame: ${JSON.stringify(group)}`);
  const { id = null, numbered, bare, data = '' } = groups;
  return { id, event: numbered ?? bare ?? '', text: data, data: JSON.parse(data) as Record<string, unknown> };
}
