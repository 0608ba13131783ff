import { describe, expect, it } from 'vitest';

import type { DispatchedCall } from '@svc/session/tools/tool.ts';
import { fenceUntrusted } from '@svc/session/tools/untrusted-fence.ts';
import { callEnded, callStarted } from './call-updates.ts';

const tools = { editorRoot: '/home/me/project', project: null, commands: new Set(['wc']) };
const started = (name: string, input: unknown): unknown => callStarted('c1', { id: 'x', name, input }, tools);
const call: DispatchedCall = {
  toolName: 'svc-tool-editor',
  kind: 'wasm',
  content: 'fenced',
  fenceSource: 'x',
  unfenced: 'patched',
  output: 'patched',
  callId: null,
  isError: false,
  startMs: 0,
  durationMs: 1,
  exitCode: null,
  truncated: false,
  reached: true,
  denied: false,
};

describe('a call that begins', () => {
  it.each([
    ['svc-tool-editor', { command: 'read', path: 'src/a.ts' }, 'read', 'read src/a.ts', '/home/me/project/src/a.ts'],
    ['svc-tool-editor', { command: 'list' }, 'read', 'list', null],
    [
      'svc-tool-editor',
      { command: 'write', path: './b//c', content: '' },
      'edit',
      'write ./b//c',
      '/home/me/project/b/c',
    ],
    ['svc-tool-editor', { command: 'patch', path: '../x' }, 'edit', 'patch ../x', null],
    [
      'svc-tool-editor',
      { command: 'patch', path: '/etc/passwd' },
      'edit',
      'patch /etc/passwd',
      '/home/me/project/etc/passwd',
    ],
    ['svc-tool-editor', { command: 'search', pattern: 'x' }, 'search', 'search', null],
    ['svc-tool-editor', 'no object', 'other', 'svc-tool-editor', null],
    ['svc-tool-editor', { command: 'toString', path: 7 }, 'other', 'toString', null],
    ['wc', { command: '-l\n a.txt' }, 'execute', 'wc -l a.txt', null],
    ['delegate-task', { capsule: 'x' }, 'fetch', 'delegate-task', null],
    ['weather', {}, 'other', 'weather', null],
  ])('says of %s with %j what it is', (name, input, kind, title, path) => {
    expect(started(name, input)).toEqual({
      sessionUpdate: 'tool_call',
      toolCallId: 'c1',
      title,
      kind,
      status: 'pending',
      rawInput: input,
      ...(path === null ? {} : { locations: [{ path }] }),
    });
  });

  it('has no arguments where they are longer than 1 MiB', () => {
    expect(started('wc', { command: 'x'.repeat(1024 * 1024) })).not.toHaveProperty('rawInput');
  });

  it('has a title of one line that has an end', () => {
    const { title } = started('wc', { command: `${'x'.repeat(500)}\n` }) as { title: string };
    expect(title).toHaveLength(201);
  });
});

describe('a call that has ended', () => {
  const path = '/home/me/project/a.txt';
  const file = (text: string): { bytes: Buffer } => ({ bytes: Buffer.from(text) });

  it.each([
    ['new', null, file('b\n'), [{ type: 'diff', path, oldText: null, newText: 'b\n' }]],
    ['changed', file('a\n'), file('b\n'), [{ type: 'diff', path, oldText: 'a\n', newText: 'b\n' }]],
    ['emptied', file('a\n'), file(''), [{ type: 'diff', path, oldText: 'a\n', newText: '' }]],
  ])('shows a file that is %s whole', (_what, before, after, content) => {
    expect(callEnded('c1', call, [{ path, before, after }])).toEqual({
      sessionUpdate: 'tool_call_update',
      toolCallId: 'c1',
      status: 'completed',
      content,
      locations: [{ path }],
    });
  });

  it.each([
    ['larger than 1 MiB', {}, file('b')],
    ['no text', file('a'), { bytes: Buffer.from([0xff]) }],
    ['gone', file('a'), null],
  ])('shows what the tool said of a file that is %s', (_what, before, after) => {
    expect(callEnded('c1', call, [{ path, before, after }])).toMatchObject({
      content: [{ type: 'content', content: { type: 'text', text: '```\npatched\n```' } }],
    });
  });

  it('puts what a tool said between marks that are not in it, and says what failed', () => {
    const failed = { ...call, toolName: 'x', kind: 'mcp', unfenced: 'a\n````\nb', isError: true } as const;
    expect(callEnded('c1', failed, [])).toEqual({
      sessionUpdate: 'tool_call_update',
      toolCallId: 'c1',
      status: 'failed',
      kind: 'fetch',
      content: [{ type: 'content', content: { type: 'text', text: '`````\na\n````\nb\n`````' } }],
    });
  });

  it('shows what was held back of a call, beside its diff and behind a result of any length', () => {
    const held = '["config/a" stays as it is: a person denied this change]';
    const long = 'x'.repeat(100_000);
    const fenced = (unfenced: string): DispatchedCall => ({
      ...call,
      unfenced,
      fenceSource: 'tool:x',
      content: `${fenceUntrusted('tool:x', unfenced)}\n${held}`,
    });
    const shown = { type: 'content', content: { type: 'text', text: `\`\`\`\n${held}\n\`\`\`` } };
    const { content } = callEnded('c1', fenced(long), []) as { readonly content: readonly unknown[] };
    expect([content.length, content[1]]).toEqual([2, shown]);
    expect(callEnded('c1', fenced('patched'), [{ path, before: file('a'), after: file('b') }])).toMatchObject({
      content: [{ type: 'diff' }, shown],
    });
    const bare = { ...call, fenceSource: null, content: `patched\n${held}` };
    expect(callEnded('c1', bare, [])).toMatchObject({ content: [{}, shown] });
  });
});
