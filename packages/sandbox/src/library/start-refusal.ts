/** Says why a command was not started, and how a program that should have started it exits. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { refusedPrograms } from '../find-program.ts';

/** As `env` and `timeout` exit: 126 for a program that cannot be run, 127 for one that is not there, 125 for a failure of their own. */
export type StartStatus = 125 | 126 | 127;

const statuses: Readonly<Record<string, StartStatus>> = {
  [refusedPrograms.absent]: 127,
  [refusedPrograms.denied]: 126,
};

const hints: Readonly<Record<StartStatus, string>> = {
  125: 'probe() says what this machine can enforce, and explain() what the command would get',
  126: 'see that the file is executable and lies outside what the command may write, or grant runWritten',
  127: 'see that the program is installed and on PATH, where relative entries and those in writable places do not count',
};

/** `E-CAP-021`: nothing ran. */
export class StartRefusal extends Diagnostic {
  readonly status: StartStatus;

  /** `reason` is a clause for a person, as launchers give it. */
  constructor(program: string, reason: string) {
    const status = statuses[reason.split(';')[0] ?? ''] ?? 125;
    super('E-CAP-021', `${program} was not started: ${reason}`, { hint: hints[status] });
    this.status = status;
  }
}
