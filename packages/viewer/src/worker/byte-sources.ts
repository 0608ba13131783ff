/** Opens the bytes that a session is read from: streams of the server of the page, or what an exported page holds. */

import type { ViewedFacts } from '@svc/protocol/viewed-session.ts';
import type { Place } from '../messages.ts';

/** A stream that could not be opened, and why. */
export class SourceFault extends Error {}

/** A stream that broke off before its end: a connection that was lost, or bytes that are damaged. */
export class BrokenStream extends Error {}

/** The next piece; null at the end. Rejects with a `BrokenStream`. */
export async function nextPiece(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | null> {
  try {
    const { done, value } = await reader.read();
    return done ? null : value;
  } catch (error) {
    throw new BrokenStream('the stream broke off', { cause: error });
  }
}

/** Takes each whole line of a stream. Rejects with a `BrokenStream`. */
export async function eachLine(stream: ReadableStream<Uint8Array>, take: (line: string) => void): Promise<void> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (let piece = await nextPiece(reader); piece !== null; piece = await nextPiece(reader)) {
    const [begun = '', ...lines] = decoder.decode(piece, { stream: true }).split('\n');
    rest += begun;
    for (const line of lines) {
      take(rest);
      rest = line;
    }
  }
}

/** Resolves after so many milliseconds. */
export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** A server that has too much to do at once says so, and is asked again for half a minute. */
const [maxAsked, betweenMs, tooMuch] = [30, 1000, 503];

/** An answer of the server of the page. Throws a `SourceFault` without one. */
export async function ask(url: string, asked: RequestInit): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    let answer: Response;
    try {
      answer = await fetch(url, asked);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw new SourceFault('The server of this page does not answer any more. Start svc view again.', {
        cause: error,
      });
    }
    if (answer.status !== tooMuch || tries === maxAsked) return answer;
    await answer.body?.cancel();
    await pause(betweenMs);
  }
}

/** How long a session that was followed is looked for after its end. */
const [maxLooks, betweenLooksMs] = [60, 2000];

/** Waits until a session that has ended runs again, as that of a capsule does that has died and is resumed. False where it does not. Throws a `SourceFault`. */
export async function livesAgain(place: Served): Promise<boolean> {
  for (let looks = 0; looks < maxLooks; looks += 1) {
    await pause(betweenLooksMs);
    const answer = await ask(place.base.slice(0, -1), { headers: headersOf(place) });
    if (answer.ok && ((await answer.json()) as ViewedFacts).live) return true;
  }
  return false;
}

export type Served = Extract<Place, { readonly kind: 'server' }>;

export function headersOf({ token }: Served): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token}` };
}

/** What the server has at a path of the session. Throws a `SourceFault`. */
export async function json(place: Served, path: string): Promise<unknown> {
  const answer = await ask(place.base + path, { headers: headersOf(place) });
  if (!answer.ok) throw new SourceFault(await faultOf(answer));
  return await answer.json();
}

/** Blocks of rows behind the first `from`, a line each; they end where the trace does, or when the session has. Throws a `SourceFault`. */
export async function servedRows(place: Served, from: number): Promise<ReadableStream<Uint8Array>> {
  const answer = await ask(`${place.base}rows?from=${from}`, { headers: headersOf(place) });
  if (!answer.ok || answer.body === null) throw new SourceFault(await faultOf(answer));
  return answer.body;
}

/** What the server says is wrong, as one sentence. */
export async function faultOf(answer: Response): Promise<string> {
  if (answer.status === 401) return 'The token is of another svc view. Open the address that was printed last.';
  const text = (await answer.text()).slice(0, 10_000);
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } };
    if (typeof error?.message === 'string') return error.message.slice(0, 500);
  } catch {
    // An answer that is no JSON: its status says what there is to say.
  }
  return `The server of this page answered ${answer.status}.`;
}

/** Bytes that were made small and written as letters. Breaks off where they are damaged; throws a `SourceFault` for anything else. */
export function heldBytes(base64: string): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new Blob([fromBase64(base64.trim())]).stream().pipeThrough(new DecompressionStream('gzip'));
}

/** Browsers of 2025 and later do it at once; in others it takes some times as long. */
export function fromBase64(letters: string): Uint8Array<ArrayBuffer> {
  const { fromBase64: whole } = Uint8Array as { fromBase64?: (letters: string) => Uint8Array<ArrayBuffer> };
  try {
    if (whole !== undefined) return whole.call(Uint8Array, letters);
    return Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  } catch (error) {
    // The one throws a SyntaxError, the other a DOMException.
    throw new SourceFault('What this page holds is damaged.', { cause: error });
  }
}
