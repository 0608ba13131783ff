import { describe, expect, it } from 'vitest';

import { isInterpreter } from './interpreters.ts';

describe('an interpreter', () => {
  it.each(['sh', 'bash', 'python', 'python3', 'python3.12', 'node', 'lua5.4', 'ruby-3.2', 'python312', 'perl5.36.0'])(
    'has a name such as %s',
    (command) => {
      expect(isInterpreter(command)).toBe(true);
    },
  );

  it.each(['git', 'ls', 'nodemon', 'bashful', 'cat2', 'python3-config', 'node20.js', ''])(
    'has no name such as %s',
    (command) => {
      expect(isInterpreter(command)).toBe(false);
    },
  );
});
