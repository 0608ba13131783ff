/** Gives the commands of a session what a person grants while it runs. A command and writing hold from the next launch on, and change no process that runs; a host holds at once. */

import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { formatDestination, parseDestination } from '@svc/kit/net/network-destination.ts';
import type { ApprovalOption } from '@svc/protocol/approval.ts';
import type { Launcher, LaunchRequest, MayReach } from '@svc/sandbox/launcher.ts';
import type { Wanted } from '@svc/session/approvals/wanted-grants.ts';

/** What is granted to all further commands, and what to one. */
class Granted {
  readonly session = new Set<string>();
  readonly next = new Set<string>();

  add(name: string, option: ApprovalOption): void {
    (option === 'session' ? this.session : this.next).add(name);
  }

  /** What was granted to the next command. */
  take(): Set<string> {
    const taken = new Set(this.next);
    this.next.clear();
    return taken;
  }
}

/** What one launch gets beside what its task was granted. */
export interface GrantedBeside {
  /** The names of commands. */
  readonly names: readonly string[];
  /** Whether it may write in the project folder. */
  readonly writes: boolean;
}

export class LaterCommands {
  readonly #names = new Granted();
  readonly #hosts = new Granted();
  /** Folders; a session has one. */
  readonly #writing = new Granted();

  grant(wanted: Wanted, option: ApprovalOption): void {
    if ('host' in wanted) this.#hosts.add(spelt(wanted.host), option);
    else if ('write' in wanted) this.#writing.add(wanted.write, option);
    else this.#names.add(wanted.name, option);
  }

  /** What was granted to the next command of a task is granted to no other task. */
  taskEnded(): void {
    for (const granted of [this.#names, this.#hosts, this.#writing]) granted.next.clear();
  }

  /** `widened` makes the launcher that gives this beside what `launcher` does, or throws the Diagnostic of what cannot be held. */
  launcher(launcher: Launcher, widened: (beside: GrantedBeside) => Launcher): Launcher {
    const made = new Map<string, Launcher>();
    return {
      ...launcher,
      launch: async (asked) => {
        const names = [...new Set([...this.#names.session, ...this.#names.take()])].toSorted();
        const writes = [...this.#writing.session, ...this.#writing.take()].length > 0;
        const own = { hosts: this.#hosts.take(), isOver: false };
        const request = { ...(writes ? unnarrowed(asked) : asked), mayReach: this.#mayReach(own, asked.mayReach) };
        const key = `${writes} ${names.join(' ')}`;
        const isMore = names.length > 0 || writes;
        const lost = diagnosticOf(() => {
          if (isMore && !made.has(key)) made.set(key, widened({ names, writes }));
        });
        if (lost !== null) return { kind: 'refused', reason: lost.message };
        const held = made.get(key) ?? launcher;
        const outcome = await held.launch(request);
        if (outcome.kind === 'started') void outcome.process.ended.then(() => (own.isOver = true));
        return outcome;
      },
    };
  }

  /** For one launch, which `ask` asks about. */
  #mayReach(own: { readonly hosts: Set<string>; readonly isOver: boolean }, ask: MayReach | undefined): MayReach {
    return async (to, held) => {
      const host = formatDestination(to);
      const isGranted = (): boolean => own.hosts.has(host) || this.#hosts.session.has(host);
      if (isGranted()) return true;
      if (ask === undefined || !(await ask(to, held)) || held.aborted || own.isOver) return false;
      // It waited for the answer, so it is the one command.
      if (this.#hosts.next.delete(host)) own.hosts.add(host);
      return isGranted();
    };
  }
}

/** A person was asked about writing itself: no skill in use takes it back. */
function unnarrowed(asked: LaunchRequest): LaunchRequest {
  return asked.narrowed == null ? asked : { ...asked, narrowed: { ...asked.narrowed, readOnly: false } };
}

function spelt(host: string): string {
  const reading = parseDestination(host);
  if (reading.kind !== 'destination') throw new Error(`${host} was asked about as a host`);
  return formatDestination(reading.destination);
}
