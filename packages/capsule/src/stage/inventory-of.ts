/** Makes the inventory of a session of its tools: as many as providers take, with what the lists of its skills allow. */

import { systemClock } from '@svc/kit/system-clock.ts';
import { Inventory } from '@svc/session/tools/inventory.ts';
import type { CallCeiling, Tool } from '@svc/session/tools/tool.ts';
import type { OpenSessionRequest } from '../launch/open-session-request.ts';
import type { SessionSkills } from './session-skills.ts';

/** Warns of the tools that are left out, and of lists with words that stand for nothing; throws what `Inventory` and `SessionSkills.limited` throw. */
export async function inventoryOf(
  all: readonly Tool[],
  skills: SessionSkills | null,
  { launch, onWarning }: Pick<OpenSessionRequest, 'launch' | 'onWarning'>,
): Promise<Inventory> {
  const forPeople = all.filter(({ callers }) => callers === 'people');
  const forModel = all.filter(({ callers }) => callers !== 'people');
  const taken = [...(await takenTools(forModel, onWarning)), ...forPeople];
  const tools = skills?.limited(taken, onWarning) ?? taken;
  return new Inventory(tools, systemClock, launch.redactor, await ceilingOf(tools));
}

/** The tools that providers take; a warning says which they do not. */
async function takenTools(all: readonly Tool[], onWarning: OpenSessionRequest['onWarning']): Promise<readonly Tool[]> {
  if (all.length <= plainlyFew) return all;
  const { tools, warning } = (await import('./tool-limit.ts')).limitedTools(all);
  if (warning !== null) onWarning(warning);
  return tools;
}

/** So few are taken without a look. */
const plainlyFew = 100;

/** Returns null, and loads nothing, where no skill has a list. */
async function ceilingOf(tools: readonly Tool[]): Promise<CallCeiling | null> {
  if (tools.every(({ permits }) => permits === undefined)) return null;
  return new (await import('@svc/session/tools/skills/skill-ceiling.ts')).SkillCeiling(tools);
}
