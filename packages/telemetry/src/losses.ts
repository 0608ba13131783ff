/** Says in one sentence what of telemetry did not arrive. */

import type { DeliveredSignals } from './exporter.ts';

const words = { traces: 'spans', metrics: 'sets of measures', logs: 'logs' } as const;

/** Returns null when everything arrived. `why` is a clause that says what became of the last request that failed. */
export function lossOf(delivered: DeliveredSignals, why: string | null): string | null {
  const lost = (['traces', 'metrics', 'logs'] as const).flatMap((name) => {
    const { sent = 0, dropped = 0, failed = 0 } = delivered[name] ?? {};
    return dropped + failed === 0 ? [] : [`${dropped + failed} of ${sent + dropped + failed} ${words[name]}`];
  });
  if (lost.length === 0) return null;
  return `telemetry was lost: ${lost.join(', ')}${why === null ? '' : ` (${why})`}`;
}
