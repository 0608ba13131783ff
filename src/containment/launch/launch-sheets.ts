import { closeSync, openSync, realpathSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { composePlan, type Enforcement } from './compose-plan.ts';
import { encodeLaunchPlan } from './launch-plan.ts';
import { linkPrograms } from './linked-programs.ts';
import type { NeededFiles } from './needed-files.ts';
import type { ProcessGrants } from './process-grants.ts';

/** What the helper reads for a launch, as descriptors that any number of launches share. */
export interface LaunchSheet {
  readonly plan: number;
  readonly filter: number;
  /** What is to be started: another path where the program's own is a shim that may not run. */
  readonly program: string;
  /** To be searched for programs ahead of `PATH`. */
  readonly searchFirst: string | null;
}

/** What all launches of a program have in common. */
type ProgramSheet = Omit<LaunchSheet, 'filter'>;

export interface LaunchSheetsOptions {
  readonly enforcement: Enforcement;
  readonly grants: ProcessGrants;
  readonly workdir: string;
  /** Owner-only; holds a file for a moment. */
  readonly privateDirectory: string;
  /** The system call filter for these grants. */
  readonly filter: Buffer;
  /** What a program and the commands it may run need, each an absolute path. */
  readonly filesOf: (programs: readonly string[], searchPath: readonly string[]) => NeededFiles;
  /** Processes of this user that run now. */
  readonly countProcesses: () => number;
}

/** A program and those it may run, as absolute paths. */
export interface Startable {
  readonly program: string;
  readonly commands: readonly string[];
  /** The directories of its `PATH`. */
  readonly searchPath: readonly string[];
}

/**
 * Plans and filters on paper, so to say: files without a name, each written once. A plan holds nothing of a single call, so that every
 * launch of a program has the same one.
 */
export class LaunchSheets {
  readonly #options: LaunchSheetsOptions;
  readonly #sheets = new Map<string, ProgramSheet>();
  #filter: number | null = null;

  constructor(options: LaunchSheetsOptions) {
    this.#options = options;
  }

  sheetFor(startable: Startable): LaunchSheet {
    this.#filter ??= this.#write(this.#options.filter);
    const key = JSON.stringify(startable);
    const sheet = this.#sheets.get(key) ?? this.#compose(startable);
    this.#sheets.set(key, sheet);
    return { ...sheet, filter: this.#filter };
  }

  close(): void {
    for (const { plan } of this.#sheets.values()) closeSync(plan);
    this.#sheets.clear();
    if (this.#filter !== null) closeSync(this.#filter);
    this.#filter = null;
  }

  #compose({ program, commands, searchPath }: Startable): ProgramSheet {
    const { enforcement, grants, workdir, privateDirectory, filesOf, countProcesses } = this.#options;
    const files = filesOf([program, ...commands], searchPath);
    const plan = composePlan({ enforcement, files, grants, workdir, processesRunning: countProcesses() });
    const searchFirst = enforcement.class === 'scoped' ? linkPrograms(files, join(privateDirectory, 'bin')) : null;
    const shimmed = searchFirst === null ? undefined : files.links.find(({ path }) => path === realpathSync(program));
    return { plan: this.#write(encodeLaunchPlan(plan)), program: shimmed?.target ?? program, searchFirst };
  }

  #write(bytes: Buffer): number {
    const path = join(this.#options.privateDirectory, 'launch-sheet');
    writeFileSync(path, bytes, { flag: 'wx', mode: 0o600 });
    try {
      return openSync(path, 'r');
    } finally {
      unlinkSync(path);
    }
  }
}
