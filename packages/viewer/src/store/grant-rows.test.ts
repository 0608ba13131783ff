import type { Granted } from '@svc/protocol/viewed-session.ts';
import { describe, expect, it } from 'vitest';

import { blockOf } from '../../test/support/block-of.ts';
import { Columns } from './columns.ts';
import { grantRows, Uses } from './grant-rows.ts';
import { summarize } from './summary.ts';

const event = (type: string, at: number, fields: object = {}): string =>
  JSON.stringify({ event_type: type, event_id: 'e', timestamp: 1_700_000_000_000 + at, task_id: 'tsk_1', ...fields });

const granted = (...uses: readonly (readonly [group: string, name: string])[]): Granted => ({
  rows: uses.map((use) => ({ kind: '', what: use[1], line: null, use })),
  limits: [],
});

describe('the grants of a session', () => {
  it.each([
    ['localhost', 3],
    ['127.0.0.1:45877', 4],
    ['example.com:443', 5],
    ['example.com:80', 0],
    ['[::1]', 6],
    ['[::1]:443', 6],
    ['local', 0],
  ])('for %s have %i connections', (place, used) => {
    const connected = (host: string, port: number, connections: number): string =>
      event('egress', 1, { task_id: undefined, host, port, allowed: true, by: 'programs', connections });
    const told = [
      event('session_start', 0),
      connected('localhost', 80, 1),
      connected('localhost', 45877, 2),
      connected('127.0.0.1', 45877, 4),
      connected('example.com', 443, 5),
      connected('[::1]', 443, 6),
    ];
    const columns = new Columns();
    columns.put(blockOf(told).rows);
    const [row] = grantRows(granted(['connection', place]), new Uses(columns, told.length), true);
    expect(row?.use?.used).toBe(used);
  });

  it('count each attempt of a step of a plan', () => {
    const step = (name: string, kind: string, attempts: number, outcome = 'passed'): string =>
      event('plan_step', 5, { step_id: name, kind, name, attempts, outcome });
    const told = [
      event('session_start', 0),
      step('ls', 'shell', 1),
      step('wc', 'shell', 3, 'failed'),
      step('jq', 'shell', 0, 'skipped'),
      event('refusal', 5, { what: 'command', name: 'git', rule: 'no', by: 'svc-hook-x' }),
      step('git', 'shell', 1, 'failed'),
      step('editor', 'tool', 1),
      step('c', 'capsule', 1),
      event('tool_call', 6, { tool_name: 'submit-plan' }),
    ];
    const columns = new Columns();
    columns.put(blockOf(told).rows);
    const known = granted(
      ['command', 'ls'],
      ['command', 'wc'],
      ['command', 'jq'],
      ['command', 'git'],
      ['child', 'c'],
      ['tool', 'submit-plan'],
      ['tool', 'editor'],
    );
    const rows = grantRows(known, new Uses(columns, told.length), true);
    expect(rows.map(({ what, use, isOpen }) => [what, use?.used, use?.failed, use?.refused, isOpen])).toEqual([
      ['ls', 1, 0, 0, true],
      ['wc', 3, 1, 0, true],
      ['jq', 0, 0, 0, true],
      ['git', 0, 0, 1, true],
      ['c', 0, 0, 0, false],
      ['submit-plan', 1, 0, 0, false],
      ['editor', 1, 0, 0, false],
    ]);
  });

  it('count one refusal for a refusal and the line of what was refused', () => {
    const host = { host: 'example.org', port: 80, by: 'programs', connections: 2 };
    const told = [
      event('session_start', 0),
      event('refusal', 1, { task_id: undefined, what: 'host', name: 'example.org:80', rule: 'r', by: 'programs' }),
      event('refusal', 2, { what: 'tool', name: 'no-such-tool', rule: 'not offered', by: 'svc' }),
      event('tool_call', 3, { tool_name: 'no-such-tool', is_error: true }),
      event('refusal', 4, { what: 'tool', name: 't', rule: 'no', by: 'svc-hook-x' }),
      event('tool_call', 5, { tool_name: 't', is_error: true }),
      event('tool_call', 6, { tool_name: 't', is_error: true }),
      event('egress', 7, { ...host, task_id: undefined, allowed: false }),
      event('egress', 8, { ...host, task_id: undefined, allowed: true }),
    ];
    const columns = new Columns();
    columns.put(blockOf(told).rows);
    const uses = new Uses(columns, told.length);
    expect(uses.refusals.map(({ name, count }) => [name, count])).toEqual([
      ['example.org:80', 1],
      ['no-such-tool', 1],
      ['t', 1],
    ]);
    const rows = grantRows(granted(['connection', 'example.org:80'], ['tool', 't']), uses, true);
    expect(rows.map(({ use }) => [use?.used, use?.failed, use?.refused])).toEqual([
      [2, 0, 1],
      [1, 1, 1],
    ]);
    expect(summarize(Uint32Array.from(told.keys()), columns).failures).toEqual([
      ['t', 2, 4],
      ['example.org:80', 1, 1],
      ['no-such-tool', 1, 2],
    ]);
  });
});
