import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { BundledChild } from './bundled-child.ts';
import { run, sources } from './judged-lines.ts';
import { users } from './native/support/launch.ts';
import { needsClass } from './needs-class.ts';

let program: BundledChild;

beforeAll(async () => {
  program = await BundledChild.of('judged-programs-child.ts');
});

afterAll(() => program.remove());

describe.each(users)('the programs that a program of %s starts', (_name, user) => {
  it.for(['sealed', 'scoped'] as const)(
    'do nothing with words that are denied in %s, though another thread changes the words in 2,500 starts',
    { timeout: 300_000 },
    async (ceiling, context) => {
      await needsClass(context, ceiling);
      const [raced, after] = await run(program, user, { ceiling, names: ['p0'], sources }, ['./p1 2500', 'ls']);
      expect(raced?.out).toMatch(/^\d+ killed, 0 failed\n$/);
      const killed = Number.parseInt(raced?.out ?? '', 10);
      // It would show nothing if one of the two were always there first.
      expect(killed).toBeGreaterThan(10);
      expect(killed).toBeLessThan(2500);
      expect(raced?.seen.filter(({ argv }) => argv.includes('push'))).toHaveLength(killed);
      expect(after?.out).not.toContain('marked');
    },
  );
});
