/** Shows text to whoever watches a task, while a tool or a driver is still at work. */

import { emitChunk, emitThinkingChunk } from 'svc:text/chunks@0.1.0';

import { wellFormed } from './text.ts';

/** Shows a piece of text. Pieces follow each other without a break between them. */
export function emitText(text: string): void {
  emitChunk(wellFormed(text));
}

/** As `emitText`, a piece of what a model thinks. */
export function emitThinking(text: string): void {
  emitThinkingChunk(wellFormed(text));
}
