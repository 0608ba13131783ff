/** Gives a driver that is a component what it needs of the world around it. */

import { emitText, emitThinking } from '../chunks.ts';
import { sleep } from '../clock.ts';
import { post } from '../http.ts';
import { log } from '../log.ts';
import type { DriverPorts } from './driver-ports.ts';

/** The ports of a driver that runs as a component. */
export const guestPorts: DriverPorts = {
  emitText,
  emitThinking,
  post: (request) => {
    const response = post(request);
    let patience: number | null = null;
    const pieces = response.pieces(() => patience);
    return {
      status: response.status,
      header: (name) => response.header(name),
      read: (patienceMs) => {
        patience = patienceMs;
        const piece = pieces[Symbol.iterator]().next();
        return piece.done === true ? null : piece.value;
      },
      close: () => response.close(),
    };
  },
  sleep,
  note: (note) => log(`svc-note: ${JSON.stringify(note)}`),
  now: () => Date.now(),
};
