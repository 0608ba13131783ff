import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { KeptSessions } from './kept-session.ts';
import { type AcpUpdate, textBlock } from './updates.ts';
import { eachFolder } from '../../../../../test/support/each-folder.ts';

let workspace = '';
eachFolder('svc-acp-', (made) => {
  workspace = made;
});

const plain = (text: string): string => text;
const id = (digit: number): string => digit.toString(16).padStart(32, '0');
const said = (text: string, messageId = 'm'): AcpUpdate => ({
  sessionUpdate: 'agent_message_chunk',
  content: textBlock(text),
  messageId,
});
const asked = (text: string): AcpUpdate => ({ sessionUpdate: 'user_message_chunk', content: textBlock(text) });

describe('a session that is kept', () => {
  it('exists from its first prompt on, for its owner alone, with chunks of one message together', () => {
    const kept = new KeptSessions([workspace]);
    const session = kept.keep(id(1), '/home/me/project', plain);
    expect(kept.find(id(1))).toBeNull();
    session.begin('  Mend\n the cart  ');
    session.add(asked('Mend the cart'));
    session.add(said('Do'));
    session.add(said('ne.'));
    session.add(said('Next.', 'n'));
    session.flush();
    expect(kept.list()).toEqual([
      { sessionId: id(1), cwd: '/home/me/project', title: 'Mend the cart', updatedAt: expect.stringMatching(/Z$/) },
    ]);
    expect([...kept.updates(id(1))]).toEqual([asked('Mend the cart'), said('Done.'), said('Next.', 'n')]);
    const folder = join(workspace, '.svc', 'acp');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, `${id(1)}.jsonl`)).mode & 0o777).toBe(0o600);
    // Opened again it goes on, under the same name.
    const again = kept.keep(id(1), '/home/me/project', plain);
    again.begin('Another');
    again.add(asked('Another'));
    expect([...kept.updates(id(1))]).toHaveLength(4);
    expect(kept.find(id(1))?.title).toBe('Mend the cart');
  });

  it('holds no secret, also where it came in pieces', () => {
    const kept = new KeptSessions([workspace]);
    const session = kept.keep(id(1), '/p', (text) => text.replaceAll('sk-secret', '[secret]'));
    session.add(said('before the first prompt'));
    session.begin('my sk-secret');
    session.add(asked('my sk-secret'));
    session.add(said('your sk-'));
    session.add(said('secret'));
    session.flush();
    expect(kept.find(id(1))?.title).toBe('my [secret]');
    expect([...kept.updates(id(1))]).toEqual([asked('my [secret]'), said('your [secret]')]);
  });

  it('loses its oldest turns beyond 16 MiB', () => {
    const kept = new KeptSessions([workspace]);
    const session = kept.keep(id(1), '/p', plain);
    session.begin('long');
    for (let turn = 0; turn < 20; turn += 1) {
      session.add(asked(`turn ${turn}`));
      session.add(said('x'.repeat(1024 * 1024), String(turn)));
      session.flush();
    }
    const updates = [...kept.updates(id(1))];
    const turns = updates.filter(({ sessionUpdate }) => sessionUpdate === 'user_message_chunk');
    expect(updates[0]).toEqual(turns[0]);
    expect(turns.at(-1)).toEqual(asked('turn 19'));
    expect(turns.length).toBeGreaterThan(7);
    expect(turns.length).toBeLessThan(17);
    expect(statSync(join(workspace, '.svc', 'acp', `${id(1)}.jsonl`)).size).toBeLessThan(16 * 1024 * 1024 + 1);
    expect(kept.find(id(1))?.title).toBe('long');
  });

  it('makes room for the newest: 200 are kept', () => {
    const kept = new KeptSessions([workspace]);
    for (let number = 0; number < 201; number += 1) {
      kept.keep(id(number), '/p', plain).begin(`number ${number}`);
      const path = join(workspace, '.svc', 'acp', `${id(number)}.jsonl`);
      utimesSync(path, number, number);
    }
    const titles = kept.list().map(({ title }) => title);
    expect(titles).toHaveLength(200);
    expect([titles[0], titles.at(-1)]).toEqual(['number 200', 'number 1']);
  });

  it('excludes files of another kind, and other names', () => {
    const folder = join(workspace, '.svc', 'acp');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${id(2)}.jsonl`), 'no json\n');
    writeFileSync(join(folder, `${id(3)}.jsonl`), '{"version":2,"cwd":"/p","title":"x"}\n');
    writeFileSync(join(folder, 'other.jsonl'), '{"version":1,"cwd":"/p","title":"x"}\n');
    const kept = new KeptSessions([workspace]);
    expect(kept.list()).toEqual([]);
    for (const name of ['../../svc', 7, '', id(2).toUpperCase().replace('0', 'A')]) expect(kept.find(name)).toBeNull();
    writeFileSync(
      join(folder, `${id(4)}.jsonl`),
      '{"version":1,"cwd":"/p","title":"x"}\nno json\n{"sessionUpdate":"plan","entries":[]}\n{"cut',
    );
    expect([...kept.updates(id(4))]).toEqual([{ sessionUpdate: 'plan', entries: [] }]);
    expect(readdirSync(folder)).toHaveLength(4);
  });

  it('says where it cannot be kept', () => {
    writeFileSync(join(workspace, '.svc'), 'a file');
    expect(() => new KeptSessions([workspace]).keep(id(1), '/p', plain)).toThrow(Diagnostic);
    expect(readFileSync(join(workspace, '.svc'), 'utf8')).toBe('a file');
  });
});
