/** Makes a tool of a skill, which gives its text. */

import type { Tool } from './tool.ts';

interface SkillSettings {
  readonly name: string;
  readonly description: string;
  /** The text of `skill.md`. */
  readonly text: string;
}

/** A skill: calling it gives its text and does nothing. */
export function createSkillTool({ name, description, text }: SkillSettings): Tool {
  return {
    name,
    description,
    kind: 'skill',
    inputSchema: { type: 'object', properties: {} },
    call: () => Promise.resolve({ status: 'passed', content: text, exitCode: null, truncated: false }),
  };
}
