import { emitChunk, emitThinkingChunk } from 'svc:text/chunks@0.1.0';

import type { DriverPorts } from './driver-world.ts';
import { sleep } from './wasi-clock.ts';
import { post } from './wasi-http.ts';

/** The ports of a driver that runs as a component. */
export const guestPorts: DriverPorts = {
  post,
  sleep,
  now: () => Date.now(),
  emitText: emitChunk,
  emitThinking: emitThinkingChunk,
};
