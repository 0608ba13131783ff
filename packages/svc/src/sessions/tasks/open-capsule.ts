/** Opens a running capsule for the commands that read or change its tasks. */

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { ClientError } from '@svc/client/client-error.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { TaskFacts } from '@svc/protocol/task-object.ts';
import {
  type ApproachedCapsule,
  approachCapsule,
  doorOf,
  type LocatedCapsule,
  tokenChoice,
} from '@svc/record/running/approach-capsule.ts';
import { faultOf } from '@svc/record/running/capsule-faults.ts';
import { readPersonKey } from '@svc/record/running/person-key-file.ts';
import { locateRunning } from '@svc/record/running/locate-running.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';

/** The options of each of these commands. */
export interface CapsuleOptions {
  readonly sendToken?: boolean;
  readonly json?: boolean;
}

/** How a person names a session to these commands. */
export const runningSessionHelp = 'session id, at least 4 of its last characters, host:port, or the path of its folder';

const taskNotFound = -32_001;
const callMs = 10_000;
/** A stream sends something at least this often. */
const idleMs = 60_000;

/** A capsule that has shown its session id. */
export class OpenCapsule {
  readonly client: CapsuleClient;
  /** The same for who follows it: it shows the key of a session that asks this user, and so is somebody who can be asked. */
  readonly follower: CapsuleClient;
  readonly #approached: ApproachedCapsule;
  readonly #method: string;
  /** Is null for a capsule that is not a session of this user. */
  readonly session: string | null;

  private constructor(home: string, approached: ApproachedCapsule, { record }: LocatedCapsule, method: string) {
    const key = record === null ? null : readPersonKey(home, record);
    this.client = clientOf(approached);
    this.follower = key === null ? this.client : clientOf({ ...approached, token: key.reveal() });
    this.#approached = approached;
    this.#method = method;
    this.session = record?.session_id ?? null;
  }

  /** Opens the capsule that `wanted` names, or the newest one; `method` is the method that it will be asked for. Throws the same errors as `svc watch`. */
  static async open(
    context: CommandContext,
    wanted: string | undefined,
    { method, sendToken = false }: Pick<CapsuleOptions, 'sendToken'> & { readonly method: string },
  ): Promise<OpenCapsule> {
    const located = await locateRunning(context, wanted);
    const choice = tokenChoice(context, { sendToken, method, timeoutMs: callMs });
    return new OpenCapsule(context.home, await approachCapsule(located, choice), located, method);
  }

  /** Returns the result of `call`, or throws `E-IO-003` when it fails at the other side. `method` is the method that it asks for, if it is another one. */
  async ask<Value>(call: (client: CapsuleClient) => Promise<Value>, method: string = this.#method): Promise<Value> {
    try {
      return await call(this.client);
    } catch (error) {
      const isLost = error instanceof ClientError && (error.code === 'lost' || error.code === 'no-stream');
      if (!isLost) throw faultOf(error, { ...this.#approached, method, timeoutMs: callMs });
      throw new Diagnostic('E-IO-003', `the connection to ${this.#approached.address} was lost: ${error.message}`, {
        hint: 'svc tasks says what became of the task',
        cause: error,
      });
    }
  }

  /** Returns the task that runs, else the last one; null if no task has run yet. */
  async currentTask(): Promise<TaskFacts | null> {
    return await this.ask(async (client) => {
      try {
        return await client.task();
      } catch (error) {
        if (error instanceof ClientError && error.fault === taskNotFound) return null;
        throw error;
      }
    });
  }
}

function clientOf(approached: ApproachedCapsule): CapsuleClient {
  const door = doorOf({ ...approached, timeoutMs: callMs });
  return new CapsuleClient({ ...door, limits: { ...door.limits, idleMs }, isGated: false });
}

const ended: ReadonlySet<string> = new Set(['completed', 'failed', 'canceled', 'rejected']);

/** Returns whether a task in this state is not over. */
export function isLive(state: string): boolean {
  return !ended.has(state);
}
