/** Counts what a session uses of its grants, and loads the counting code only when there is something to count. */

import type { Socket } from 'node:net';

import type { Clock } from '@svc/kit/clock.ts';
import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { EgressDecision } from '@svc/sandbox/egress/egress-rules.ts';
import type { SessionActivity } from '@svc/session/task/activity.ts';
import type { ComponentTraffic, RecordedUsage, GrantUsage } from './grant-usage.ts';

/** Counts what one session used of its grants. Events wait, in order, until the counting code is loaded. */
export class LateGrantUsage {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'after'>;
  readonly #onWarning: (warning: Diagnostic) => void;
  readonly #waiting: ((grantUsage: GrantUsage) => void)[] = [];
  #activity: SessionActivity | null = null;
  #loading: Promise<void> | null = null;
  #grantUsage: GrantUsage | null = null;

  /** Is warned of refusals that somebody should hear of at once. */
  constructor(clock: Pick<Clock, 'monotonicMs' | 'after'>, onWarning: (warning: Diagnostic) => void) {
    this.#clock = clock;
    this.#onWarning = onWarning;
  }

  /** Counts the session from now on, and writes its lines there. */
  follow(activity: SessionActivity): void {
    this.#activity = activity;
    activity.subscribe((told) => {
      const { kind } = told;
      const isSome =
        kind === 'call-judged' ||
        kind === 'file-refused' ||
        (kind === 'noted' && /^(?:hook_error|delegation)$/.test(told.event.event_type));
      if (isSome) this.#tell((grantUsage) => grantUsage.hear(told));
    });
  }

  readonly onDecision = (decision: EgressDecision): void => this.#tell(({ onDecision }) => onDecision(decision));

  readonly onConnection = (to: NetworkDestination, socket: Socket): void =>
    this.#tell((grantUsage) => grantUsage.onConnection(to, socket));

  /** For the component of an artifact. */
  ofComponent(by: string): ComponentTraffic {
    return {
      onTraffic: (exchange) => this.#tell((grantUsage) => grantUsage.ofComponent(by).onTraffic(exchange)),
      onRefused: (...refused) => this.#tell((grantUsage) => grantUsage.ofComponent(by).onRefused(...refused)),
    };
  }

  /** A program was killed before it began. */
  readonly onProgramKilled = (name: string, rule: string): void =>
    this.#tell((grantUsage) => grantUsage.onProgramKilled(name, rule));

  readonly onHookAsked = (name: string): void => this.#tell((grantUsage) => grantUsage.onHookAsked(name));

  /** Resolves once all events so far are counted. */
  async ready(): Promise<void> {
    await this.#loading;
  }

  /** Writes the lines that come before the last one, and returns the sums for that one. */
  settle(): RecordedUsage {
    return (
      this.#grantUsage?.settle() ?? { commands: {}, tools: {}, hosts: {}, capsules: {}, hooks: {}, unknown_calls: 0 }
    );
  }

  close(): void {
    this.#activity = null;
    this.#grantUsage?.close();
  }

  #tell(use: (grantUsage: GrantUsage) => void): void {
    if (this.#grantUsage !== null) return use(this.#grantUsage);
    this.#waiting.push(use);
    this.#loading ??= this.#load();
  }

  async #load(): Promise<void> {
    const { GrantUsage } = await import('./grant-usage.ts');
    const grantUsage = new GrantUsage(this.#clock, () => this.#activity, this.#onWarning);
    this.#grantUsage = grantUsage;
    for (const use of this.#waiting.splice(0)) use(grantUsage);
  }
}
