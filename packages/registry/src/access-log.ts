import { printable } from '@svc/kit/diagnostics/printable.ts';
import type { Answered } from '@svc/kit/http/server.ts';

const longestTarget = 500;

/** One line for one request: when it ended, what was asked, the status (`-` when the client left first), bytes sent and milliseconds. */
export function accessLine({ method, target, status, sentBytes, ms }: Answered, at: Date): string {
  const shown = target.length <= longestTarget ? target : `${target.slice(0, longestTarget)}…`;
  return `${at.toISOString()} ${method} ${printable(shown)} ${status ?? '-'} ${sentBytes} B ${Math.round(ms)} ms\n`;
}
