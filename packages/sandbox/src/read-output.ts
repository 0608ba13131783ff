/** Reads the bytes of a process output. */

import type { Readable } from 'node:stream';

import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';

/** The bytes of a process output until it is closed; one that the launcher closed by force just ends. */
export async function* readOutput(output: Readable): AsyncGenerator<Buffer, void, undefined> {
  try {
    for await (const chunk of output) yield chunk as Buffer;
  } catch (error) {
    if (errorCode(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}
