import { describe, expect, it } from 'vitest';

import { statePath } from './state-paths.ts';

describe('a state store', () => {
  it('is a folder of its name below /state', () => {
    expect(statePath('notes')).toBe('/state/notes');
  });
});
