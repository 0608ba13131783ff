import { describe, expect, it } from 'vitest';

import { recordingContext } from './tool-context.ts';
import { createSkillTool } from '../../src/tools/skill-tool.ts';

describe('a skill', () => {
  it('takes no arguments and answers with its text', async () => {
    const skill = createSkillTool({ name: 'review', description: 'how to review', text: '# Review\n\nRead twice.\n' });
    expect(skill).toMatchObject({ kind: 'skill', inputSchema: { type: 'object', properties: {} } });
    expect(await skill.call({}, recordingContext())).toEqual({
      status: 'passed',
      content: '# Review\n\nRead twice.\n',
      exitCode: null,
      truncated: false,
    });
  });
});
