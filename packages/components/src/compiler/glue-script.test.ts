import { runInThisContext } from 'node:vm';

import { describe, expect, it } from 'vitest';

import { glueScript } from './glue-script.ts';

const module =
  '"use components";\nexport function instantiate(a) {\n  return a + 1;\n}\n\nexport const _util = {\n  \n}\n';

describe('the glue script', () => {
  it('has the linking function for its value', () => {
    const instantiate = runInThisContext(glueScript(module)) as (a: number) => number;
    expect(instantiate(1)).toBe(2);
  });

  it.each([
    ['exports nothing', 'const a = 1;\n'],
    [
      'exports something else too',
      module.replace('\n\nexport const _util', '\nexport const more = 1;\nexport const _util'),
    ],
    ['asks where it is', module.replace('a + 1', 'import.meta.url')],
  ])('is not made of a module that %s', (_, source) => {
    expect(() => glueScript(source)).toThrow('the compiler wrote a module of an unknown form');
  });
});
