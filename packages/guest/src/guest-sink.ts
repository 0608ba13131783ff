import { emitChunk, emitThinkingChunk } from 'svc:text/chunks@0.1.0';

import type { ReplySink } from './driver.ts';
import { wellFormed } from './well-formed.ts';

/** `svc:text/chunks` */
export const guestSink: ReplySink = {
  emitText: (text) => emitChunk(wellFormed(text)),
  emitThinking: (text) => emitThinkingChunk(wellFormed(text)),
};
