import { describe, expect, it } from 'vitest';

import { says } from '../../../../test/support/fake-driver.ts';
import { SessionFixture, type FixtureOptions } from '../../../../test/support/session-fixture.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Conversations } from './conversations.ts';

const userTask = { text: 'Write a poem.', origin: 'user', trust: 'trusted' } as const;
const fullDisk = new Diagnostic('E-IO-001', 'the conversation cannot be kept: no space left on the device');

async function run(options: Omit<FixtureOptions, 'turns'>): Promise<SessionFixture> {
  const fixture = new SessionFixture({ turns: [says('Roses.'), says('Noses.')], ...options });
  fixture.session.board.submit(userTask);
  await fixture.session.run();
  return fixture;
}

/** Conversations that take so many saves. */
function taking(saves: number): Conversations {
  let left = saves;
  return {
    has: () => false,
    history: () => [],
    save: () => {
      left -= 1;
      if (left < 0) throw fullDisk;
    },
  };
}

describe('a conversation that cannot be had', () => {
  it('fails the task before anything is asked of the model', async () => {
    const broken = new Diagnostic('E-RUN-031', 'the kept conversation x cannot be used: it is damaged');
    const fixture = await run({
      conversations: {
        has: () => true,
        history: () => {
          throw broken;
        },
        save: () => {},
      },
    });
    expect(fixture.lines).toEqual(['0 status working "inference turn 1"', '1 status failed "session ended"']);
    expect(fixture.results).toEqual(['error: E-RUN-031: the kept conversation x cannot be used: it is damaged']);
    expect(fixture.driver.requests).toEqual([]);
  });
});

describe('a conversation that cannot be kept', () => {
  it('fails the task that made it', async () => {
    const fixture = await run({ conversations: taking(0) });
    expect(fixture.lines).toEqual(['0 status working "inference turn 1"', '1 status failed "session ended"']);
    expect(fixture.results).toEqual(['Roses.', `error: E-IO-001: ${fullDisk.message}`]);
  });

  it('does not hold a reply that could not be written', async () => {
    const saved: unknown[] = [];
    const conversations = {
      has: () => false,
      history: () => [],
      save: (...kept: readonly unknown[]) => void saved.push(kept),
    };
    const fixture = await run({ conversations, resultRefused: true });
    expect(fixture.lines.at(-1)).toBe('1 status failed "session ended"');
    expect(saved).toEqual([]);
  });

  it('keeps the task from a reopening when its earlier state was not kept', async () => {
    const refusals: string[] = [];
    const fixture = await run({
      conversations: taking(1),
      hooks: {
        taskEnded: async () => ({ kind: 'reopen', feedback: 'It does not rhyme.' }),
        refused: (event, reason) => void refusals.push(`${event}: ${reason}`),
      },
    });
    expect(fixture.lines.at(-1)).toBe('2 status completed "session ended"');
    expect(refusals).toEqual([`on-task-end: ${fullDisk.message}`]);
    expect(fixture.driver.requests).toHaveLength(1);
  });
});
