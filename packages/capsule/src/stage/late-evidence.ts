/** Counts what a session uses of its grants, and loads what counts only when there is something to count. */

import type { Socket } from 'node:net';

import type { Clock } from '@svc/kit/clock.ts';
import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { EgressDecision } from '@svc/sandbox/egress/egress-rules.ts';
import type { SessionActivity } from '@svc/session/task/activity.ts';
import type { ComponentTraffic, Evidence, GrantEvidence } from './grant-evidence.ts';

/** The evidence of one session. What it hears before it is loaded waits for that, in order. */
export class LateEvidence {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'after'>;
  readonly #waiting: ((evidence: GrantEvidence) => void)[] = [];
  #activity: SessionActivity | null = null;
  #loading: Promise<void> | null = null;
  #evidence: GrantEvidence | null = null;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'after'>) {
    this.#clock = clock;
  }

  /** Hears of the session from now on, and writes its lines there. */
  follow(activity: SessionActivity): void {
    this.#activity = activity;
    activity.subscribe((told) => {
      const { kind } = told;
      const isSome =
        kind === 'call-judged' ||
        kind === 'file-refused' ||
        (kind === 'noted' && /^(?:hook_error|delegation)$/.test(told.event.event_type));
      if (isSome) this.#tell((evidence) => evidence.hear(told));
    });
  }

  readonly onDecision = (decision: EgressDecision): void => this.#tell(({ onDecision }) => onDecision(decision));

  readonly onConnection = (to: NetworkDestination, socket: Socket): void =>
    this.#tell((evidence) => evidence.onConnection(to, socket));

  /** For the component of an artifact. */
  ofComponent(by: string): ComponentTraffic {
    return {
      onTraffic: (exchange) => this.#tell((evidence) => evidence.ofComponent(by).onTraffic(exchange)),
      onRefused: (url) => this.#tell((evidence) => evidence.ofComponent(by).onRefused(url)),
    };
  }

  readonly onHookAsked = (name: string): void => this.#tell((evidence) => evidence.onHookAsked(name));

  /** Resolves once all that it heard is counted. */
  async ready(): Promise<void> {
    await this.#loading;
  }

  /** Writes what is left to write before the last line, and gives what that holds. */
  settle(): Evidence {
    return (
      this.#evidence?.settle() ?? { commands: {}, tools: {}, hosts: {}, capsules: {}, hooks: {}, unknown_calls: 0 }
    );
  }

  close(): void {
    this.#activity = null;
    this.#evidence?.close();
  }

  #tell(use: (evidence: GrantEvidence) => void): void {
    if (this.#evidence !== null) return use(this.#evidence);
    this.#waiting.push(use);
    this.#loading ??= this.#load();
  }

  async #load(): Promise<void> {
    const { GrantEvidence } = await import('./grant-evidence.ts');
    const evidence = new GrantEvidence(this.#clock, () => this.#activity);
    this.#evidence = evidence;
    for (const use of this.#waiting.splice(0)) use(evidence);
  }
}
