import { mkdirSync, symlinkSync } from 'node:fs';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { Component } from '@svc/components/component.ts';
import type { InputAnswer, ToolOutcome } from '@svc/session/tools/tool.ts';
import { createWasmTool } from '@svc/session/tools/wasm-tool.ts';
import { BundledArtifacts } from './bundled-artifact.ts';
import { TestFolder } from './test-folder.ts';
import { aloneCall } from '../support/quiet-calls.ts';

let artifacts: BundledArtifacts;
beforeAll(async () => {
  artifacts = await BundledArtifacts.open();
}, 300_000);
afterAll(async () => await artifacts.close());

async function callTool(
  component: Component,
  args: Readonly<Record<string, unknown>>,
  requestInput: (prompt: string) => Promise<InputAnswer> = async () => ({ kind: 'timed-out' }),
): Promise<ToolOutcome> {
  const tool = createWasmTool({ name: 'tool', description: '', inputSchema: {}, component, deadlineMs: 20_000 });
  const context = { taskId: 't', callId: null, emitText: () => {}, emitThinking: () => {}, requestInput, ...aloneCall };
  return await tool.call(args, { ...context, signal: new AbortController().signal });
}

describe('svc-tool-request-input as it ships', () => {
  const ask = async (answer: InputAnswer): Promise<ToolOutcome> =>
    await callTool(artifacts.component('svc-tool-request-input'), { prompt: 'Which?' }, async () => answer);

  it('passes on the answer', async () => {
    expect(await ask({ kind: 'answered', text: 'the blue one 🐟' })).toMatchObject({
      status: 'passed',
      content: 'the blue one 🐟',
    });
  });

  it('asks with half a character in the question', async () => {
    const asked: string[] = [];
    const output = await callTool(
      artifacts.component('svc-tool-request-input'),
      { prompt: 'a\ud83db' },
      async (prompt) => {
        asked.push(prompt);
        return { kind: 'answered', text: 'c' };
      },
    );
    expect(asked).toEqual(['a\ufffdb']);
    expect(output.status).toBe('passed');
  });

  it('fails with the reason when nobody answers', async () => {
    expect(await ask({ kind: 'timed-out' })).toMatchObject({ status: 'failed', content: 'input-timeout' });
  });
});

