import { describe } from 'vitest';

import { holdsOverCases } from './skill-ceiling-properties.ts';

describe('the lists of skills in use, over many cases', () => {
  holdsOverCases(50_000);
});
