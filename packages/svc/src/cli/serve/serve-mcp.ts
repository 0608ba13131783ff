/** Runs a capsule whose tasks come over standard input, by the Model Context Protocol. */

import * as sdk from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';

import { systemClock } from '@svc/kit/system-clock.ts';
import { onlyCaller } from '../../listener/callers.ts';
import type { CapsuleDoor } from '../../listener/capsule-listener.ts';
import { DoorCore } from '../../listener/doors/door-core.ts';
import { createClientServer } from '../../listener/doors/mcp/capsule-server.ts';
import type { IntroducedCapsule } from '../../listener/doors/mcp/capsule-tool.ts';
import { servedCapsule } from '../../listener/doors/mcp/mcp-door.ts';
import type { RequestSpans } from '../../telemetry/request-spans.ts';
import type { CommandContext } from '../command-context.ts';
import { runServed, type ServedOptions } from './run-served.ts';

/**
 * Serves until standard input ends, or the session does; the exit code. Clients wait for what a server is before anything else, so that is answered as soon
 * as the manifest is read. Rejects where the capsule cannot be launched. Standard output carries the protocol alone.
 */
export async function serveMcp(options: ServedOptions, context: CommandContext): Promise<number> {
  let introduce: (about: IntroducedCapsule) => void = () => {};
  const about = new Promise<IntroducedCapsule>((resolve) => (introduce = resolve));
  let open: (core: DoorCore | Promise<DoorCore>) => void = () => {};
  const core = new Promise<DoorCore>((resolve) => (open = resolve));
  let reached: DoorCore | null = null;
  const spans = (): RequestSpans | null => reached?.facts.outside?.requests() ?? null;
  const serving = serveStdio(
    async () => {
      const served = { about: await about, binding: 'stdio', spans, core: () => core } as const;
      const capsule = servedCapsule(sdk, served, systemClock);
      return createClientServer(capsule, (opened) => opened.principalOf({ headers: {} })).server;
    },
    { transport: new StdioServerTransport(process.stdin, context.stdout.stream as NodeJS.WriteStream) },
  );
  try {
    return await runServed(options, context, {
      settle: (manifest) => {
        const { name, version, description = null } = manifest;
        introduce({ name, version, description });
        return manifest;
      },
      thread: null,
      onDoor: (door) => open(opened(door).then((made) => (reached = made))),
      onActivity: null,
    });
  } finally {
    await serving.close();
  }
}

async function opened(door: CapsuleDoor): Promise<DoorCore> {
  if (door.facts === undefined) throw new Error('a session says what it is');
  const { facts, callers = onlyCaller(door.principal) } = door;
  return new DoorCore({ ...door, facts, callers }, await facts());
}
