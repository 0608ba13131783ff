import { describe, expect, it } from 'vitest';

import { ShownTerminal } from '../../../../test/support/shown-terminal.ts';
import { cutOf, LastLines } from './cut-output.ts';
import type { SessionEvent } from './session-event.ts';
import { SessionView } from './session-view.ts';

const before = (bytes: number, file = 'logs/1-sh-stdout.log'): string =>
  `[${bytes} more bytes are not shown; the whole is kept in ${file}, out of reach of tools]`;

const notice = (bytes: number, file?: string): string =>
  before(bytes, file).replace(']', ': what a command writes into a file can be read in parts]');

/** What a model reads of `seq 1 5000; echo done`, with fewer lines before the cut. */
const counted = `command: seq\nexit code: 0\nstdout:\n3494\n3495\n3496\n3497\n3498\n3\n${notice(7514)}\nstderr: (empty)`;

function ended(content: string): SessionEvent {
  const input = { command: 'seq' };
  const call = { callId: 'c1', name: 'sh', input, content, exitCode: 0, isCut: true, isError: false, isRefused: false };
  return { kind: 'result', result: { ...call, durationMs: 12, step: 7 } };
}

async function rowsAfter(...events: readonly SessionEvent[]): Promise<string[]> {
  const shown = new ShownTerminal();
  const view = new SessionView(shown.output, {
    useColor: false,
    nowMs: () => 1000,
    keysHint: () => '',
    answerHint: () => '',
    wholeOutput: () => '/show 7',
    keptOutput: ({ step }) => `svc logs 4f1a ${step}`,
  });
  for (const event of events) view.show(event);
  view.screen.flush();
  const rows = await shown.rows();
  view.close();
  return rows.slice(1);
}

const wrote = (text: string, leftOutBytes = 0): SessionEvent => ({ kind: 'output', callId: 'c1', text, leftOutBytes });

describe('the row of a command with a long output', () => {
  it('has the last five lines below it that the command wrote, and says where all of them are', async () => {
    expect(
      await rowsAfter(wrote('3496\n3497\n'), wrote('98\n4999\n5000\n', 6000), wrote('done\n'), ended(counted)),
    ).toEqual(['║ … the whole output: svc logs 4f1a 7', '║ …98', '║ 4999', '║ 5000', '║ done']);
    const more = wrote('4997\n4998\n4999\n5000\ndone\nbye');
    expect(await rowsAfter(more, ended(counted))).toEqual([
      '║ … the whole output: svc logs 4f1a 7',
      '║ 4998',
      '║ 4999',
      '║ 5000',
      '║ done',
      '║ bye',
    ]);
  });

  it('says how much is missing behind its lines where nobody has heard the end', async () => {
    expect(await rowsAfter(ended(counted))).toEqual([
      '║ … 1 line more: /show 7',
      '║ 3495',
      '║ 3496',
      '║ 3497',
      '║ 3498',
      '║ 3',
      '║ … the end: svc logs 4f1a 7',
    ]);
  });

  it('names no log that does not hold the output', async () => {
    const full = counted.replace('the whole is kept in logs/1-sh-stdout.log', 'logs/1-sh-stdout.log: no space left');
    expect((await rowsAfter(ended(full))).at(-1)).toBe('║ … the end is not kept');
    expect(await rowsAfter(wrote('done\n'), ended(full))).toEqual(['║ … the whole output is not kept', '║ done']);
  });

  it('keeps what is said of the command itself', async () => {
    const limited = `${counted}\n[the limit of 64 processes was reached]`;
    expect(await rowsAfter(wrote('done\n'), ended(limited))).toEqual([
      '║ … the whole output: svc logs 4f1a 7',
      '║ done',
      '║ [the limit of 64 processes was reached]',
    ]);
  });

  it('shows the lines of the result where that is whole, whatever was heard', async () => {
    const whole = 'command: seq\nexit code: 0\nstdout:\n1\nstderr: (empty)';
    const event = ended(whole);
    if (event.kind !== 'result') throw new Error('no result');
    const result = { ...event.result, isCut: false };
    expect(await rowsAfter(wrote('2\n'), { kind: 'result', result })).toEqual(['║ 1']);
    expect(await rowsAfter({ kind: 'result', result }, ended(counted))).toContain('║ 3498');
  });
});

describe('what a result lacks', () => {
  it('adds up what both outputs lack, and nothing where its capsule calls it whole', () => {
    const both = `stdout:\na\n${notice(3)}\nstderr:\nb\n${notice(4, 'logs/1-sh-stderr.log')}`;
    expect(cutOf({ isCut: true, content: both })).toBe('kept');
    const lost = both.replace('the whole is kept in logs/1-sh-stderr.log', 'logs/1-sh-stderr.log: no space left');
    expect(cutOf({ isCut: true, content: lost })).toBe('not-kept');
    expect(cutOf({ isCut: true, content: `a\n${before(3)}` })).toBe('kept');
    expect(cutOf({ isCut: false, content: both })).toBeNull();
    expect(cutOf({ isCut: true, content: 'a\n[3 more bytes are not shown]' })).toBeNull();
  });
});

describe('LastLines', () => {
  it('keeps the end of a long line', () => {
    const lines = new LastLines();
    lines.add('a', 'x'.repeat(3000), 0);
    lines.add('a', 'yz\nnext', 0);
    expect(lines.take('a')).toEqual([`…${'x'.repeat(1997)}yz`, 'next']);
    expect(lines.take('a')).toBeNull();
  });

  it('listens to 256 calls at once, and to none without an id', () => {
    const lines = new LastLines();
    for (let call = 0; call < 300; call += 1) lines.add(`call ${call}`, 'a\n', 0);
    lines.add(null, 'a\n', 0);
    expect([lines.take('call 255'), lines.take('call 256'), lines.take(null)]).toEqual([['a'], null, null]);
  });
});
