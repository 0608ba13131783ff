import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { History } from './history.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let home: string;
let file: string;

eachFolder('svc-history-', (made) => {
  home = made;
  file = join(home, '.svc', 'history');
});

function open(): History {
  const { history, warning } = History.open(home, { isKept: true });
  expect(warning).toBeNull();
  return history;
}

/** What is remembered, newest first. */
function all({ history }: { history: History }): string[] {
  history.restart();
  const texts: string[] = [];
  for (let text = history.previous(''); text !== null; text = history.previous('')) texts.push(text);
  return texts;
}

function write(text: string): void {
  mkdirSync(join(home, '.svc'), { recursive: true });
  writeFileSync(file, text);
}

describe('the history', () => {
  it('lasts to the next chat, in the order of the last use, for this user alone', () => {
    const history = open();
    for (const text of ['one', 'two\nlines', 'three', 'three', 'one', ' secret', ''])
      expect(history.add(text)).toBeNull();
    expect(all({ history: open() })).toEqual(['one', 'three', 'two\nlines']);
    expect(all({ history })).toEqual(['one', 'three', 'two\nlines']);
    expect(readFileSync(file, 'utf8')).toBe('"one"\n"two\\nlines"\n"three"\n"one"\n');
    expect([statSync(file).mode & 0o777, statSync(join(home, '.svc')).mode & 0o777]).toEqual([0o600, 0o700]);
  });

  it('goes back and forth, and returns to what was being written', () => {
    const history = open();
    for (const text of ['one', 'two']) history.add(text);
    expect([history.next(), history.previous('draft'), history.previous('two'), history.previous('one')]).toEqual([
      null,
      'two',
      'one',
      null,
    ]);
    expect([history.next(), history.next(), history.next()]).toEqual(['two', 'draft', null]);
  });

  it('finds what was typed, the newest first', () => {
    const history = open();
    for (const text of ['mend the parser', 'write a test', 'mend the writer']) history.add(text);
    expect(history.search('mend')).toEqual({ text: 'mend the writer', index: 2 });
    expect(history.search('mend', 2)).toEqual({ text: 'mend the parser', index: 0 });
    expect([history.search('mend', 0), history.search('nowhere'), history.search('')]).toEqual([null, null, null]);
  });

  it('stays unread and unwritten where it is not wanted', () => {
    open().add('before');
    const { history } = History.open(home, { isKept: false });
    history.add('now');
    expect(all({ history })).toEqual(['now']);
    expect(readFileSync(file, 'utf8')).toBe('"before"\n');
  });

  it('keeps the newest thousand', () => {
    write(Array.from({ length: 1098 }, (_, index) => `"${index}"\n`).join(''));
    const history = open();
    expect(all({ history })).toHaveLength(1000);
    history.add('a');
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(1100);
    history.add('b');
    const kept = readFileSync(file, 'utf8').split('\n');
    expect([kept.length, kept[0], kept.slice(-3)]).toEqual([1001, '"100"', ['"a"', '"b"', '']]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('remembers a very long text until the chat ends', () => {
    const history = open();
    history.add('x'.repeat(64 * 1024 + 1));
    expect([all({ history }).length, all({ history: open() })]).toEqual([1, []]);
  });

  it('adds behind a line that was written in part', () => {
    write('"one"\n"tw');
    History.open(home, { isKept: true }).history.add('three');
    expect(readFileSync(file, 'utf8')).toBe('"one"\n"tw\n"three"\n');
  });

  it('closes a file that others can read', () => {
    write('"one"\n');
    chmodSync(file, 0o644);
    expect(all({ history: open() })).toEqual(['one']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('passes over lines that are no texts, and says so', () => {
    write('"one"\n{"a":1}\nnot json\n""\n"\\ud83d"\n"two"\n');
    const { history, warning } = History.open(home, { isKept: true });
    expect(all({ history })).toEqual(['two', '\uD83D', 'one']);
    expect([warning?.code, warning?.message]).toEqual(['W-RUN-128', '~/.svc/history has lines that are no texts: 3']);
  });

  it('reads the end of a file of 1 GB, and cuts it', () => {
    write('');
    truncateSync(file, 1024 ** 3);
    writeFileSync(file, '\n"one"\n"two"\n', { flag: 'a' });
    const { history, warning } = History.open(home, { isKept: true });
    expect(all({ history })).toEqual(['two', 'one']);
    expect(warning?.message).toBe('~/.svc/history is longer than 4 MiB: only its end was read');
    expect(history.add('three')).toBeNull();
    expect(readFileSync(file, 'utf8')).toBe('"one"\n"two"\n"three"\n');
  });

  it.each([
    ['a link', 'a link', () => symlinkSync(join(home, 'elsewhere'), file)],
    ['a directory', 'a directory', () => mkdirSync(file)],
    ['a device', 'a link', () => symlinkSync('/dev/zero', file)],
  ])('ignores %s, and writes nothing there', (_name, what, make) => {
    mkdirSync(join(home, '.svc'));
    writeFileSync(join(home, 'elsewhere'), '"theirs"\n');
    make();
    const { history, warning } = History.open(home, { isKept: true });
    expect([warning?.code, warning?.message]).toEqual(['W-RUN-128', `~/.svc/history is ${what}`]);
    expect(history.add('one')?.code).toBe('W-RUN-128');
    expect(history.add('two')).toBeNull();
    expect(all({ history })).toEqual(['two', 'one']);
    expect(readFileSync(join(home, 'elsewhere'), 'utf8')).toBe('"theirs"\n');
  });

  it('goes on without a place for its file, with one warning', () => {
    writeFileSync(join(home, '.svc'), '');
    const { history, warning } = History.open(home, { isKept: true });
    expect(warning?.message).toBe('~/.svc/history cannot be read: a link or a file stands in its way');
    expect([history.add('one')?.code, history.add('two'), all({ history })]).toEqual([
      'W-RUN-128',
      null,
      ['two', 'one'],
    ]);
  });

  it('leaves the file of another user alone', (context) => {
    context.skip(process.getuid?.() !== 0, 'needs root, to give a file to another user');
    write('"theirs"\n');
    chownSync(file, 12_345, 12_345);
    const { history, warning } = History.open(home, { isKept: true });
    expect(warning?.message).toBe('~/.svc/history is of another user');
    expect(history.add('one')?.message).toBe('~/.svc/history is of another user');
    expect([all({ history }), readFileSync(file, 'utf8')]).toEqual([['one'], '"theirs"\n']);
  });
});
