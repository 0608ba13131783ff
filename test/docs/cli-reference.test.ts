import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { commands } from '@svc/svc/program/commands.ts';
import { Output } from '@svc/terminal/screen/output.ts';

const reference = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
const context = {
  cwd: '/',
  home: '/',
  env: {},
  stdout: new Output(() => new PassThrough()),
  stderr: new Output(() => new PassThrough()),
};

/** The text below `## \`svc <name>\`` up to the next heading. */
function sectionOf(name: string): string {
  return new RegExp(`^## \`svc ${name}\`\n([^]*?)(?=^## |$(?![^]))`, 'm').exec(reference)?.[1] ?? '';
}

describe('docs/cli.md', () => {
  // What begins with `__` is for programs alone.
  it.each(commands.filter(({ name }) => !name.startsWith('__')))(
    'describes svc $name with each of its options',
    async ({ name, load }) => {
      const make = await load();
      const command = make(context);
      const options = [command, ...command.commands].flatMap((each) => each.options).filter(({ hidden }) => !hidden);
      const section = sectionOf(name);
      expect(section).not.toBe('');
      expect(options.map(({ long }) => long).filter((long) => !section.includes(`\`${long}`))).toEqual([]);
      const below = command.commands.map((each) => `svc ${name} ${each.name()}`);
      expect(below.filter((each) => !section.includes(`\`${each}`))).toEqual([]);
    },
  );
});
