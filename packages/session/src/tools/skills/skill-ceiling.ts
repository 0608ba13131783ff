/** Holds the calls of a task to what the lists of its skills in use allow. */

import { commandWords, isShell } from '../shell-command.ts';
import type { CallCeiling, CeilingVerdict, Tool } from '../tool.ts';
import {
  boundedLaunch,
  closedBy,
  inTheWay,
  type JudgedToolCall,
  type Permit,
  shownPermits,
  type SkillInUse,
} from './allowed-tools.ts';

/** What answers whatever is in use: it reaches nothing by itself. */
const alwaysAnswered: ReadonlySet<string> = new Set(['svc-tool-request-input', 'submit-plan']);

/** A skill is in use from when its text was given until its task has settled; the model cannot end it (docs/skills.md "allowed-tools"). */
export class SkillCeiling implements CallCeiling {
  readonly #commands: readonly string[];
  readonly #permits: ReadonlyMap<string, readonly Permit[]>;
  readonly #inUse = new Map<string, readonly SkillInUse[]>();

  constructor(tools: readonly Tool[]) {
    this.#commands = tools.filter(({ kind }) => kind === 'shell').map(({ name }) => name);
    this.#permits = new Map(tools.flatMap(({ name, permits }) => (permits === undefined ? [] : [[name, permits]])));
  }

  judge(taskId: string, tool: Tool, args: Readonly<Record<string, unknown>>): CeilingVerdict {
    const inUse = this.#inUse.get(taskId) ?? [];
    if (inUse.length === 0 || alwaysAnswered.has(tool.name)) return { kind: 'allowed', narrowed: null };
    if (tool.kind === 'skill') return this.#judgeSkill(tool.name, inUse);
    const call = judgedCall(tool, args);
    const by = inTheWay(inUse, call);
    if (by !== null)
      return refused(
        by,
        `not allowed while the skill ${by.name} is in use: it allows ${shownPermits(by.permits ?? [])}`,
      );
    const bounds = boundedLaunch(inUse, call, { commands: this.#commands, writable: true });
    const without = this.#commands.filter((name) => !bounds.commands.includes(name));
    return { kind: 'allowed', narrowed: { without, readOnly: !bounds.writable } };
  }

  /** Gives a skill to a task. */
  use(taskId: string, skill: string): void {
    const permits = this.#permits.get(skill);
    const inUse = this.#inUse.get(taskId) ?? [];
    if (permits === undefined || inUse.some(({ name }) => name === skill)) return;
    this.#inUse.set(taskId, [...inUse, { name: skill, permits }]);
  }

  clash(skills: readonly string[]): string | null {
    const inUse: SkillInUse[] = [];
    for (const name of skills) {
      const one = { name, permits: this.#permits.get(name) ?? null };
      const by = closedBy(inUse, one);
      if (by !== null) return `no call is allowed by both ${by.name} and ${name}`;
      inUse.push(one);
    }
    return null;
  }

  ended(taskId: string): void {
    this.#inUse.delete(taskId);
  }

  #judgeSkill(name: string, inUse: readonly SkillInUse[]): CeilingVerdict {
    const by = closedBy(inUse, { name, permits: this.#permits.get(name) ?? null });
    if (by === null) return { kind: 'allowed', narrowed: null };
    return refused(by, `not allowed while the skill ${by.name} is in use: no call is allowed by both`);
  }
}

function refused({ name }: SkillInUse, reason: string): CeilingVerdict {
  return { kind: 'refused', reason, rule: `allowed-tools of ${name}` };
}

function judgedCall({ name, kind }: Tool, args: Readonly<Record<string, unknown>>): JudgedToolCall {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  if (kind !== 'shell') return { tool: name, command: text(args['command']), capsule: text(args['capsule']) };
  const command = text(args['command']);
  if (isShell(name)) return { tool: name, words: shellWords(name, command) };
  const split = commandWords(name, command);
  return { tool: name, words: split.kind === 'words' ? split.words : null };
}

/** The words behind the name of the shell in a line that starts it once more: `sh scripts/run.sh`. Returns null for a line with anything that a shell may read otherwise. */
function shellWords(shell: string, line: string): readonly string[] | null {
  if (!/^[\w./:=@%+, \t-]*$/.test(line)) return null;
  const [first, ...words] = line.split(/[ \t]+/).filter((word) => word !== '');
  return first === shell ? words : null;
}
