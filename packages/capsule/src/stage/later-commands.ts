/** Gives the commands of a session what a person grants while it runs. A command holds from the next launch on, and changes no process that runs; a host holds at once. */

import { formatDestination, parseDestination } from '@svc/kit/net/network-destination.ts';
import type { ApprovalOption } from '@svc/protocol/approval.ts';
import type { Launcher, MayReach } from '@svc/sandbox/launcher.ts';
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

export class LaterCommands {
  readonly #names = new Granted();
  readonly #hosts = new Granted();

  grant(wanted: Wanted, option: ApprovalOption): void {
    if ('host' in wanted) this.#hosts.add(spelt(wanted.host), option);
    else this.#names.add(wanted.name, option);
  }

  /** What was granted to the next command of a task is granted to no other task. */
  taskEnded(): void {
    this.#names.next.clear();
    this.#hosts.next.clear();
  }

  /** `widened` makes the launcher with these names beside those of `launcher`. */
  launcher(launcher: Launcher, widened: (names: readonly string[]) => Launcher): Launcher {
    const made = new Map<string, Launcher>();
    return {
      ...launcher,
      launch: async (asked) => {
        const names = [...new Set([...this.#names.session, ...this.#names.take()])].toSorted();
        const own = { hosts: this.#hosts.take(), isOver: false };
        const request = { ...asked, mayReach: this.#mayReach(own, asked.mayReach) };
        const key = names.join(' ');
        const held = names.length === 0 ? launcher : (made.get(key) ?? widened(names));
        if (names.length > 0) made.set(key, held);
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

function spelt(host: string): string {
  const reading = parseDestination(host);
  if (reading.kind !== 'destination') throw new Error(`${host} was asked about as a host`);
  return formatDestination(reading.destination);
}
