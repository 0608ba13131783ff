/** Gives the commands of a session what a person grants while it runs: it holds from the next launch on, and changes no process that runs. */

import type { ApprovalOption } from '@svc/protocol/approval.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';

export class LaterCommands {
  readonly #session = new Set<string>();
  readonly #next = new Set<string>();

  grant(name: string, option: ApprovalOption): void {
    (option === 'session' ? this.#session : this.#next).add(name);
  }

  /** What was granted to the next command of a task is granted to no other task. */
  taskEnded(): void {
    this.#next.clear();
  }

  /** `widened` makes the launcher with these names beside those of `launcher`. */
  launcher(launcher: Launcher, widened: (names: readonly string[]) => Launcher): Launcher {
    const made = new Map<string, Launcher>();
    return {
      ...launcher,
      launch: async (request) => {
        const names = [...new Set([...this.#session, ...this.#next])].toSorted();
        this.#next.clear();
        if (names.length === 0) return await launcher.launch(request);
        const key = names.join(' ');
        const held = made.get(key) ?? widened(names);
        made.set(key, held);
        return await held.launch(request);
      },
    };
  }
}
