/** Knows the variables of telemetry, and opens it where they ask for it. */

import type { Environment } from '@svc/kit/environment.ts';
import type { OpenSessionRequest } from './open-session-request.ts';
import type { SessionTelemetry } from './session-telemetry.ts';

const endpoint = /^OTEL_EXPORTER_OTLP_(?:TRACES_|METRICS_|LOGS_)?ENDPOINT$/;

/** Whether the environment says where telemetry goes. */
export function asksForTelemetry(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false;
  return Object.keys(env).some((name) => endpoint.test(name) && env[name]?.trim() !== '');
}

/** They are of svc alone: no component and no program is given one. */
export function isTelemetryVariable(name: string): boolean {
  return name.startsWith('OTEL_');
}

/** Null, and nothing loaded, where the environment does not ask for it. */
export async function openTelemetry(open: OpenSessionRequest): Promise<SessionTelemetry | null> {
  if (!asksForTelemetry(open.request.telemetryEnv)) return null;
  return new (await import('./session-telemetry.ts')).SessionTelemetry(open);
}
