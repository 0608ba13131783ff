/** Says what a component that has been started can do, wherever it runs. */

import type { RequestJudge } from '@svc/kit/keys/bound-host.ts';
import type { ComponentFault, HostFunctions } from './component.ts';

export interface InstanceCall {
  readonly interface: string;
  readonly function: string;
  readonly args: readonly unknown[];
  readonly host: HostFunctions;
  /** As in `ComponentCall`. */
  readonly requests: RequestJudge | null;
  /** Called when the guest begins and ends to wait for an answer of the runtime. */
  readonly onRuntimeWait: (waits: boolean) => void;
  /** Receives at the end of a call what its imports answered, where that is recorded; null when it was too much. */
  readonly onLog: (log: string | null) => void;
  /** What is played during the call; undefined where nothing is, and for what `link` was given. */
  readonly log: string | undefined;
}

/** `prepare` comes first, then `link`, then calls, one at a time. The first fault ends it: whatever is under way rejects with that fault, and so does everything after. */
export interface Instance {
  readonly fault: ComponentFault | null;
  /** Whether it is loading or in a call. */
  readonly busy: boolean;
  /** Does all of its start in which nothing of the component runs. Rejects with `unavailable` for what cannot be read. */
  prepare(): Promise<void>;
  /** Makes the component ready, over the log of its start and first call where that is played. Rejects with `unavailable` when its start fails. */
  link(log: string | undefined): Promise<void>;
  call(call: InstanceCall): Promise<unknown>;
  /** Ends it, busy or not, and with it what the component held open. Harmless when it has ended. */
  end(fault: ComponentFault): void;
  /** Settles once nothing of it is left. */
  ended(): Promise<void>;
}
