/** Makes the questions about the programs that the command of one call starts. */

import type { StartedProgram } from '@svc/sandbox/launcher.ts';
import type { CallVerdict, CheckedCall, ProgramQuestions } from '../tools/tool.ts';
import { askedProgram, type Judged } from './asked-effect.ts';
import { isStartOf, type ProgramRules } from './program-rules.ts';
import { commandsOfLine, readShells } from './shell-line.ts';

interface Surroundings {
  readonly rules: ProgramRules;
  /** The words of the call; null where it is no command. */
  readonly argv: readonly string[] | null;
  readonly redact: (text: string) => string;
  /** Judges in the place of the call. */
  readonly judged: (judged: Judged) => Promise<CallVerdict>;
}

/** The commands of a line that was let through pass once each, with just these words: rules, or a person, have decided about them. */
export function programQuestions(call: CheckedCall, { rules, argv, redact, judged }: Surroundings): ProgramQuestions {
  const passing = [...lineOf(call)];
  return {
    passes: (program) => {
      const decision = rules.of(program);
      if (decision === null) return true;
      const isLeft = decision.verdict === 'ask' && program.isText && program.state === 'whole';
      const at = isLeft ? passing.findIndex((words) => isStartOf(program, words)) : -1;
      if (at !== -1) passing.splice(at, 1);
      return at !== -1;
    },
    ask: async (program) =>
      await judged({
        what: 'program',
        ruling: () => {
          const decision = rules.of(program);
          return decision === null
            ? null
            : { ...decision, argv: program.argv, isOpaque: false, programs: programsOf(call, program) };
        },
        effectOf: () => askedProgram(call, { program, argv }, redact),
      }),
  };
}

function lineOf({ kind, toolName, arguments: { command } }: CheckedCall): readonly (readonly string[])[] {
  return kind === 'shell' && readShells.has(toolName) ? (commandsOfLine(String(command)) ?? []) : [];
}

/** The programs on whose places a kept approval depends. One that was started by a path from where it was has none, and is not kept. */
function programsOf({ kind, toolName }: CheckedCall, { file }: StartedProgram): readonly string[] {
  return [...(kind === 'shell' ? [toolName] : []), file];
}
