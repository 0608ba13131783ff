/** Gives a task the skills that the person who sent it named, before its first turn. */

import type { SessionActivity } from '../task/activity.ts';
import type { TaskFailure } from '../task/task.ts';
import { callTrace, type Inventory } from '../tools/inventory.ts';
import type { Attempt } from './attempt.ts';

interface NamedSkillsDeps {
  readonly inventory: Inventory;
  readonly activity: SessionActivity;
}

/**
 * What the person wrote with the texts of the skills behind it (docs/skills.md "A skill by its name"). Each has a `skill_call` of turn 0; no client hears of it, since nothing was
 * dispatched. `failed` where one cannot be read any more. Rejects with `TaskCanceled`.
 */
export async function withNamedSkills(
  written: string,
  attempt: Attempt,
  { inventory, activity }: NamedSkillsDeps,
): Promise<string | Extract<TaskFailure, { kind: 'failed' }>> {
  const { task } = attempt;
  const texts = written === '' ? [] : [written];
  for (const [index, name] of task.skills.entries()) {
    const call = await inventory.giveSkill(name, written, {
      taskId: task.id,
      place: `${attempt.place}/m0/t${index + 1}`,
      signal: task.signal,
      emitText: () => {},
      emitThinking: () => {},
      requestInput: () => Promise.reject(new Error('a skill asks nothing')),
      judge: () => Promise.reject(new Error('a skill calls nothing')),
      settle: (look) => look(),
      record: () => false,
    });
    attempt.throwIfCanceled();
    const traced = callTrace({ taskId: task.id, turn: 0, input: {}, call });
    const by = task.sender === null ? {} : { by: task.sender.principal };
    activity.emit({ kind: 'noted', task, event: { ...traced, ...by } });
    if (call.isError) return { kind: 'failed', error: `the skill ${name} could not be given: ${call.content}` };
    texts.push(call.content);
  }
  return texts.join('\n\n');
}
