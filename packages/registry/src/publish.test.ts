import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { pacedBody } from './publish.ts';

/** Gives the chunks and then ends, or stays silent. Notes that its reader stopped it. */
class Sender {
  stopped = false;
  readonly #chunks: readonly string[];
  readonly #staysSilent: boolean;

  constructor(chunks: readonly string[], staysSilent = false) {
    this.#chunks = chunks;
    this.#staysSilent = staysSilent;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      for (const chunk of this.#chunks) yield Buffer.from(chunk);
      if (this.#staysSilent) await new Promise(() => {});
    } finally {
      this.stopped = true;
    }
  }
}

const pace = { bytes: 3, ms: 60_000 };

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const chunk of body) text += chunk.toString();
  return text;
}

describe('a paced body', () => {
  it('passes on what the sender sends, to its end', async () => {
    expect(await textOf(pacedBody(new Sender(['ab', '', 'cdef', 'g']), pace))).toBe('abcdefg');
    expect(await textOf(pacedBody(new Sender([]), pace))).toBe('');
  });

  it('fails when its sender falls silent, at its start or later', async () => {
    for (const chunks of [[], ['abcdef']]) {
      await expect(textOf(pacedBody(new Sender(chunks, true), { bytes: 3, ms: 20 }))).rejects.toMatchObject({
        status: 408,
      });
    }
  });

  it('does not count the time its reader takes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'hrtime'] });
    onTestFinished(() => void vi.useRealTimers());
    let text = '';
    for await (const chunk of pacedBody(new Sender(['a', 'b', 'c', 'd']), { bytes: 100, ms: 1_000 })) {
      text += chunk.toString();
      vi.advanceTimersByTime(5_000);
    }
    expect(text).toBe('abcd');
  });

  it('lets go of the sender when its reader stops', async () => {
    const sender = new Sender(['a', 'b']);
    for await (const chunk of pacedBody(sender, pace)) if (chunk.length === 1) break;
    expect(sender.stopped).toBe(true);
  });

  it('passes on what the sender fails with', async () => {
    async function* failing(): AsyncGenerator<Buffer> {
      yield await Promise.resolve(Buffer.from('a'));
      throw new Error('gone');
    }
    await expect(textOf(pacedBody(failing(), pace))).rejects.toThrow('gone');
  });
});