describe('svc-tool-editor as it ships', () => {
  let outside: TestFolder;
  let folder: TestFolder;
  let editor: Component;

  const open = (writable: boolean): Component =>
    artifacts.component('svc-tool-editor', { preopens: [{ guestPath: '/', hostPath: folder.path, writable }] });
  const said = async (args: Readonly<Record<string, unknown>>): Promise<string> => {
    const { status, content } = await callTool(editor, args);
    return status === 'passed' ? content : `failed: ${content}`;
  };

  beforeEach(() => {
    outside = new TestFolder();
    outside.write('secret.txt', 'secret');
    folder = new TestFolder();
    folder.write('src/main.py', 'print("héllo")\n');
    editor = open(true);
  });
  afterEach(async () => {
    await editor.close();
    folder.remove();
    outside.remove();
  });

  it('writes, reads, patches, lists and searches', async () => {
    expect(await said({ command: 'write', path: 'docs/new/a.md', content: '# Ü 🎈\n' })).toBe(
      'created docs/new/a.md (10 bytes)',
    );
    expect(folder.read('docs/new/a.md')).toBe('# Ü 🎈\n');
    expect(await said({ command: 'patch', path: 'src/main.py', old_text: 'héllo', new_text: 'wörld' })).toBe(
      'patched src/main.py: 1 replacement at line 1',
    );
    expect(folder.read('src/main.py')).toBe('print("wörld")\n');
    expect(await said({ command: 'read', path: '/src/main.py' })).toBe('print("wörld")\n');
    expect(await said({ command: 'list', recursive: true })).toBe('docs/\ndocs/new/\ndocs/new/a.md\nsrc/\nsrc/main.py');
    expect(await said({ command: 'search', pattern: 'W.RLD', regex: true, ignore_case: true })).toBe(
      'src/main.py:1: print("wörld")',
    );
  });

  it('finds what lies in directories that are given beside the first, whatever lies at their place', async () => {
    symlinkSync(outside.path, folder.at('project'));
    const project = new TestFolder();
    project.write('cart.js', 'total\n');
    await editor.close();
    const given = ['/project', '/state/notes', '/.svc/home'];
    editor = artifacts.component('svc-tool-editor', {
      preopens: [
        { guestPath: '/', hostPath: folder.path, writable: true, masked: [] },
        ...given.map((guestPath) => ({ guestPath, hostPath: project.path, writable: false })),
      ],
    });
    expect(await said({ command: 'list' })).toBe('.svc/\nproject/\nsrc/\nstate/');
    expect(await said({ command: 'list', path: 'project' })).toBe('project/cart.js');
    expect(await said({ command: 'list', path: 'state' })).toBe('state/notes/');
    expect(await said({ command: 'list', path: '.svc' })).toBe('.svc/home/');
    expect(await said({ command: 'search', pattern: 'total' })).toBe(
      '.svc/home/cart.js:1: total\nproject/cart.js:1: total\nstate/notes/cart.js:1: total',
    );
    expect(await said({ command: 'write', path: 'project/cart.js', content: '' })).toBe(
      'failed: project/cart.js cannot be changed: the working directory is read-only',
    );
    project.remove();
  }, 60_000);

  it('leaves nothing beside a file it has replaced', async () => {
    await said({ command: 'write', path: 'src/main.py', content: 'pass\n' });
    expect(folder.names('src')).toEqual(['main.py']);
  });

  it('writes and reads megabytes', async () => {
    const content = 'Zeile mit Ümlaut 🎈\n'.repeat(100_000);
    expect(await said({ command: 'write', path: 'big.txt', content })).toBe('created big.txt (2.2 MiB)');
    expect(folder.read('big.txt')).toBe(content);
    expect(await said({ command: 'read', path: 'big.txt', start_line: 99_999 })).toBe(
      'Zeile mit Ümlaut 🎈\n'.repeat(2),
    );
  });

  it('takes text with half a character in it', async () => {
    expect(await said({ command: 'write', path: 'half.txt', content: 'a\ud83db' })).toBe('created half.txt (5 bytes)');
    expect(folder.read('half.txt')).toBe('a\ufffdb');
    expect(await said({ command: 'read', path: 'a\ud83db' })).toBe('failed: the path is not valid text');
  });

  it('says what is missing, a directory, or beneath a file', async () => {
    expect(await said({ command: 'read', path: 'none.txt' })).toBe('failed: none.txt does not exist');
    expect(await said({ command: 'read', path: 'src' })).toBe('failed: src is a directory; use list');
    expect(await said({ command: 'write', path: 'src', content: '' })).toBe('failed: src is a directory');
    expect(await said({ command: 'write', path: 'src/main.py/x', content: '' })).toBe(
      'failed: src/main.py/x is not a directory, or something above it is not',
    );
    expect(await said({ command: 'write', path: `${'n'.repeat(300)}.txt`, content: '' })).toContain(
      'is too long a name',
    );
  });

  it('reaches nothing outside, by no name and by no link', async () => {
    symlinkSync(outside.at('secret.txt'), folder.at('file-link'));
    symlinkSync(outside.path, folder.at('dir-link'));
    symlinkSync('../'.repeat(20), folder.at('up-link'));
    for (const path of [
      'file-link',
      'dir-link/secret.txt',
      `up-link${outside.path}/secret.txt`,
      outside.at('secret.txt'),
    ]) {
      expect(await said({ command: 'read', path })).toMatch(/^failed: /);
    }
    expect(await said({ command: 'write', path: 'dir-link/new.txt', content: 'x' })).toMatch(/^failed: /);
    expect(await said({ command: 'write', path: 'file-link', content: 'x' })).toBe(
      'failed: file-link is a symbolic link; name the file it points to',
    );
    expect(await said({ command: 'list', path: 'dir-link' })).toMatch(/^failed: /);
    expect(await said({ command: 'search', pattern: 'secret' })).not.toContain('secret.txt:1');
    expect(outside.names()).toEqual(['secret.txt']);
    expect(outside.read('secret.txt')).toBe('secret');
  });

  it('changes nothing where it may only read', async () => {
    await editor.close();
    editor = open(false);
    expect(await said({ command: 'read', path: 'src/main.py' })).toBe('print("héllo")\n');
    expect(await said({ command: 'write', path: 'src/main.py', content: '' })).toMatch(/^failed: src\/main\.py /);
    expect(await said({ command: 'write', path: 'new/a.txt', content: '' })).toMatch(/^failed: new /);
    expect(folder.names()).toEqual(['src']);
    expect(folder.read('src/main.py')).toBe('print("héllo")\n');
  });

  it('goes on past what it cannot search', async () => {
    mkdirSync(folder.at('.git'));
    folder.write('.git/config', 'print');
    folder.write('blob', Uint8Array.of(0, 1, 2));
    symlinkSync('main.py', folder.at('src/again.py'));
    expect(await said({ command: 'search', pattern: 'print' })).toBe(
      'src/main.py:1: print("héllo")\n[skipped 1 binary, large or unreadable entry]',
    );
  });

  it('has no files at all when none are granted', async () => {
    await editor.close();
    editor = artifacts.component('svc-tool-editor');
    expect(await said({ command: 'list' })).toBe('failed: this capsule gives the editor no files');
  });
});
