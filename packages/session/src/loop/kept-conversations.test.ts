import { readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Message } from '../model/driver.ts';
import type { ContextId } from '@svc/protocol/ids.ts';
import { replacementContract } from '../../../../test/support/replacement-contract.ts';
import { KeptConversations } from './kept-conversations.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let directory: string;

eachFolder('svc-conversations-', (made) => {
  directory = made;
});

function open(...secrets: readonly string[]): KeptConversations {
  const redactor = new Redactor();
  for (const secret of secrets) redactor.register(new Secret(secret));
  return new KeptConversations({ directory, redact: (text) => redactor.redact(text) });
}

const context = 'ctx-1' as ContextId;
/** SHA-256 of `"ctx-1"`, quotes included. */
const file = 'ee3a9e649afb368d4472404adab23f42896e84be6f7b2a500ff15c66c0701703.json';

function said(text: string): Message[] {
  return [
    { role: 'user', content: [{ type: 'text', text }] },
    { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
  ];
}

function onlyFile(): string {
  const names = readdirSync(directory);
  expect(names).toHaveLength(1);
  return join(directory, names[0] ?? '');
}

describe('conversations on disk', () => {
  replacementContract('of a context', {
    path: file,
    mode: 0o600,
    write: (place, variant) =>
      new KeptConversations({ directory: place, redact: (text) => text }).save(context, said(variant)),
  });

  it('come back as they were saved, blocks of every kind included', () => {
    const messages: Message[] = [
      { role: 'user', content: [{ type: 'text', text: 'half a pair \ud83d, and a line\u2028end' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', text: 'hm', signature: 'c2ln' },
          { type: 'thinking', text: 'unsigned' },
          { type: 'tool_call', id: '', name: 'sh', input: { command: 'ls', n: 1.5, deep: [null, { '': true }] } },
          { type: 'tool_call', id: 'call_2', name: 'sh', input: 'no JSON' },
        ],
      },
      { role: 'tool', toolCallId: '', isError: true, content: [{ type: 'text', text: 'a' }] },
      { role: 'tool', toolCallId: 'call_2', isError: false, content: [] },
      { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
    ];
    open().save(context, messages);
    expect(open().history(context)).toEqual(messages);
    expect(open().history('ctx-2' as ContextId)).toEqual([]);
  });

  it('live in one owner-only JSON file a context, named by the hash of its id', () => {
    open().save(context, said('Hello.'));
    expect(readdirSync(directory)).toEqual([file]);
    expect(statSync(join(directory, file)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(directory, file), 'utf8')).toBe(
      '{"version":1,"context_id":"ctx-1","messages":[' +
        '{"role":"user","content":[{"type":"text","text":"Hello."}]},' +
        '{"role":"assistant","content":[{"type":"text","text":"Done."}]}]}\n',
    );
  });

  it.each(['../../escape', '', '\0', 'x'.repeat(2_000_000), '\ud800', 'CTX-1'])(
    'treat any id of a context as a mere name (%#)',
    (id) => {
      const hostile = id as ContextId;
      open().save(context, said('of ctx-1'));
      open().save(hostile, said('of the other'));
      expect(open().history(hostile)).toEqual(said('of the other'));
      expect(open().history(context)).toEqual(said('of ctx-1'));
      expect(readdirSync(directory).every((name) => /^[0-9a-f]{64}\.json$/.test(name))).toBe(true);
    },
  );

  it('keep halves of different pairs apart', () => {
    open().save('\ud800' as ContextId, said('first'));
    open().save('\ud801' as ContextId, said('second'));
    expect(open().history('\ud800' as ContextId)).toEqual(said('first'));
  });

  it('disappear once an empty one is saved', () => {
    const kept = open();
    kept.save(context, said('Hello.'));
    kept.save(context, []);
    kept.save(context, []);
    expect(readdirSync(directory)).toEqual([]);
    expect(kept.history(context)).toEqual([]);
  });

  it('stay up to the 256 saved last, also over sessions', () => {
    const first = open();
    for (let each = 0; each < 256; each += 1) first.save(`ctx-${each}` as ContextId, said(`${each}`));
    const names = readdirSync(directory);
    const oldest = names[100] ?? '';
    for (const [index, name] of names.entries()) {
      const savedAt = name === oldest ? 1 : 1000 + index;
      utimesSync(join(directory, name), savedAt, savedAt);
    }
    const next = open();
    next.save('ctx-new' as ContextId, said('new'));
    expect(readdirSync(directory)).toHaveLength(256);
    expect(readdirSync(directory)).not.toContain(oldest);
    expect(next.history('ctx-new' as ContextId)).toEqual(said('new'));
  });

  it('become the newest when they are saved again', () => {
    const kept = open();
    for (let each = 0; each < 256; each += 1) kept.save(`ctx-${each}` as ContextId, said(`${each}`));
    kept.save('ctx-0' as ContextId, said('again'));
    kept.save('ctx-256' as ContextId, said('one more'));
    expect(kept.history('ctx-0' as ContextId)).toEqual(said('again'));
    expect(kept.history('ctx-1' as ContextId)).toEqual([]);
    expect(kept.history('ctx-2' as ContextId)).toEqual(said('2'));
    expect([open().has('ctx-1' as ContextId), open().has('ctx-2' as ContextId)]).toEqual([false, true]);
  });

  it('cannot exceed 16 MiB, and a refused one leaves the saved one', () => {
    const kept = open();
    kept.save(context, said('short'));
    const longest = 16 * 1024 * 1024;
    // The rest of the file is 166 bytes.
    const most = 'x'.repeat(longest - 166);
    expect(() => kept.save(context, said(`${most}y`))).toThrow(
      expect.objectContaining({
        code: 'E-RUN-032',
        message: 'the conversation is too long to be kept: 16777217 bytes, at most 16777216',
      }),
    );
    expect(kept.history(context)).toEqual(said('short'));
    kept.save(context, said(most));
    expect(statSync(onlyFile()).size).toBe(longest);
    expect(open().history(context)).toEqual(said(most));
  });

  it('lose their half-written files when a session begins, and nothing else', () => {
    open().save(context, said('Hello.'));
    writeFileSync(join(directory, '.svc-tmp-abc'), '{"version":1,');
    writeFileSync(join(directory, 'ses_1.holder'), '{}');
    open();
    expect(readdirSync(directory).toSorted()).toEqual([file, 'ses_1.holder'].toSorted());
  });
});

describe('a kept conversation that is not what it should be', () => {
  function broken(reason: string): unknown {
    return expect.objectContaining({
      code: 'E-RUN-031',
      message: `the kept conversation ${join(directory, file)} cannot be used: ${reason}`,
    });
  }

  it.each([
    ['', 'it is damaged'],
    ['{"version":1,"context_id":"ctx-1","mess', 'it is damaged'],
    ['[]', 'it is damaged'],
    ['{"version":2,"context_id":"ctx-1","messages":[]}', 'it is not of version 1'],
    ['{"context_id":"ctx-1","messages":[]}', 'it is not of version 1'],
    ['{"version":1,"context_id":"ctx-2","messages":[]}', 'it is of another context'],
    ['{"version":1,"context_id":"ctx-1","messages":[],"more":1}', 'it is damaged'],
    [
      '{"version":1,"context_id":"ctx-1","messages":[{"role":"user","content":[{"type":"text"}]}]}',
      'messages.0.content.0.text is not what it should be',
    ],
    [
      '{"version":1,"context_id":"ctx-1","messages":[{"role":"system","content":[]}]}',
      'messages.0.role is not what it should be',
    ],
    [Uint8Array.of(0x22, 0xff, 0x22), 'it is not UTF-8 text'],
  ])('fails by name, and stays: %s', (text, reason) => {
    writeFileSync(join(directory, file), text);
    expect(() => open().history(context)).toThrow(broken(reason));
    expect(readdirSync(directory)).toEqual([file]);
  });

  it('fails at the first of a million wrong things', () => {
    const many = `${'0,'.repeat(1_000_000)}0`;
    const texts = { '0': `[${many}]`, '0.content.0': `[{"role":"user","content":[${many}]}]` };
    for (const [place, messages] of Object.entries(texts)) {
      writeFileSync(join(directory, file), `{"version":1,"context_id":"ctx-1","messages":${messages}}`);
      expect(() => open().history(context)).toThrow(broken(`messages.${place} is not what it should be`));
    }
  });

  it('fails when it is no file, or too long', () => {
    mkdirSync(join(directory, file));
    expect(() => open().history(context)).toThrow(broken('it is not a file'));
    rmSync(join(directory, file), { recursive: true });
    writeFileSync(join(directory, file), ' '.repeat(16 * 1024 * 1024 + 1));
    expect(() => open().history(context)).toThrow(broken('it holds more than 16777216 bytes'));
  });
});

describe('secrets in a conversation', () => {
  const key = 'sk-0123456789';

  it('never reach the file, wherever a model or a tool put them', () => {
    const kept = open(key);
    kept.save(`ctx of ${key}` as ContextId, [
      { role: 'user', content: [{ type: 'text', text: `the key is ${key}` }] },
      {
        role: 'assistant',
        content: [{ type: 'tool_call', id: `id-${key}`, name: 'sh', input: { [key]: [`echo ${key}`], n: 1 } }],
      },
      { role: 'tool', toolCallId: `id-${key}`, isError: false, content: [{ type: 'text', text: `${key}\n` }] },
    ]);
    expect(readFileSync(onlyFile(), 'utf8')).not.toContain('0123');
    expect(kept.history(`ctx of ${key}` as ContextId)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'the key is [secret]' }] },
      {
        role: 'assistant',
        content: [{ type: 'tool_call', id: 'id-[secret]', name: 'sh', input: { '[secret]': ['echo [secret]'], n: 1 } }],
      },
      { role: 'tool', toolCallId: 'id-[secret]', isError: false, content: [{ type: 'text', text: '[secret]\n' }] },
    ]);
  });

  it('take the signature of the thinking they were in with them, and of no other', () => {
    const kept = open(key);
    kept.save(context, [
      {
        role: 'assistant',
        content: [
          { type: 'thinking', text: `so it is ${key}`, signature: 'c2ln' },
          { type: 'thinking', text: 'nothing here', signature: 'b3RoZXI=' },
        ],
      },
    ]);
    expect(kept.history(context)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'thinking', text: 'so it is [secret]' },
          { type: 'thinking', text: 'nothing here', signature: 'b3RoZXI=' },
        ],
      },
    ]);
  });

  it('leave the file readable when they are words of the file itself', () => {
    const kept = open('user', 'text', 'version');
    kept.save(context, said('a user'));
    expect(kept.history(context)).toEqual(said('a [secret]'));
  });
});
