/** Knows which skills a person can have a task begin with, and which texts each task was given. */

import { firstNames } from '@svc/kit/diagnostics/printable.ts';
import { type CallCeiling, neverReached, type Tool, type ToolOutcome } from '../tool.ts';

/** A skill whose whole text a task was given, as the model has it. */
export interface GivenSkill {
  readonly name: string;
  readonly text: string;
}

const mostNamed = 20;

/** Characters of a text whose `$ARGUMENTS` were replaced: it may have many, and what stands for them may be long. */
const maxFilled = 4 * 1024 * 1024;

/** The skills of a session, and the texts of those that its tasks were given. */
export class GivenSkills {
  /** The names of the skills that a person can have a task begin with, in the order of the tools. */
  readonly names: readonly string[];
  /** The names that another capsule can give too. Its model writes its messages, so a skill that is for people alone is not among them. */
  readonly #forPeers: readonly string[];
  readonly #ceiling: CallCeiling | null;
  /** By task, until it has settled. */
  readonly #texts = new Map<string, readonly GivenSkill[]>();

  constructor(tools: readonly Tool[], ceiling: CallCeiling | null) {
    const named = tools.filter(({ kind, callers }) => kind === 'skill' && callers !== 'model');
    this.names = named.map(({ name }) => name);
    this.#forPeers = named.filter(({ callers }) => callers !== 'people').map(({ name }) => name);
    this.#ceiling = ceiling;
  }

  /** Why no task that these give can begin with the skills, as a clause; null where one can. */
  problem(skills: readonly string[], from: 'people' | 'other capsules' = 'people'): string | null {
    const names = from === 'people' ? this.names : this.#forPeers;
    const unknown = skills.find((name) => !names.includes(name));
    if (unknown === undefined) return this.#ceiling?.clash(skills) ?? null;
    const there = names.length === 0 ? 'there is none' : `there are ${firstNames(names, mostNamed)}`;
    return `no skill ${unknown} can be called by ${from}; ${there}`;
  }

  /** What a task was given so far, in its order. */
  ofTask(taskId: string): readonly GivenSkill[] {
    return this.#texts.get(taskId) ?? [];
  }

  add(taskId: string, given: GivenSkill): void {
    const before = this.ofTask(taskId);
    if (!before.some(({ text }) => text === given.text)) this.#texts.set(taskId, [...before, given]);
  }

  ended(taskId: string): void {
    this.#texts.delete(taskId);
  }
}

/** The text of a skill, in which `$ARGUMENTS` is what a person wrote for it (docs/skills.md "A skill by its name"). */
export function withArguments(given: ToolOutcome, written: string): ToolOutcome {
  const parts = given.content.split(/\$ARGUMENTS(?![\w[])/);
  if (given.status !== 'passed' || parts.length === 1) return given;
  const length = given.content.length + (parts.length - 1) * written.length;
  if (length > maxFilled) return neverReached(`with its $ARGUMENTS it would have more than ${maxFilled} characters`);
  return { ...given, content: parts.join(written) };
}
