import { describe, expect, it } from 'vitest';

import { MemoryTree } from '../../test/artifacts/memory-tree.ts';
import type { ToolOutput } from '@svc/guest/tool.ts';
import { edit } from './editor.ts';

const run = (tree: MemoryTree, args: object): ToolOutput => edit(tree, JSON.stringify(args));
const said = (tree: MemoryTree, args: object): string => {
  const { status, content } = run(tree, args);
  return status === 'passed' ? content : `failed: ${content}`;
};

describe('read', () => {
  const tree = new MemoryTree({
    'a.txt': 'one\ntwo\nthree\n',
    'crlf.txt': '\ufeffone\r\ntwo',
    'empty.txt': '',
    'blob.bin': Uint8Array.of(0x50, 0x00, 0x51),
    'latin1.txt': Uint8Array.of(0x63, 0x61, 0x66, 0xe9),
    'd/x.txt': 'x',
  });

  it('returns a file exactly as it is', () => {
    expect(run(tree, { command: 'read', path: 'a.txt' })).toEqual({
      status: 'passed',
      content: 'one\ntwo\nthree\n',
      truncated: false,
    });
    expect(said(tree, { command: 'read', path: './crlf.txt' })).toBe('\ufeffone\r\ntwo');
  });

  it('returns a range of lines', () => {
    expect(said(tree, { command: 'read', path: 'a.txt', start_line: 2, end_line: 2 })).toBe('two\n');
    expect(said(tree, { command: 'read', path: 'a.txt', start_line: 3, end_line: 99 })).toBe('three\n');
  });

  it.each([
    [{ path: 'b.txt' }, 'failed: b.txt does not exist'],
    [{ path: 'd' }, 'failed: d is a directory; use list'],
    [{ path: '../a.txt' }, 'failed: ../a.txt is outside the working directory'],
    [{ path: 'd/../../a.txt' }, 'failed: d/../../a.txt is outside the working directory'],
    [{ path: '' }, 'failed: path must name a file'],
    [{}, 'failed: path is missing'],
    [{ path: 'a\0b' }, 'failed: the path holds a NUL character'],
    [{ path: 'a\ud83db' }, 'failed: the path is not valid text'],
    [{ path: 'blob.bin' }, 'failed: blob.bin is a binary file of 3 bytes'],
    [{ path: 'latin1.txt' }, 'failed: latin1.txt is a binary file of 4 bytes'],
    [{ path: 'empty.txt' }, '[empty.txt is empty]'],
    [{ path: 'a.txt', start_line: 4 }, 'failed: a.txt has 3 lines; start_line 4 is past its end'],
    [{ path: 'a.txt', start_line: 3, end_line: 2 }, 'failed: end_line 2 is before start_line 3'],
  ])('answers %j clearly', (args, answer) => {
    expect(said(tree, { command: 'read', ...args })).toBe(answer);
  });

  it('cuts a long file at a line and says where to go on', () => {
    const long = new MemoryTree({ 'long.txt': `${'x'.repeat(99)}\n`.repeat(2000) });
    const { content, truncated } = run(long, { command: 'read', path: 'long.txt' });
    expect(truncated).toBe(true);
    expect(content.endsWith('x\n[cut after line 655 of 2000; read on with start_line 656]')).toBe(true);
    const rest = run(long, { command: 'read', path: 'long.txt', start_line: 1900 });
    expect(rest).toEqual({ status: 'passed', content: `${'x'.repeat(99)}\n`.repeat(101), truncated: false });
  });

  it('cuts a line that is too long by itself', () => {
    const { content, truncated } = run(new MemoryTree({ 'min.js': 'y'.repeat(70_000) }), {
      command: 'read',
      path: 'min.js',
    });
    expect(truncated).toBe(true);
    expect(content).toBe(`${'y'.repeat(65_536)}\n[line 1 of 1 is cut here; it is 70000 characters long]`);
  });

  it('does not open a file that is too large', () => {
    const huge = new MemoryTree({ 'huge.txt': new Uint8Array(17 * 1024 * 1024).fill(0x61) });
    expect(said(huge, { command: 'read', path: 'huge.txt' })).toBe(
      'failed: huge.txt is 17.0 MiB and is too large: the limit is 16.0 MiB',
    );
  });
});

