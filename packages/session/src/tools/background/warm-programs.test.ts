import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../../../../test/support/fake-clock.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';
import { BackgroundCommands } from './background-commands.ts';
import { createNativeTool } from '../native-tool.ts';
import { LogBudget } from '@svc/kit/log-budget.ts';
import { createShellTools } from '../shell-tool.ts';

const env = { PATH: '/bin' };

function recorded(): { prepared: string[]; launcher: Launcher } {
  const prepared: string[] = [];
  return {
    prepared,
    launcher: {
      launch: async () => ({ kind: 'refused', reason: 'nothing is to start' }),
      prepare: (request) => void prepared.push(`${request.command} ${request.env.PATH ?? ''}`),
    },
  };
}

describe('getting ready for a call', () => {
  it('prepares the launch of a shell command and starts nothing', () => {
    const { prepared, launcher } = recorded();
    const background = new BackgroundCommands({ clock: new FakeClock(), graceMs: 1, endIsTold: false });
    const settings = {
      launcher,
      env,
      sessionDirectory: '/nowhere',
      logs: new LogBudget(),
      cutBefore: (text: string) => text,
      background,
    };
    for (const tool of createShellTools(['bash', 'git'], settings)) tool.warm?.();
    expect(prepared).toEqual(['bash /bin', 'git /bin']);
  });

  it('prepares the launch of the program of a native tool', () => {
    const { prepared, launcher } = recorded();
    const named = { name: 'wc', description: '', inputSchema: {} };
    createNativeTool({ ...named, launcher, env, program: '/tools/wc', deadlineMs: 1 }).warm?.();
    expect(prepared).toEqual(['/tools/wc /bin']);
  });
});
