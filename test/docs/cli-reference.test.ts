/** Holds docs/cli.md to the commands that there are. */

import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { commandTree } from '@svc/svc/program/command-tree.ts';
import { commands } from '@svc/svc/program/commands.ts';
import { Output } from '@svc/terminal/screen/output.ts';
import { describedOptions, withCommandLists } from './support/command-lists.ts';

const path = fileURLToPath(new URL('../../docs/cli.md', import.meta.url));
const page = readFileSync(path, 'utf8');
const context = {
  cwd: '/',
  home: '/',
  env: {},
  stdout: new Output(() => new PassThrough()),
  stderr: new Output(() => new PassThrough()),
};

describe('docs/cli.md', () => {
  it('has a section of each command, in the order of the help', async () => {
    const tree = await commandTree(commands, context);
    const headings = page.matchAll(/^## `(svc \w+)`$/gm);
    expect([...headings].map(([, name]) => name)).toEqual(tree.commands.map((each) => `svc ${each.name()}`));
  });

  // `npx vitest run test/docs -u` writes them.
  it('has the lists that the commands make', async () => {
    await expect(withCommandLists(page, await commandTree(commands, context))).toMatchFileSnapshot(path);
  });

  it('keeps what commands say apart from what the page adds', async () => {
    expect(describedOptions(await commandTree(commands, context)).filter((text) => /\. /.test(text))).toEqual([]);
  });
});