describe('write', () => {
  it('makes a file with the directories above it', () => {
    const tree = new MemoryTree();
    expect(said(tree, { command: 'write', path: 'src/deep/a.txt', content: 'é' })).toBe(
      'created src/deep/a.txt (2 bytes)',
    );
    expect(tree.text('src/deep/a.txt')).toBe('é');
  });

  it('replaces a file, also by nothing', () => {
    const tree = new MemoryTree({ 'a.txt': 'old' });
    expect(said(tree, { command: 'write', path: 'a.txt', content: '' })).toBe('replaced a.txt (0 bytes)');
    expect(tree.text('a.txt')).toBe('');
  });

  it('refuses a directory, a link, a missing content and too much of it', () => {
    const tree = new MemoryTree({ 'd/x.txt': 'x' });
    tree.links.add('l');
    expect(said(tree, { command: 'write', path: 'd', content: '' })).toBe('failed: d is a directory');
    expect(said(tree, { command: 'write', path: 'l', content: '' })).toBe(
      'failed: l is a symbolic link; name the file it points to',
    );
    expect(said(tree, { command: 'write', path: 'a.txt' })).toBe('failed: content is missing');
    const content = 'x'.repeat(4 * 1024 * 1024 + 1);
    expect(said(tree, { command: 'write', path: 'a.txt', content })).toBe(
      'failed: the content is larger than the limit of 4.0 MiB',
    );
  });
});

describe('patch', () => {
  const patch = (text: string, args: object): readonly [string, string] => {
    const tree = new MemoryTree({ 'a.txt': text });
    return [said(tree, { command: 'patch', path: 'a.txt', ...args }), tree.text('a.txt')];
  };

  it('replaces what occurs once, literally', () => {
    expect(patch('a\nb\nc\n', { old_text: 'b\n', new_text: '$&$1\n' })).toEqual([
      'patched a.txt: 1 replacement at line 2, between\n1: a\n3: c',
      'a\n$&$1\nc\n',
    ]);
  });

  it.each([
    ['1\n2\n3\nx\n5\n6\n7\n', 'x', 'y\nz', 'at line 4, between\n2: 2\n3: 3\n6: 5\n7: 6'],
    ['1\n2\n3\nx\n5\n6\n7\n', '3\nx\n', '', 'at line 3, between\n1: 1\n2: 2\n3: 5\n4: 6'],
    [`a\r\nx\r\n${'b'.repeat(1000)}`, 'x\r\n', 'y\r\n', `at line 2, between\n1: a\n3: ${'b'.repeat(200)}`],
    ['ab\n', 'a', 'c', 'at line 1'],
    ['x\n\n\n', 'x', 'y', 'at line 1, between\n2: \n3: '],
  ])('in %j shows the two lines on each side of what replaced %j', (text, old_text, new_text, where) => {
    expect(patch(text, { old_text, new_text })[0]).toBe(`patched a.txt: 1 replacement ${where}`);
  });

  it('keeps a byte order mark', () => {
    expect(patch('\ufeffab', { old_text: 'b', new_text: 'c' })[1]).toBe('\ufeffac');
  });

  it('does nothing when the text occurs more than once, and says where', () => {
    expect(patch('x\ny\nx\n', { old_text: 'x', new_text: 'z' })).toEqual([
      'failed: old_text occurs 2 times in a.txt, at lines 1, 3; add lines around it until it occurs once, or set all',
      'x\ny\nx\n',
    ]);
  });

  it('replaces every occurrence when asked to', () => {
    expect(patch('x\nx\nx\n', { old_text: 'x\n', new_text: '', all: true })).toEqual([
      'patched a.txt: 3 replacements at lines 1, 2, 3',
      '',
    ]);
  });

  it.each([
    ['abc', { old_text: 'z', new_text: '' }, 'failed: old_text does not occur in a.txt'],
    [
      'if (a) {\n\tb\n}',
      { old_text: 'if (a) {\n  b\n}', new_text: '' },
      'failed: old_text does not occur in a.txt; it does with other white space, so read the file and copy it exactly',
    ],
    [
      'a\r\nb\r\n',
      { old_text: 'a\nb', new_text: '' },
      'failed: old_text does not occur in a.txt; its lines end with CR LF, so the line breaks of old_text must be \\r\\n',
    ],
    ['abc', { old_text: '', new_text: 'x' }, 'failed: old_text is empty; use write for a new file'],
    ['abc', { old_text: 'a', new_text: 'a' }, 'failed: old_text and new_text are the same'],
    ['abc', { old_text: 'a' }, 'failed: new_text is missing'],
  ])('in %j answers %j clearly', (text, args, answer) => {
    expect(patch(text, args)).toEqual([answer, text]);
  });
});

