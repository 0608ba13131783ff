/** Runs a capsule whose tasks come over standard input, by the Model Context Protocol. */

import * as sdk from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';

import { systemClock } from '@svc/kit/system-clock.ts';
import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import { runCapsule } from '../../capsule/run-capsule.ts';
import type { RunChanges } from '../../capsule/running-capsule.ts';
import { onlyCaller } from '../../listener/callers.ts';
import type { CapsuleDoor } from '../../listener/capsule-listener.ts';
import { DoorCore } from '../../listener/doors/door-core.ts';
import { createClientServer } from '../../listener/doors/mcp/capsule-server.ts';
import type { IntroducedCapsule } from '../../listener/doors/mcp/capsule-tool.ts';
import { servedCapsule } from '../../listener/doors/mcp/mcp-door.ts';
import type { CommandContext } from '../command-context.ts';
import { lazySources, registryChoice } from '../project.ts';
import { render } from '../render-failure.ts';
import { scopeRequest } from '../run.ts';
import { usualOptions } from '../run-options.ts';
import { stopOnSignals, usualEndMs } from '../stop-signals.ts';
import { taskFailed } from '../task-failed.ts';
import type { ServeMcpOptions } from './mcp.ts';

/** A client may give several tasks at once; a manifest may allow more. */
const mostWaiting = 16;

/**
 * Serves until standard input ends, or the session does; the exit code. Clients wait for what a server is before anything else, so that is answered as soon
 * as the manifest is read. Rejects where the capsule cannot be launched. Standard output carries the protocol alone.
 */
export async function serveMcp(options: ServeMcpOptions, context: CommandContext): Promise<number> {
  const stop = stopOnSignals(context, usualEndMs);
  let introduce: (about: IntroducedCapsule) => void = () => {};
  const about = new Promise<IntroducedCapsule>((resolve) => (introduce = resolve));
  let open: (core: DoorCore | Promise<DoorCore>) => void = () => {};
  const core = new Promise<DoorCore>((resolve) => (open = resolve));
  const serving = serveStdio(
    async () => {
      const capsule = servedCapsule(sdk, await about, () => core, systemClock);
      return createClientServer(capsule, (reached) => reached.principalOf({ headers: {} })).server;
    },
    { transport: new StdioServerTransport(process.stdin, context.stdout.stream as NodeJS.WriteStream) },
  );
  // Whoever started this has gone, or wants it to end.
  const leave = (): void => stop.request();
  process.stdin.once('end', leave).once('close', leave);
  const choice = registryChoice(context, { flag: undefined, signal: stop.signal });
  const tell = (lines: Parameters<typeof render>[0]): void => void context.stderr.write(render(lines, context));
  try {
    const outcome = await runCapsule(
      {
        ...scopeRequest({ ...usualOptions, ...options }, context),
        ...(context.build === undefined ? {} : { build: context.build }),
        task: undefined,
        readTask: async () => '',
        approval: null,
        sessionId: null,
        stopWithinMs: usualEndMs,
        capture: undefined,
        parentCapture: undefined,
        bind: usualOptions.bind,
        sources: options.offline === true ? () => [] : lazySources(choice),
        fetchObserver: null,
        stop: stop.signal,
        changes: servedChanges(introduce),
        onActivity: null,
        onDoor: (door) => open(opened(door)),
      },
      {
        onWarning: (warning) => tell([warning]),
        onListening: () => context.onStarted?.(),
        onFrame: () => {},
        onTaskFailed: ({ words }) => tell([taskFailed(words, { hint: null })]),
        onRetained: () => {},
      },
    );
    if (outcome.trap !== null) tell([outcome.trap]);
    return outcome.status === 'trapped' ? 2 : 0;
  } finally {
    await serving.close();
    process.stdin.destroy();
    stop.dispose();
  }
}

async function opened(door: CapsuleDoor): Promise<DoorCore> {
  if (door.facts === undefined) throw new Error('a session says what it is');
  const { facts, callers = onlyCaller(door.principal) } = door;
  return new DoorCore({ ...door, facts, callers }, await facts());
}

/** It takes one task after the other, and ends when it is told to; `onManifest` hears what it is. It begins without a task. */
function servedChanges(onManifest: (about: IntroducedCapsule) => void): RunChanges {
  return {
    settle: (manifest) => {
      const { name, version, description = null } = manifest;
      onManifest({ name, version, description });
      return stayingUp(manifest);
    },
    task: async () => null,
  };
}

function stayingUp(manifest: CapsuleManifest): CapsuleManifest {
  const { lifecycle } = manifest;
  const queueDepth = Math.max(mostWaiting, lifecycle.queue_depth);
  return {
    ...manifest,
    lifecycle: { ...lifecycle, task_acceptance: 'queue', queue_depth: queueDepth, after_task: 'sleep' },
  };
}
