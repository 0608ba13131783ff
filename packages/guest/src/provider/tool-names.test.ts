import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { aliasToolNames } from './tool-names.ts';

const tool = (name: string) => ({ name, description: '', inputSchema: '{}' });

describe('tool names at a provider', () => {
  it('stay what they are where a provider accepts them', () => {
    const names = aliasToolNames([tool('svc-tool-editor')]);
    expect(names.toProvider('svc-tool-editor')).toBe('svc-tool-editor');
    expect(names.fromProvider('svc-tool-editor')).toBe('svc-tool-editor');
  });

  it('are replaced where it does not', () => {
    const names = aliasToolNames([tool('g++'), tool('g--'), tool('g__')]);
    expect(names.toProvider('g++')).toBe('g___2');
    expect(names.toProvider('g__')).toBe('g__');
    expect(names.fromProvider('g___2')).toBe('g++');
  });

  it('come back unchanged when the model made them up', () => {
    expect(aliasToolNames([tool('a')]).fromProvider('made.up')).toBe('made.up');
  });

  it('are always accepted, never shared, and found again', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1, maxLength: 90 }), { maxLength: 12 }), (given) => {
        const names = aliasToolNames(given.map(tool));
        const aliases = given.map((name) => names.toProvider(name));
        expect(new Set(aliases).size).toBe(given.length);
        for (const alias of aliases) expect(alias).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        expect(aliases.map((alias) => names.fromProvider(alias))).toEqual(given);
      }),
    );
  });
});
