/** Decides by the rules of a manifest about programs that a command of a call has started. */

import type { Approvals, MatchedCall, Verdict } from '@svc/artifacts/manifest/approvals.ts';
import type { StartedProgram } from '@svc/sandbox/launcher.ts';
import { matchesWords } from './call-rules.ts';
import { type Decision, stricter } from './decision.ts';
import { type WordShape, wordShapeOf } from './word-shapes.ts';

interface Rule extends Decision {
  readonly words: readonly WordShape[];
}

/** The most words that stand before the name of a script: five interpreters, each with one of its own. */
const maxBeforeScript = 10;

const known = {
  cut: 'more than 4096 words, or 64 KiB of them',
  unreadable: 'words that cannot be read',
  crowded: 'more than 1024 programs that wait',
};

/** The rules with `ask` and `deny` about commands. `allow`, `default` and `opaque` decide about calls alone. */
export class ProgramRules {
  readonly #rules: readonly Rule[];

  constructor({ rules }: Pick<Approvals, 'rules'>) {
    this.#rules = rules.flatMap((rule, index) =>
      (Object.entries(rule) as [Verdict, MatchedCall][]).flatMap(([verdict, { command }]) =>
        command === undefined || verdict === 'allow'
          ? []
          : [{ verdict, rule: `approvals.rules[${index}]`, words: command.map(wordShapeOf) }],
      ),
    );
  }

  /** The names of the programs that rules are about; empty where one is about any. Null without such a rule. */
  get names(): readonly string[] | null {
    if (this.#rules.length === 0) return null;
    const firsts = this.#rules.map(({ words: [first] }) => first);
    const names = firsts.flatMap((first) => (first?.kind === 'one-of' ? [...first.words] : []));
    return firsts.every((first) => first?.kind === 'one-of') ? [...new Set(names)] : [];
  }

  /** Returns null for a program that runs. */
  of({ file, argv, state }: StartedProgram): Decision | null {
    if (state === 'unreadable' || state === 'crowded') return { verdict: 'deny', rule: known[state] };
    const readings = readingsOf(file, argv);
    if (state === 'whole') {
      const found = this.#rules.filter(({ words, verdict }) =>
        readings.some((reading) => matchesWords(words, reading, verdict)),
      );
      if (found.length === 0) return null;
      const { verdict, rule } = found.reduce<Decision>(stricter, found[0] as Rule);
      return { verdict, rule };
    }
    // What is left out could be what a rule asks for.
    const isNamed = this.#rules.some(({ words: [first = anyWord], verdict }) =>
      readings.some((reading) => matchesWords([first, anyNumber], reading.slice(0, 1), verdict)),
    );
    return isNamed || argv.length === 0 ? { verdict: 'deny', rule: known.cut } : null;
  }
}

const anyWord = { kind: 'any' } as const;
const anyNumber = { kind: 'any-number' } as const;

/** A program is known by its first word and by its file; a script also by the words that its interpreters got before its name, and by its own. */
function readingsOf(file: string, argv: readonly string[]): readonly (readonly string[])[] {
  const ofScript = Array.from({ length: scriptIn(file, argv) }, (_, at) => argv.slice(at + 1));
  return [argv, [file, ...argv.slice(1)], ...ofScript];
}

/** Where the kernel has put the name of a script, behind its interpreters; 0 for another program. */
function scriptIn(file: string, argv: readonly string[]): number {
  const at = argv.indexOf(file, 1);
  return at > maxBeforeScript ? 0 : Math.max(at, 0);
}

/** Whether a shell has started just this when it came to a command of its line. The kernel gives a script the path that the shell has found, and loses its first word. */
export function isStartOf({ file, argv }: Pick<StartedProgram, 'file' | 'argv'>, command: readonly string[]): boolean {
  const [name = ''] = command;
  const found = name.includes('/') ? file : file.slice(file.lastIndexOf('/') + 1);
  const script = scriptIn(file, argv);
  const readings = script === 0 ? [argv] : [argv, [name, ...argv.slice(script + 1)]];
  const words = JSON.stringify(command);
  return found === name && readings.some((reading) => JSON.stringify(reading) === words);
}
