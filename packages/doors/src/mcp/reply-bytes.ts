/** Reads the bytes of a reply that was made for a client of HTTP, for clients of the Model Context Protocol. */

import type { Readable } from 'node:stream';

import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import type { Reply } from '@svc/kit/http/reply.ts';
import { UnfinishedRead } from '@svc/session/files/hashed-content.ts';

/** Returns null for a reply that is no success, and for one of more than `most` bytes. What the reply holds open is closed in every case. */
export async function readUpTo(reply: Reply, most: number): Promise<Buffer | null> {
  if (reply.kind === 'stream') throw new Error('an event stream is no body');
  const isGood = reply.status === 200;
  switch (reply.kind) {
    case 'empty':
      return isGood ? Buffer.alloc(0) : null;
    case 'json':
      return isGood && reply.text.length <= most ? Buffer.from(reply.text) : null;
    case 'bytes': {
      const bytes = isGood && reply.bytes.byteLength <= most ? Buffer.from(reply.bytes) : null;
      reply.onDone?.(true);
      return bytes;
    }
    case 'file': {
      const { file, start, length } = reply;
      try {
        if (!isGood || length > most) return null;
        const bytes = Buffer.alloc(length);
        let read = 0;
        while (read < length) {
          const { bytesRead } = await file.read(bytes, read, length - read, start + read);
          if (bytesRead === 0) return null;
          read += bytesRead;
        }
        return bytes;
      } finally {
        await file.close();
      }
    }
    case 'readable':
      if (isGood) return await readStream(reply.source, most);
      reply.source.destroy();
      return null;
  }
}

/** Releases the file or stream of a reply that is not sent. */
export async function discard(reply: Reply): Promise<void> {
  if (reply.kind === 'bytes') reply.onDone?.(true);
  if (reply.kind === 'file') await reply.file.close();
  if (reply.kind === 'readable') reply.source.destroy();
}

/** Length of the body in bytes; null if unknown. */
export function bodyLength(reply: Reply): number | null {
  switch (reply.kind) {
    case 'bytes':
      return reply.bytes.byteLength;
    case 'json':
      return reply.text.length;
    case 'file':
    case 'readable':
      return reply.length;
    case 'empty':
    case 'stream':
      return 0;
  }
}

async function readStream(source: Readable, most: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of source as AsyncIterable<Buffer | string>) {
      const bytes = Buffer.from(chunk as string);
      length += bytes.length;
      if (length > most) return null;
      chunks.push(bytes);
    }
  } catch (error) {
    // The system could not read on, or the session is over; the maker of the reply has recorded it.
    if (isSystemError(error) || error instanceof UnfinishedRead) return null;
    throw error;
  }
  return Buffer.concat(chunks);
}
