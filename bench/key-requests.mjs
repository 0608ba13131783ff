// @ts-check
// Measures what a key costs a request of a contained program.
import { loadSubject } from './support/bundle.mjs';
import { alternate } from './support/rounds.mjs';

const requests = 200;

/** How much longer a request on a kept connection takes where the proxy puts a key in and searches the answer, than through a tunnel. */
/** @type {import('./support/row.mjs').Row} */
export const keyRequest = {
  name: 'key-request',
  goal: { atMost: 1 },
  unit: 'ms',
  async measure() {
    const { openKeyRequests } = /** @type {typeof import('./support/key-requests.ts')} */ (
      await loadSubject('key-requests.ts')
    );
    const asking = await openKeyRequests();
    try {
      const { subject, floor } = await alternate({
        rounds: 21,
        subject: () => asking.keyed(requests),
        floor: () => asking.tunnelled(requests),
      });
      return {
        subject: `with a key ${subject.toFixed(2)} ms`,
        floor: `through a tunnel ${floor.toFixed(2)} ms`,
        figure: subject - floor,
      };
    } finally {
      await asking.close();
    }
  },
};
