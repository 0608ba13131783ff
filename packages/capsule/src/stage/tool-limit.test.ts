import { expect, it } from 'vitest';

import type { Tool, ToolKind } from '@svc/session/tools/tool.ts';
import { limitedTools } from './tool-limit.ts';

function toolsOf(count: number, kind: ToolKind, artifact: string): readonly Tool[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `${artifact}__${index}`,
    artifact,
    description: '',
    kind,
    inputSchema: {},
    call: () => Promise.reject(new Error('nobody calls it')),
  }));
}

it('128 tools of all entries together are kept, and the warning has the numbers of each server', () => {
  const all = [...toolsOf(70, 'mcp', 'left'), ...toolsOf(70, 'mcp', 'right'), ...toolsOf(2, 'shell', 'sh')];
  const { tools, warning } = limitedTools(all);
  expect(tools).toHaveLength(128);
  expect(tools.filter(({ kind }) => kind === 'shell')).toHaveLength(2);
  expect(warning?.message).toBe(
    '142 tools are more than the 128 that providers take: others 2, left 70, right 56 of 70; left out: right__56, right__57, right__58, right__59, right__60, right__61, right__62, right__63, right__64, right__65 and 4 more',
  );
  expect(limitedTools(all.slice(0, 128))).toEqual({ tools: all.slice(0, 128), warning: null });
});
