import type { GuestMessage } from '../exchange.ts';
import type { LinkedInstance } from './linked-instance.ts';
import type { OutputTail } from './output-tail.ts';
import { ValueTooLarge } from './value-size.ts';

const shownLines = 12;
const shownCharacters = 2_000;

/** What guests and the engine say when memory is what they lack. */
const memoryWords =
  /out of memory|memory allocation|allocation failed|cannot allocate|heap limit|Array buffer allocation/i;

/** What ended a call: the error of the engine or host, and the end of what the guest had written. */
export function faultOf(error: Error, instance: LinkedInstance, output: OutputTail): GuestMessage {
  const lines = output.lastLines(shownLines);
  const said = lines === '' ? errorText(error) : `${errorText(error)}\n${lines}`;
  const message = said.length > shownCharacters ? `${said.slice(0, shownCharacters)}…` : said;
  return { kind: 'trapped', fault: lacksMemory(error, said, instance) ? 'memory' : 'trap', message };
}

function lacksMemory(error: Error, said: string, instance: LinkedInstance): boolean {
  if (error instanceof ValueTooLarge) return false;
  return memoryWords.test(said) || instance.memoryIsFull();
}

/** An error in words. Whatever a guest puts into it is cut to a bounded length. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text === '' ? 'it ended without a message' : text.slice(0, shownCharacters);
}
