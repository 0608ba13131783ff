import { runInThisContext } from 'node:vm';

import { describe, expect, it } from 'vitest';

import { glueScript } from './glue-script.ts';

const module =
  '"use components";\nexport function instantiate(a) {\n  return a + 1;\n}\n\nexport const _util = {\n  \n}\n';

describe('the glue script', () => {
  it('has the linking function for its value', () => {
    const script = runInThisContext(glueScript(module)) as (lifting: object) => (a: number) => number;
    expect(script({})(1)).toBe(2);
  });

  it('has everything counted that is copied out of memory', () => {
    const lifts = `
    const decoder = new TextDecoder('utf-16');
    for (let i = 0; i < len5; i++) {
      const base = base5 + i * 12;
      var result4 = new Uint8Array(memory0.buffer.slice(ptr4, ptr4 + len4 * 1));
    }
    _debugLog('[iface="a:b/c@1.0.0", function="d"] [Instruction::CallInterface] (sync, @ enter)');`;
    expect(glueScript(module.replace('  return a + 1;', lifts))).toContain(`
    const decoder = lifting.decoder('utf-16');
    lifting.items(len5, 12);
    for (let i = 0; i < len5; i++) {
      const base = base5 + i * 12;
      var result4 = new Uint8Array(lifting.bytes(memory0.buffer, ptr4, ptr4 + len4 * 1));
    }
    lifting.arrived();
    _debugLog(`);
  });

  it.each([
    ['exports nothing', 'const a = 1;\n'],
    [
      'exports something else too',
      module.replace('\n\nexport const _util', '\nexport const more = 1;\nexport const _util'),
    ],
    ['copies memory in a way that is not counted', module.replace('a + 1', 'a.buffer.slice(0)')],
    [
      'copies a list in a way that is not counted',
      module.replace('return', 'for (let i = 0; i < len5; i++);\n  return'),
    ],
    ['asks where it is', module.replace('a + 1', 'import.meta.url')],
  ])('cannot come from a module that %s', (_, source) => {
    expect(() => glueScript(source)).toThrow('the compiler wrote a module of an unknown form');
  });
});
