import { describe, expect, it } from 'vitest';

import type { LoggedValue } from '../../import-log.ts';
import { withoutCredentials } from './logged-value.ts';

const fields = 'wasi:http/types#Fields';
const handle: LoggedValue = { $r: [3, fields] };
const text = (value: string): LoggedValue => ({ $t: value });

describe('an entry of a log of imports', () => {
  it.each(['authorization', 'Cookie', 'SET-COOKIE', 'proxy-authorization'])(
    'names the header %s that is sent, without its value',
    (name) => {
      expect(withoutCredentials([`${fields}.append`, [handle, name, text('canary')], { ok: null }])).toEqual([
        `${fields}.append`,
        [handle, name],
        { ok: null },
      ]);
      expect(withoutCredentials([`${fields}.set`, [handle, name, [text('canary')]], { ok: null }])).toEqual([
        `${fields}.set`,
        [handle, name],
        { ok: null },
      ]);
    },
  );

  it.each(['cookie', 'Set-Cookie'])('has no value of the header %s that was received', (name) => {
    expect(withoutCredentials([`${fields}.get`, [handle, name], { ok: [text('canary')] }])).toEqual([
      `${fields}.get`,
      [handle, name],
      { ok: [] },
    ]);
  });

  it('has none among all headers, on the way out and back', () => {
    const all: LoggedValue = [
      ['accept', text('*/*')],
      ['Authorization', text('canary')],
      ['set-cookie', text('canary')],
    ];
    const shown = [['accept', text('*/*')]];
    expect(withoutCredentials([`${fields}.entries`, [handle], { ok: all }])[2]).toEqual({ ok: shown });
    expect(withoutCredentials([`${fields}.fromList`, [all], { ok: handle }])).toEqual([
      `${fields}.fromList`,
      [shown],
      { ok: handle },
    ]);
  });

  it('keeps other headers, and arguments of other imports that are named alike', () => {
    const entries = [
      [`${fields}.append`, [handle, 'accept', text('*/*')], { ok: null }],
      [`${fields}.get`, [handle, 'etag'], { ok: [text('x')] }],
      ['wasi:cli/environment#getEnvironment', [], { ok: [['cookie', 'x']] }],
      [`${fields}.append`, [handle, 'accept', text('a')], { err: { tag: 'immutable' } }],
    ] as const;
    for (const entry of entries) expect(withoutCredentials(entry)).toEqual(entry);
  });
});
