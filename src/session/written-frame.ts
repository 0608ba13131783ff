import { encodeNumberedFrame, type EventId, type NumberedFrame } from '../wire/frames.ts';

/** A frame as it is written, with its id. */
export class WrittenFrame {
  readonly id: EventId;
  /** A status that ends a task. */
  readonly final: boolean;
  readonly text: string;
  #bytes: Buffer | null = null;

  constructor(id: EventId, frame: NumberedFrame) {
    this.id = id;
    this.final = frame.event === 'status' && frame.final;
    this.text = encodeNumberedFrame(id, frame);
  }

  /** Made when first asked for, then the same for all: most frames only ever leave in one piece with others. */
  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.text);
    return this.#bytes;
  }
}
