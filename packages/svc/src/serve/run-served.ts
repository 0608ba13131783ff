/** Runs a capsule for a program that speaks to it over standard streams. */

import { resolve } from 'node:path';

import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { RunningCapsule } from '@svc/capsule/launch/running-capsule.ts';
import { runCapsule } from '@svc/capsule/run/run-capsule.ts';
import type { CapsuleDoor } from '@svc/doors/capsule-listener.ts';
import type { ActivityListener } from '@svc/session/task/activity.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { usualOptions } from '../run/run-options.ts';
import { lateSources, scopeRequest } from '../run/run.ts';
import { stopOnSignals, usualEndMs } from '../command/stop-signals.ts';
import { taskFailed } from '../command/task-failed.ts';

/** Which capsule is started, and how: of the options of `svc run` those that a served one takes. */
export interface ServedOptions {
  readonly manifest: string;
  readonly capsule?: string;
  readonly capsuleVersion?: string;
  readonly workdir?: string;
  readonly project?: string;
  /** The folder that an editor has opened. */
  readonly folder?: string;
  readonly writeGit?: boolean;
  readonly containment?: ContainmentClass;
  readonly envFile: boolean;
  readonly offline?: boolean;
}

interface ServedRun {
  /** Hears of the manifest before anything is started, and may change it. It stays up for one task after the other in any case. */
  readonly settle: (manifest: CapsuleManifest) => CapsuleManifest;
  /** Keeps its conversations apart from those of other sessions in the same workdir; null for those of the workdir. */
  readonly thread: string | null;
  /** The session can be given tasks. Its paths are absolute, links resolved. */
  readonly onDoor: (door: CapsuleDoor, paths: ServedPaths) => void;
  readonly onActivity: ActivityListener | null;
  /** Its user is shown questions as `acp`; null where nobody is. */
  readonly askedAt: 'acp' | null;
  /** Aborted where its client is lost in another way than by the end of standard input; null where that cannot happen. */
  readonly clientLost: AbortSignal | null;
}

/** `project` is null where the capsule has no folder beside its workdir. */
export type ServedPaths = Pick<RunningCapsule, 'workdir' | 'state' | 'project'>;

/** A client may give several tasks at once; a manifest may allow more. */
const maxWaiting = 16;

/**
 * Runs until standard input ends, the client is lost, a signal comes, or the session ends; the exit code. It begins without a task. Rejects where the capsule cannot be
 * launched. Standard output is left to the caller; everything else is said on standard error.
 */
export async function runServed(options: ServedOptions, context: CommandContext, served: ServedRun): Promise<number> {
  const stop = stopOnSignals(context, usualEndMs);
  // The program that started this has gone, or wants it to end.
  const leave = (): void => stop.request();
  process.stdin.once('end', leave).once('close', leave);
  served.clientLost?.addEventListener('abort', leave, { once: true });
  const tell = (lines: Parameters<typeof render>[0]): void => void context.stderr.write(render(lines, context));
  let door: CapsuleDoor | null = null;
  try {
    const outcome = await runCapsule(
      {
        ...scopeRequest({ ...usualOptions, ...options }, context),
        ...(options.folder === undefined ? {} : { openFolder: resolve(context.cwd, options.folder) }),
        ...(context.build === undefined ? {} : { build: context.build }),
        task: undefined,
        readTask: async () => '',
        approval: null,
        sessionId: null,
        stopWithinMs: usualEndMs,
        capture: undefined,
        parentCapture: undefined,
        bind: usualOptions.bind,
        sources: options.offline === true ? () => [] : lateSources(context, { flag: undefined, signal: stop.signal }),
        fetchObserver: null,
        stop: stop.signal,
        changes: {
          settle: (manifest) => stayingUp(served.settle(manifest)),
          task: async () => null,
          ...(served.thread === null ? {} : { thread: served.thread }),
        },
        onActivity: served.onActivity,
        askedAt: () => served.askedAt,
        onDoor: (opened) => (door = opened),
      },
      {
        onWarning: (warning) => tell([warning]),
        onListening: ({ workdir, state, project }) => {
          if (door === null) throw new Error('a capsule that listens has a session');
          served.onDoor(door, { workdir, state, project });
          context.onStarted?.();
        },
        onFrame: () => {},
        onTaskFailed: ({ words }) => tell([taskFailed(words, { hint: null })]),
        onRetained: () => {},
      },
    );
    if (outcome.trap !== null) tell([outcome.trap]);
    return outcome.status === 'trapped' ? 2 : 0;
  } finally {
    process.stdin.destroy();
    stop.dispose();
  }
}

function stayingUp(manifest: CapsuleManifest): CapsuleManifest {
  const { lifecycle } = manifest;
  const queueDepth = Math.max(maxWaiting, lifecycle.queue_depth);
  return {
    ...manifest,
    lifecycle: { ...lifecycle, task_acceptance: 'queue', queue_depth: queueDepth, after_task: 'sleep' },
  };
}
