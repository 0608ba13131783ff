/** Hands the telemetry of a session on to the children that it delegates to. */

import type { Environment } from '@svc/kit/environment.ts';
import type { DelegatedTelemetry } from '@svc/session/delegation/delegations-deps.ts';
import type { Task } from '@svc/session/task/task.ts';
import { delegationTraceparent, taskTrace } from '@svc/telemetry/task-trace.ts';
import { readSettings } from '@svc/telemetry/telemetry-settings.ts';
import { isTelemetryVariable } from '../../launch/telemetry-variables.ts';

/** What the children of a session have of its telemetry. */
export function delegatedTelemetry(
  env: Environment,
  find: (taskId: string) => Pick<Task, 'id' | 'sender'> | undefined,
): DelegatedTelemetry {
  const { sampler } = readSettings(env).settings;
  return {
    variables: JSON.stringify(handedOnVariables(env)),
    traceparent: (taskId, delegationId) => {
      const task = find(taskId);
      if (task === undefined) return null;
      return delegationTraceparent(taskTrace(task.id, task.sender?.tags.traceparent, sampler), delegationId);
    },
  };
}

/** A child is a service of its own, and has its own name. */
function handedOnVariables(env: Environment): Environment {
  const names = Object.keys(env).filter((name) => isTelemetryVariable(name) || name === 'SVC_TELEMETRY_CONTENT');
  return Object.fromEntries(names.filter((name) => name !== 'OTEL_SERVICE_NAME').map((name) => [name, env[name]]));
}