describe('list', () => {
  const tree = new MemoryTree({ 'b.txt': '', 'a/y.txt': '', 'a/b/x.txt': '', 'Z.md': '', '.git/HEAD': '' });
  tree.links.add('link');

  it('names what is in a directory, in order', () => {
    expect(said(tree, { command: 'list' })).toBe('.git/\nZ.md\na/\nb.txt\nlink@');
  });

  it('goes below when asked to, but not into .git', () => {
    expect(said(tree, { command: 'list', path: '.', recursive: true })).toBe(
      '.git/\nZ.md\na/\na/b/\na/b/x.txt\na/y.txt\nb.txt\nlink@',
    );
    expect(said(tree, { command: 'list', path: 'a/', recursive: true })).toBe('a/b/\na/b/x.txt\na/y.txt');
  });

  it('goes on past a directory that it cannot list', () => {
    const partly = new MemoryTree({ 'a/x.txt': '', 'b/y.txt': 'y' });
    partly.locked.add('a');
    expect(said(partly, { command: 'list', recursive: true })).toBe(
      'a/ [not listed: a may not be accessed]\nb/\nb/y.txt',
    );
    expect(said(partly, { command: 'list', path: 'a' })).toBe('failed: a may not be accessed');
    expect(said(partly, { command: 'search', pattern: 'y' })).toBe(
      'b/y.txt:1: y\n[skipped 1 binary, large or unreadable entry]',
    );
  });

  it('says what is no directory, not there, or empty', () => {
    expect(said(tree, { command: 'list', path: 'b.txt' })).toBe('failed: b.txt is not a directory; use read');
    expect(said(tree, { command: 'list', path: 'c' })).toBe('failed: c does not exist');
    expect(said(new MemoryTree(), { command: 'list' })).toBe('[the working directory is empty]');
  });

  it('stops after a thousand entries', () => {
    const many = new MemoryTree(
      Object.fromEntries(Array.from({ length: 1200 }, (_, index) => [`f${String(index).padStart(4, '0')}`, ''])),
    );
    const { content, truncated } = run(many, { command: 'list' });
    expect(truncated).toBe(true);
    expect(content.split('\n').slice(-2)).toEqual(['f0999', '[cut after 1000 entries; list a directory below]']);
  });
});

describe('search', () => {
  const tree = new MemoryTree({
    'src/a.py': 'import os\n\ndef run():\n    return OS.name\n',
    'src/b.py': 'os\r\n',
    'logo.png': Uint8Array.of(0x89, 0x00),
    '.git/config': 'os',
  });

  it('finds lines with their place', () => {
    expect(said(tree, { command: 'search', pattern: 'os' })).toBe(
      'src/a.py:1: import os\nsrc/b.py:1: os\n[skipped 1 binary, large or unreadable entry]',
    );
  });

  it('finds without regard to case, by expression, and in one file', () => {
    const search = (args: object): string => said(tree, { command: 'search', path: 'src/a.py', ...args });
    expect(search({ pattern: 'os', ignore_case: true })).toBe('src/a.py:1: import os\nsrc/a.py:4:     return OS.name');
    expect(search({ pattern: '^def \\w+\\(\\)', regex: true })).toBe('src/a.py:3: def run():');
    expect(search({ pattern: '^RETURN|name$', regex: true, ignore_case: true })).toBe('src/a.py:4:     return OS.name');
    expect(search({ pattern: '.*' })).toBe('no line matches in src/a.py');
  });

  it('says what it cannot look for', () => {
    expect(said(tree, { command: 'search', pattern: '' })).toBe('failed: pattern is empty');
    expect(said(tree, { command: 'search', pattern: 'x', path: 'none' })).toBe('failed: none does not exist');
    expect(said(tree, { command: 'search', pattern: '(', regex: true })).toContain(
      'failed: pattern is not a regular expression: ',
    );
  });

  it('stops after two hundred matches and cuts long lines', () => {
    const many = new MemoryTree({ 'a.txt': `${'x'.repeat(400)}\n`.repeat(300) });
    const { content, truncated } = run(many, { command: 'search', pattern: 'x' });
    const lines = content.split('\n');
    expect(truncated).toBe(true);
    expect(lines).toHaveLength(201);
    expect(lines[0]).toBe(`a.txt:1: ${'x'.repeat(300)}…`);
    expect(lines[200]).toBe('[stopped after 200 matches; search a directory below or a narrower pattern]');
  });
});

describe('a call that makes no sense', () => {
  it.each([
    ['{"command":"delete"}', 'command must be one of read, write, patch, list, search'],
    ['{}', 'command is missing'],
    ['[]', 'the arguments must be a JSON object'],
    ['', 'the arguments must be a JSON object'],
  ])('%s is answered clearly', (text, content) => {
    expect(edit(new MemoryTree(), text)).toEqual({ status: 'failed', content, truncated: false });
  });
});
