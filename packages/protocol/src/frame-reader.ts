/** Splits the bytes of an event stream into its frames, as text. */

/** One frame of an event stream as its text came: ids may be above 2^53, so they stay text here. */
export interface ReceivedFrame {
  /** Undefined on a frame without an id line. */
  readonly id: string | undefined;
  /** `message` on a frame without an event line, as event streams have it. */
  readonly event: string;
  readonly data: string;
}

/** Longer frames are refused: what is kept of an endless line has to have an end. */
export const maxFrame: number = 128 * 1024 * 1024;

/**
 * From the bytes of one event stream, cut anywhere, to its frames (D1 "Frame format"). Comments and unknown fields are passed over
 * (D1 "Client tolerance"); a frame that the end of the stream cuts off is dropped. Takes time in proportion to the bytes.
 */
export class FrameReader {
  readonly #decoder = new TextDecoder();
  readonly #maxCharacters: number;
  /** The pieces of a line that has not ended. */
  #pieces: string[] = [];
  #endsWithReturn = false;
  #id: string | undefined = undefined;
  #event = '';
  #data: string[] = [];
  /** Characters of the frame and of its unfinished line, whatever is kept of them: what a line was cut from may stay in memory with it. */
  #held = 0;
  #frames: ReceivedFrame[] = [];
  #retryMs: number | null = null;

  constructor(maxCharacters: number = maxFrame) {
    this.#maxCharacters = maxCharacters;
  }

  /** A frame was longer than it may be: nothing can be read after it. */
  get isTooLong(): boolean {
    return this.#held > this.#maxCharacters;
  }

  /** How long the server wants a client to wait before it connects again, in milliseconds; null where it has not said. */
  get retryMs(): number | null {
    return this.#retryMs;
  }

  /** The frames that these bytes complete. */
  read(bytes: Uint8Array): readonly ReceivedFrame[] {
    this.#frames = [];
    this.#take(this.#decoder.decode(bytes, { stream: true }));
    return this.#frames;
  }

  #take(read: string): void {
    // A line feed after a carriage return ends no other line.
    const fresh = this.#endsWithReturn && read.startsWith('\n') ? read.slice(1) : read;
    if (read !== '') this.#endsWithReturn = read.endsWith('\r');
    const text = fresh.includes('\r') ? fresh.replaceAll(/\r\n?/g, '\n') : fresh;
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1 && !this.isTooLong; end = text.indexOf('\n', from)) {
      this.#endLine(text.slice(from, end));
      from = end + 1;
    }
    if (from === text.length) return;
    this.#pieces.push(text.slice(from));
    this.#held += text.length - from;
  }

  #endLine(last: string): void {
    this.#held += last.length + 1;
    if (this.#pieces.length === 0) return this.#line(last);
    const line = this.#pieces.join('') + last;
    this.#pieces = [];
    this.#line(line);
  }

  #line(line: string): void {
    if (line === '') return this.#endFrame();
    const colon = line.indexOf(':');
    const start = line.startsWith(' ', colon + 1) ? colon + 2 : colon + 1;
    const [field, value] = colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(start)];
    if (field === 'data') this.#data.push(kept(value));
    else if (field === 'event') this.#event = kept(value);
    else if (field === 'retry' && /^\d{1,9}$/.test(value)) this.#retryMs = Number(value);
    else if (field === 'id' && !value.includes('\0')) this.#id = kept(value);
  }

  #endFrame(): void {
    const data = this.#data;
    if (data.length > 0) {
      const text = data.length === 1 ? (data[0] ?? '') : data.join('\n');
      this.#frames.push({ id: this.#id, event: this.#event === '' ? 'message' : this.#event, data: text });
    }
    this.#id = undefined;
    this.#event = '';
    this.#data = [];
    this.#held = 0;
  }
}

/** Shorter values are copied. */
const maxCopied = 1024;

/** A value that does not keep in memory all that it was cut from, which engines do for a mere slice, unless it is long itself. */
function kept(value: string): string {
  return value.length < maxCopied ? ` ${value}`.slice(1) : value;
}
