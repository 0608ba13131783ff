import { afterEach, describe, expect, it } from 'vitest';

import { ShownTerminal } from '../../../../test/support/shown-terminal.ts';
import type { SessionEvent } from './session-event.ts';
import { SessionView } from './session-view.ts';

const closing: SessionView[] = [];
afterEach(() => {
  for (const view of closing.splice(0)) view.close();
});

async function rowsAfter(events: readonly SessionEvent[]): Promise<string[]> {
  const shown = new ShownTerminal();
  const settings = {
    useColor: false,
    nowMs: () => 1000,
    keysHint: () => 'Esc cancels',
    answerHint: () => '',
    wholeOutput: () => null,
    keptOutput: () => null,
  };
  const view = new SessionView(shown.output, settings);
  closing.push(view);
  for (const event of events) view.show(event);
  view.screen.flush();
  return await shown.rows();
}

describe('the view of a session', () => {
  it('says what has ended where the session itself reports it', async () => {
    const told = (text: string): SessionEvent => ({
      kind: 'said',
      taskId: 'tsk_1',
      text,
      by: 'completion',
      waiting: 0,
    });
    expect(
      await rowsAfter([
        told('A command that went on in the background, wrk_1, has ended.\nexit code: 7'),
        told('{"delegation_id":"d"}'),
      ]),
    ).toEqual([
      '> [a background command ended] A command that went on in the background, wrk_1,',
      '  has ended.',
      '  exit code: 7',
      '> [a delegated session ended] {"delegation_id":"d"}',
    ]);
  });

  it('shows a message that waits, and how many do', async () => {
    const events: SessionEvent[] = [
      { kind: 'task-started', taskId: 'tsk_1' },
      { kind: 'said', taskId: 'tsk_2', text: 'and then\nthe changelog', by: 'user', waiting: 2 },
    ];
    expect(await rowsAfter(events)).toEqual([
      '> and then',
      '  the changelog',
      '  waiting (2nd)',
      '⠋ turn 1, 0 s · 1 message waits · Esc cancels',
    ]);
  });

  it('tears no line of an answer for a message that comes meanwhile, and says it again when its turn has come', async () => {
    const events: SessionEvent[] = [
      { kind: 'task-started', taskId: 'tsk_1' },
      { kind: 'text', taskId: 'tsk_1', text: 'The loop' },
      { kind: 'said', taskId: 'tsk_2', text: 'and then\nthe changelog', by: 'user', waiting: 1 },
      { kind: 'text', taskId: 'tsk_1', text: ' returns.' },
      { kind: 'text-ended' },
      { kind: 'task-ended', taskId: 'tsk_1', state: 'completed', reason: null },
      { kind: 'task-started', taskId: 'tsk_2' },
      { kind: 'text', taskId: 'tsk_2', text: 'Added.' },
      { kind: 'text-ended' },
    ];
    expect((await rowsAfter(events)).slice(0, -1)).toEqual([
      '> and then',
      '  the changelog',
      '  waiting (1st)',
      '│ The loop returns.',
      '- done in 0 ms',
      '> and then …',
      '│ Added.',
    ]);
  });

  it('says which message was canceled before its turn came, while the answer to another one goes on', async () => {
    const events: SessionEvent[] = [
      { kind: 'task-started', taskId: 'tsk_1' },
      { kind: 'text', taskId: 'tsk_1', text: 'The loop' },
      { kind: 'said', taskId: 'tsk_2', text: 'and then', by: 'user', waiting: 1 },
      { kind: 'task-ended', taskId: 'tsk_2', state: 'canceled', reason: null },
      { kind: 'text', taskId: 'tsk_1', text: ' returns.' },
      { kind: 'text-ended' },
    ];
    expect((await rowsAfter(events)).slice(2, -1)).toEqual([
      '- canceled before it began: and then',
      '│ The loop returns.',
    ]);
  });
});
