/** Decides by its `Accept` header in which of the two forms of the protocol a client takes an answer over HTTP. */

import { pipeline, type Readable, Transform } from 'node:stream';

import { FrameReader } from '@svc/protocol/frame-reader.ts';
import { parseJsonObject } from '@svc/protocol/json-object.ts';

const streamType = 'text/event-stream';
const jsonType = 'application/json';

/**
 * A stream of events where the client takes one: it can be asked, and hears of progress. A file goes as JSON where the client takes both: the
 * Python library takes no event of more than 1 MiB. Returns null if the client takes neither form.
 */
export function acceptedForm(accept: string | undefined, method?: unknown): 'stream' | 'json' | null {
  const ranges = (accept ?? '*/*').split(',').flatMap((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return parameters.some((each) => /^q=0(?:\.0*)?$/.test(each)) ? [] : [type];
  });
  const takesJson = takes(ranges, jsonType);
  if (takes(ranges, streamType) && !(takesJson && method === 'resources/read')) return 'stream';
  return takesJson ? 'json' : null;
}

function takes(ranges: readonly string[], type: string): boolean {
  return ranges.some((range) => range === type || range === '*/*' || range === type.replace(/\/.*$/, '/*'));
}

/** What the library is shown: it looks for both types by their names, and is content. */
export const shownAccept = { stream: `${jsonType}, ${streamType}`, json: `${jsonType}, ${streamType};q=0` } as const;

/** No question and no notification is longer. */
const maxOther = 64 * 1024;
const noAnswer = JSON.stringify({
  jsonrpc: '2.0',
  id: null,
  error: { code: -32_000, message: 'the session ended before there was an answer' },
});

/** The answer alone, out of a stream of events of the library. Destroying it destroys the stream. */
export function answerAlone(events: Readable): Readable {
  const frames = new FrameReader();
  let answer = noAnswer;
  const alone = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (const { data } of frames.read(chunk)) if (isAnswer(data)) answer = data;
      done();
    },
    flush(done) {
      done(null, answer);
    },
  });
  // What ends the one ends the other, and nobody waits for both.
  return pipeline(events, alone, () => {});
}

function isAnswer(data: string): boolean {
  return data.length > maxOther || !('method' in (parseJsonObject(data) ?? { method: '' }));
}
