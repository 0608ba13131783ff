import { readFileSync } from 'node:fs';

import { expect, it, onTestFinished } from 'vitest';

import { scriptCapsule } from '../support/script-capsule.ts';
import { svc } from '../support/svc-process.ts';

const page = readFileSync(new URL('../../docs/report-a-bug.md', import.meta.url), 'utf8');

it('docs/report-a-bug.md names commands that work in its order', async () => {
  const workspace = scriptCapsule();
  onTestFinished(() => workspace.remove());
  const run = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await svc(workspace, words);
    // A capsule of the tests runs with less containment, and svc warns a reader of its journal of that.
    expect({ words, code, errors: stderr.match(/^error/m) }).toEqual({ words, code: 0, errors: null });
    return stdout;
  };
  await run('run', '--task', 'Write a haiku');
  const [, session = ''] = /^…(\w+)/m.exec(await run('trace', 'list')) ?? [];
  const commands = [...page.matchAll(/`svc ([^`]+)`/g)].map(([, words = '']) => words.replace('<session>', session));
  expect(commands.length).toBe(8);
  for (const command of commands) {
    // The page has it that the last archive is one with its texts.
    if (command.endsWith('session.zip') && command.startsWith('run'))
      await run('trace', 'export', session, '-o', 'session.zip');
    await run(...command.split(' '));
  }
}, 120_000);
