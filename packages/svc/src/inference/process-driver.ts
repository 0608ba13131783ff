import { basename, isAbsolute, resolve } from 'node:path';

import type { Launcher } from '@svc/sandbox/launcher.ts';
import { splitWords } from '@svc/sandbox/split-words.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { claudeDialect } from './cli/claude-dialect.ts';
import { createCliDriver, type ProgramService } from './cli/cli-driver.ts';
import { codexDialect } from './cli/codex-dialect.ts';
import type { Driver } from './driver.ts';
import { ProcessDriverTask } from './process-driver-task.ts';

export interface ProcessDriverSettings {
  /** `inference.command`: a list is taken as it is, a text is split into words without a shell. */
  readonly command: string | readonly string[];
  /** What a relative path in front of the command is relative to. */
  readonly manifestDirectory: string;
  readonly launcher: Launcher;
  /** What a failing driver's last words tell of that is hidden from it, as a clause; null when nothing is. */
  readonly hiddenIn?: (said: string) => string | null;
  /** For a program with a dialect of its own. */
  readonly program: ProgramSettings;
  readonly env: Readonly<Record<string, string>>;
  /** Takes secrets out of a failure: a driver may repeat its key in what it prints. */
  readonly redact: (text: string) => string;
  /** How long a driver may take to end by itself, and again after it was asked to; 2,000 when absent. */
  readonly endGraceMs?: number;
}

export interface ProgramSettings {
  readonly service: ProgramService;
  readonly apiKey: Secret | null;
  readonly maxTurns: number;
  readonly hasNetwork: boolean;
}

const ownDialects = new Map([claudeDialect, codexDialect].map((dialect) => [dialect.program, dialect]));

/**
 * The driver behind `inference.transport: process`: in the default dialect, one process per task and one JSON object per line, or in that of the
 * program that the command names (docs/drivers.md "A model behind a program"). Throws `E-MAN-003` for a command that cannot be run so.
 */
export function createProcessDriver(settings: ProcessDriverSettings): Driver {
  const [program = '', ...args] = driverWords(settings.command);
  if (program === '') throw new Diagnostic('E-MAN-003', 'inference.command names no program');
  const { launcher, manifestDirectory, env, redact, hiddenIn = () => null, endGraceMs = 2000 } = settings;
  const command = program.includes('/') && !isAbsolute(program) ? resolve(manifestDirectory, program) : program;
  const dialect = ownDialects.get(basename(program));
  if (dialect !== undefined) {
    return createCliDriver({ dialect, name: program, command, args, env, redact, endGraceMs, ...settings.program });
  }
  const open = new Set<ProcessDriverTask>();
  return {
    // The arguments may hold values of the environment.
    label: program,
    openTask() {
      const task = new ProcessDriverTask({
        launch: () => launcher.launch({ command, args, env, stdin: 'pipe' }),
        name: program,
        redact,
        hiddenIn,
        endGraceMs,
        onClosed: () => open.delete(task),
      });
      open.add(task);
      return task;
    },
    async close() {
      await Promise.all([...open].map((task) => task.close()));
    },
  };
}

/** `inference.command` as words: a list as it is, a text without a shell. Throws `E-MAN-003` for a text that cannot be split. */
export function driverWords(command: string | readonly string[]): readonly string[] {
  if (typeof command !== 'string') return command;
  const split = splitWords(command);
  if (split.kind === 'words') return split.words;
  throw new Diagnostic('E-MAN-003', `inference.command cannot be split into words: ${split.reason}`, {
    hint: 'write it as a list',
  });
}
