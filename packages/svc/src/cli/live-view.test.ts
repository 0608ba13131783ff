import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';

import { writtenText } from '../../../../test/support/written-text.ts';
import type { TaskId } from '@svc/protocol/ids.ts';
import { LiveView } from './live-view.ts';
import { Output } from './terminal/output.ts';
import { terminalOf } from './terminal/terminal-kind.ts';

it('shows a name that a model made up on one line, without control sequences', () => {
  const out = new PassThrough();
  new LiveView(new Output(() => out, terminalOf({ TERM: 'xterm' })), false).show({
    event: 'artifact',
    taskId: 'tsk_1' as TaskId,
    toolName: '\u001B]0;owned\u0007sh\nfake\u001B[2J',
    content: '',
    fenceSource: null,
    toolCallId: null,
    isError: false,
    durationMs: 5,
    exitCode: 0,
    truncated: false,
  });
  expect(writtenText(out)).toBe('\u001B[?7l✓ sh fake exit 0 5 ms\n\u001B[?7h');
});

it('shows what a failed call announces, beside the announcement', () => {
  const out = new PassThrough();
  new LiveView(new Output(() => out, terminalOf({ TERM: 'xterm' })), false).show({
    event: 'artifact',
    taskId: 'tsk_1' as TaskId,
    toolName: 'sh',
    content: 'the plan is not run:\nstep "b" waits for itself\nmore',
    fenceSource: null,
    toolCallId: null,
    isError: true,
    durationMs: null,
    exitCode: null,
    truncated: false,
  });
  const shown = writtenText(out).replaceAll('\u001B[?7l', '').replaceAll('\u001B[?7h', '');
  expect(shown).toBe('\u2717 sh\n\u2502 the plan is not run: step "b" waits for itself\n');
});

it('says why the model is asked again, on one line', () => {
  const out = new PassThrough();
  new LiveView(new Output(() => out, terminalOf({ TERM: 'xterm' })), false).retry(
    'the provider answered 429\n\u001B[2J',
  );
  expect(writtenText(out)).toBe('\u001B[?7l• asking the model again: the provider answered 429\n\u001B[?7h');
});
