import { basename, isAbsolute, resolve } from 'node:path';

import type { Launcher } from '../containment/launcher.ts';
import { splitWords } from '../containment/split-words.ts';
import { Diagnostic } from '../diagnostics/diagnostic.ts';
import type { Driver } from './driver.ts';
import { ProcessDriverTask } from './process-driver-task.ts';

export interface ProcessDriverSettings {
  /** `inference.command`: a list is taken as it is, a text is split into words without a shell. */
  readonly command: string | readonly string[];
  /** What a relative path in front of the command is relative to. */
  readonly manifestDirectory: string;
  readonly launcher: Launcher;
  readonly env: Readonly<Record<string, string>>;
  /** Takes secrets out of a failure: a driver may repeat its key in what it prints. */
  readonly redact: (text: string) => string;
  /** How long a driver may take to end by itself, and again after it was asked to; 2,000 when absent. */
  readonly endGraceMs?: number;
}

/** Programs with a dialect of their own, which is not the default one. */
const ownDialects: ReadonlySet<string> = new Set(['claude', 'codex']);

/**
 * The driver behind `inference.transport: process` in its default dialect: one process per task, one JSON object per line
 * (contracts §11). Throws `E-MAN-003` for a command that cannot be run so.
 */
export function createProcessDriver(settings: ProcessDriverSettings): Driver {
  const words = typeof settings.command === 'string' ? wordsOf(settings.command) : settings.command;
  const [program = '', ...args] = words;
  if (program === '') throw new Diagnostic('E-MAN-003', 'inference.command names no program');
  if (ownDialects.has(basename(program))) {
    throw new Diagnostic(
      'E-MAN-003',
      `inference.command: ${basename(program)} cannot be used as a driver by this version`,
      {
        hint: 'name a program that speaks the JSON-lines dialect, or use transport: http',
      },
    );
  }
  const { launcher, manifestDirectory, env, redact, endGraceMs = 2000 } = settings;
  const command = program.includes('/') && !isAbsolute(program) ? resolve(manifestDirectory, program) : program;
  const open = new Set<ProcessDriverTask>();
  return {
    // The arguments may hold values of the environment.
    label: program,
    openTask() {
      const task = new ProcessDriverTask({
        launch: () => launcher.launch({ command, args, env, stdin: 'pipe' }),
        name: program,
        redact,
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

function wordsOf(command: string): readonly string[] {
  const split = splitWords(command);
  if (split.kind === 'words') return split.words;
  throw new Diagnostic('E-MAN-003', `inference.command cannot be split into words: ${split.reason}`, {
    hint: 'write it as a list',
  });
}
