/** Knows the variables of telemetry. */

import type { Environment } from '@svc/kit/environment.ts';

const endpoint = /^OTEL_EXPORTER_OTLP_(?:TRACES_|METRICS_|LOGS_)?ENDPOINT$/;

/** Whether the environment says where telemetry goes. */
export function asksForTelemetry(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false;
  return Object.keys(env).some((name) => endpoint.test(name) && env[name]?.trim() !== '');
}

/** They are for svc alone: no component and no program gets one. */
export function isTelemetryVariable(name: string): boolean {
  return name.startsWith('OTEL_');
}
