/** Hands the messages of a client to the library of the Model Context Protocol one by one, and refuses those that are too long for it. */

import { Transform } from 'node:stream';

import type { JsonObject } from '@svc/protocol/json-object.ts';
import type { CommandContext } from '../command-context.ts';
import { say } from '../terminal/shown.ts';
import { Lines, longestMessage, tooLong } from './lines.ts';

/** What the library has to hold: beyond it, it ends the connection and reads no more. */
export const libraryBuffer = { maxBufferSize: longestMessage + 1 };

const invalidRequest = -32_600;
const lineFeed = Buffer.from('\n');

/** Each line that is written to it comes out as one chunk, with its end; one of more than 10 MiB is answered with an error, and the next is read. */
export function wholeMessages(write: (answer: JsonObject) => void): Transform {
  const lines = new Lines(longestMessage);
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      for (const line of lines.read(bytes)) {
        if (line !== 'too-long') this.push(Buffer.concat([line, lineFeed]));
        // Nothing is known of it, and so not its id either.
        else write({ jsonrpc: '2.0', id: null, error: { code: invalidRequest, message: tooLong } });
      }
      done();
    },
  });
}

/** Tells the operator why a server ends whose standard input is still open. */
export function sayLost(context: CommandContext): void {
  context.stderr.write(say`svc: the client cannot be answered any more, so svc serve ends\n`);
}
