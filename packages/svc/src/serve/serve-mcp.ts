/** Runs a capsule whose tasks come over standard input, by the Model Context Protocol. */

import type * as Stdio from '@modelcontextprotocol/server/stdio';

import { raise } from '@svc/kit/diagnostics/diagnostic.ts';
import { answerBudget } from '@svc/kit/http/byte-budget.ts';
import { yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { onlyCaller } from '@svc/doors/callers/callers.ts';
import type { CapsuleDoor } from '@svc/doors/capsule-listener.ts';
import type { DoorCore } from '@svc/doors/core/door-core.ts';
import type { ServedCapsule } from '@svc/doors/mcp/capsule-server.ts';
import type { IntroducedCapsule } from '@svc/doors/mcp/capsule-tool.ts';
import type { RequestSpans } from '@svc/telemetry/request-spans.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine } from '@svc/terminal/screen/shown.ts';
import { answerFirst, type Beginning } from './first-answer.ts';
import type { McpWire } from './mcp-wire.ts';
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
  const connection = new Connection(context);
  connection.serve(about, { binding: 'stdio', spans, core: () => core }).catch(raise);
  // What the client has sent already is read in this turn; a launch would leave no other for it.
  await yieldToLoop();
  try {
    return await runServed(options, context, {
      settle: (manifest) => {
        const { name, version, description = null } = manifest;
        introduce({ name, version, description });
        return manifest;
      },
      thread: null,
      clientLost: connection.lost,
      onDoor: (door) => open(opened(door).then((made) => (reached = made))),
      onActivity: null,
      askedAt: null,
    });
  } finally {
    await connection.close();
  }
}

/** The client at the other end of the standard streams. */
class Connection {
  readonly #context: CommandContext;
  readonly #lost = new AbortController();
  #isClosed = false;
  #server: Stdio.StdioServerHandle | null = null;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  /** Aborted when nothing more reaches the client, or comes from it, although its standard input is open. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Resolves once the library serves what comes. It is loaded behind the first answer. */
  async serve(
    about: Promise<IntroducedCapsule>,
    reaching: Omit<ServedCapsule, 'about' | 'sdk' | 'states' | 'reads'>,
  ): Promise<void> {
    const { stdout } = this.#context;
    const beginning = await answerFirst(process.stdin, about, (answer) => void stdout.write(jsonLine(answer)));
    if (beginning === null || this.#isClosed) return;
    const [sdk, stdio, { McpWire }, { createClientServer }, { servedCapsule }] = await Promise.all([
      import('@modelcontextprotocol/server'),
      import('@modelcontextprotocol/server/stdio'),
      import('./mcp-wire.ts'),
      import('@svc/doors/mcp/capsule-server.ts'),
      import('@svc/doors/mcp/mcp-door.ts'),
    ]);
    // While the library waits for a server it takes in all that comes, without end: nothing is read before there can be one.
    const capsule = servedCapsule(sdk, { ...reaching, about: await about }, systemClock);
    if (this.#isClosed) return;
    const transport = new McpWire(beginning.input, this.#context, beginning.answeredId);
    const factory = (): InstanceType<typeof sdk.Server> =>
      createClientServer(capsule, (opened) => opened.principalOf({ headers: {} })).server;
    this.#server = stdio.serveStdio(factory, { transport });
    const closed = transport.onclose;
    transport.onclose = () => {
      closed?.();
      this.#onClosed(beginning, transport);
    };
  }

  /** The library takes in nothing more, whatever its reason. What still comes is passed over: else its end would not be noticed. */
  #onClosed({ input }: Beginning, wire: McpWire): void {
    process.stdin.unpipe(input).resume();
    if (this.#isClosed || process.stdin.readableEnded || process.stdin.destroyed) return;
    wire.sayLost();
    this.#lost.abort();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#server?.close();
  }
}

async function opened(door: CapsuleDoor): Promise<DoorCore> {
  if (door.facts === undefined) throw new Error('a session says what it is');
  const { facts, callers = onlyCaller(door.principal) } = door;
  const { DoorCore } = await import('@svc/doors/core/door-core.ts');
  return new DoorCore({ ...door, facts, callers, answers: answerBudget() }, await facts());
}
