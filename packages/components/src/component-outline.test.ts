import { describe, expect, it } from 'vitest';

import { askedFor, worldOf } from './component-outline.ts';

const importing = (...imports: string[]): { imports: string[]; exports: string[] } => ({ imports, exports: [] });

describe('the world of a component', () => {
  it.each([
    ['svc:tool/run@0.1.0', 'tool'],
    ['svc:driver/inference@0.9.0', 'driver'],
    ['svc:hook/lifecycle', 'hook'],
    ['wasi:cli/run@0.2.0', null],
    ['constructor', null],
  ])('becomes, from %s, %s', (name, world) => {
    expect(worldOf({ imports: [], exports: ['wasi:io/poll@0.2.0', name] })).toBe(world);
  });

  it('depends on what it exports, and on nothing that it imports', () => {
    expect(worldOf(importing('svc:tool/run@0.1.0'))).toBeNull();
  });
});

describe('what a component asks for', () => {
  it('has one order, with each thing once', () => {
    const names = importing(
      'svc:runtime/inference@0.1.0',
      'svc:task/task@0.1.0',
      'wasi:cli/environment@0.2.12',
      'wasi:http/outgoing-handler@0.2.11',
      'wasi:filesystem/types@0.2.11',
      'wasi:filesystem/preopens@0.2.12',
    );
    expect(askedFor(names)).toEqual(['filesystem', 'network', 'env', 'task', 'model']);
  });

  it('stays empty for what reaches nothing outside', () => {
    const names = importing('wasi:io/streams@0.2.12', 'svc:text/chunks@0.1.0', 'wasi:http/types@0.2.11', 'toString');
    expect(askedFor(names)).toEqual([]);
  });
});
