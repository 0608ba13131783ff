import { closeSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { composePlan, type Enforcement } from './compose-plan.ts';
import { encodeLaunchPlan } from './launch-plan.ts';
import type { NeededFiles } from './needed-files.ts';
import type { ProcessGrants } from './process-grants.ts';

/** What the helper reads for a launch, as descriptors that any number of launches share. */
export interface LaunchSheet {
  readonly plan: number;
  readonly filter: number;
}

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
  readonly #plans = new Map<string, number>();
  #filter: number | null = null;

  constructor(options: LaunchSheetsOptions) {
    this.#options = options;
  }

  sheetFor(startable: Startable): LaunchSheet {
    this.#filter ??= this.#write(this.#options.filter);
    const key = JSON.stringify(startable);
    const plan = this.#plans.get(key) ?? this.#write(this.#compose(startable));
    this.#plans.set(key, plan);
    return { plan, filter: this.#filter };
  }

  close(): void {
    for (const descriptor of this.#plans.values()) closeSync(descriptor);
    this.#plans.clear();
    if (this.#filter !== null) closeSync(this.#filter);
    this.#filter = null;
  }

  #compose({ program, commands, searchPath }: Startable): Buffer {
    const { enforcement, grants, workdir, filesOf, countProcesses } = this.#options;
    const plan = composePlan({
      enforcement,
      files: filesOf([program, ...commands], searchPath),
      grants,
      workdir,
      processesRunning: countProcesses(),
    });
    return encodeLaunchPlan(plan);
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
