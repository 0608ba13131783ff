/** Opens the parts of a session that not every session has: what it has no use for is not loaded. */

import { join } from 'node:path';

import { notifiedAddress } from '@svc/artifacts/manifest/loaded-manifest.ts';
import type { Target } from '@svc/doors/a2a/push/operator-targets.ts';
import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { recordRedaction } from '@svc/kit/diagnostics/handle-id.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { SessionActivity } from '@svc/session/task/activity.ts';
import type { SessionDirectories } from '@svc/record/sessions/session-directories.ts';
import type { OpenSessionRequest } from '../launch/open-session-request.ts';
import { asksForTelemetry } from '../launch/telemetry-variables.ts';
import type { LaterCommands } from '../stage/later-commands.ts';
import type { SessionPeerFiles } from '../stage/stage-peer-files.ts';
import type { DoorsAround } from './door-outside.ts';
import type { KeptThreads } from './conversation-place.ts';
import type { OpenedApprovals, SessionApprovals } from './session-approvals.ts';
import type { SessionDelegations } from './session-delegations.ts';
import type { SessionTelemetry } from './telemetry/session-telemetry.ts';

/** Returns null, and loads nothing, when the environment does not ask for telemetry. */
export async function openTelemetry(open: OpenSessionRequest): Promise<SessionTelemetry | null> {
  if (!asksForTelemetry(open.request.telemetryEnv)) return null;
  return new (await import('./telemetry/session-telemetry.ts')).SessionTelemetry(open);
}

const noPeerFiles: SessionPeerFiles = { tools: [], served: null, close: () => {} };

export async function peerFilesOf(
  open: OpenSessionRequest,
  { workdir }: SessionDirectories,
): Promise<SessionPeerFiles> {
  const { loaded, grants } = open.launch;
  if (loaded.manifest.exports.peer_files === undefined && grants.peerFetchAllow.length === 0) return noPeerFiles;
  const { stagePeerFiles } = await import('../stage/stage-peer-files.ts');
  return await stagePeerFiles({ ...open, workdir, hides: open.launch.project?.hides });
}

export async function delegationsOf(
  { request, launch, membership, sessionId, url, onWarning }: OpenSessionRequest,
  directories: SessionDirectories,
): Promise<SessionDelegations | null> {
  if (membership === null || launch.grants.spawnAllow.length === 0) return null;
  const { openDelegations } = await import('./session-delegations.ts');
  return await openDelegations({
    launch,
    membership,
    sessionId,
    directories,
    url,
    env: request.env,
    telemetryEnv: request.telemetryEnv,
    stopWithinMs: request.stopWithinMs,
    onWarning,
  });
}

/** Returns null where nothing is granted while the session runs. */
export async function laterCommandsOf({ request }: OpenSessionRequest): Promise<LaterCommands | null> {
  if (request.adhoc?.widening === undefined) return null;
  return new (await import('../stage/later-commands.ts')).LaterCommands();
}

/** Returns null for a session that starts each task from nothing, which loads nothing for conversations. */
export async function conversationsOf(
  open: OpenSessionRequest,
  places: SessionDirectories,
): Promise<KeptThreads | null> {
  if (open.launch.loaded.manifest.lifecycle.conversation === 'stateless') return null;
  return await (await import('./conversation-place.ts')).openConversations(open, places);
}

/** Returns null for a session whose manifest has no `approvals`, that is granted nothing while it runs, and that has no children. */
export async function approvalsOf(
  open: OpenSessionRequest,
  { mayDelegate, ...session }: Omit<OpenedApprovals, 'settings'> & { readonly mayDelegate: boolean },
): Promise<SessionApprovals | null> {
  const settings = open.launch.loaded.manifest.approvals ?? null;
  if (settings === null && session.later === null && !mayDelegate) return null;
  return await (await import('./session-approvals.ts')).openApprovals(open, { ...session, settings });
}

/** Sends what happens to the one target until the session ends; returns whether somebody hears it there. Loads nothing without a target. */
export async function notificationsOf(
  open: OpenSessionRequest,
  activity: SessionActivity,
  { workdir, record, onLost, ends }: DoorsAround,
): Promise<() => boolean> {
  const { launch, sessionId, onWarning } = open;
  const target = await targetOf(open, workdir);
  if (target === null) return () => false;
  const { OperatorNotifications } = await import('@svc/doors/a2a/push/operator-notifications.ts');
  const notifications = new OperatorNotifications({
    target,
    capsule: launch.loaded.manifest.name,
    sessionId,
    redact: recordRedaction(launch.redactor),
    onWarning,
    clock: systemClock,
  });
  activity.subscribe((told) => notifications.hear(told));
  ends.push(async () => {
    const line = await notifications.end();
    const lost = line === null ? null : diagnosticOf(() => record(line));
    if (lost !== null) onLost(lost);
  });
  return () => notifications.isHeard;
}

async function targetOf({ request, launch }: OpenSessionRequest, workdir: string): Promise<Target | null> {
  const { manifest, notifySecret: secret = null } = launch.loaded;
  const clock = systemClock;
  const url = notifiedAddress(manifest);
  if (url !== null) {
    const { ntfyTarget, webhookTarget } = await import('@svc/doors/a2a/push/operator-targets.ts');
    return (manifest.notify?.ntfy === undefined ? webhookTarget : ntfyTarget)({ url, secret, clock });
  }
  const { notifyCommand: command, project } = launch;
  if (command === null) return null;
  const { commandTarget } = await import('./operator-command.ts');
  const { home, env } = request;
  const folder = project?.scope.project_folder?.path;
  const written = [workdir, join(home, '.svc', 'state'), ...(folder === undefined ? [] : [folder])];
  return commandTarget({ command, home, env, written, clock });
}
