/** Opens telemetry when the environment asks for it. */

import type { OpenSessionRequest } from '../launch/open-session-request.ts';
import type { SessionTelemetry } from './session-telemetry.ts';
import { asksForTelemetry } from '../launch/telemetry-variables.ts';

/** Returns null, and loads nothing, when the environment does not ask for it. */
export async function openTelemetry(open: OpenSessionRequest): Promise<SessionTelemetry | null> {
  if (!asksForTelemetry(open.request.telemetryEnv)) return null;
  return new (await import('./session-telemetry.ts')).SessionTelemetry(open);
}
