import { CommanderError } from 'commander';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { runCommand } from './run-command.ts';
import { plainRunOptions } from './run-options.ts';

const sessionId = 'ses_0123456789abcdef0123456789abcdef';

/** What the parser of command lines makes of the same words; null where it refuses them. */
function parsed(words: readonly string[]): unknown {
  let options: unknown = null;
  const command = runCommand({} as CommandContext)
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {} })
    .action((given) => {
      options = given;
    });
  try {
    command.parse(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
  }
  return options;
}

const names =
  '--json --offline --no-env-file --spawn-approval-stdin --manifest --task --workdir --bind --containment --capture --capture-ceiling ' +
  '--spawned-by --session-id --stop-within --env-file --capsule -p --print --replay --verbose --explain-scope -- - --jso';
const values = ['', ' ', 'a', '0', '7', '007', '99999999999', 'sealed', 'content', 'none', sessionId, '-1', '--json'];
const joinedWords = ['--manifest=x', '--json=x', '-px', 'toString', '__proto__'];

describe('the plain lines of svc run', () => {
  it('cover those that programs write', () => {
    expect(plainRunOptions([])).toEqual({ manifest: './svc.yaml', bind: '127.0.0.1', envFile: true });
    const ofProgram = ['--json', '--offline', '--manifest', '/a/svc.yaml', '--no-env-file', '--bind', '::1'];
    expect(plainRunOptions([...ofProgram, '--task', 'Say so.', '--workdir', 'w', '--containment', 'scoped'])).toEqual({
      json: true,
      offline: true,
      manifest: '/a/svc.yaml',
      envFile: false,
      bind: '::1',
      task: 'Say so.',
      workdir: 'w',
      containment: 'scoped',
    });
    const ofParent = ['--spawn-approval-stdin', '--spawned-by', '17', '--session-id', sessionId, '--stop-within', '9'];
    expect(plainRunOptions([...ofParent, '--capture-ceiling', 'meta', '--capture', 'none'])).toEqual({
      manifest: './svc.yaml',
      bind: '127.0.0.1',
      envFile: true,
      spawnApprovalStdin: true,
      spawnedBy: 17,
      sessionId,
      stopWithin: 9,
      captureCeiling: 'meta',
      capture: 'none',
    });
  });

  it.each([
    ['an option that it does not know', ['--jsn']],
    ['what only the parser knows', ['-v']],
    ['a manifest that may be a folder', ['--manifest', '.']],
    ['an option without its value', ['--manifest']],
    ['a value that looks like an option', ['--manifest', '--json']],
    ['a value in the word of its option', ['--manifest=x']],
    ['an option that is there twice', ['--json', '--json']],
    ['a value that the parser refuses', ['--spawned-by', '0']],
    ['a name of every object', ['toString', 'x']],
    ['a word too many', ['x']],
  ])('do not have %s', (_what, words) => {
    expect(plainRunOptions(words)).toBeNull();
  });

  it('mean what the parser makes of them', () => {
    const word = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...names.split(' ')) },
      fc.constantFrom(...values, ...joinedWords),
    );
    const pair = fc.tuple(fc.constantFrom(...names.split(' ')), fc.constantFrom(...values));
    const line = fc.array(
      fc.oneof(
        word.map((one) => [one]),
        pair,
      ),
      { maxLength: 7 },
    );
    let plain = 0;
    fc.assert(
      fc.property(line, (parts) => {
        const words = parts.flat();
        const options = plainRunOptions(words);
        if (options === null) return;
        plain += 1;
        expect(options).toStrictEqual(parsed(words));
      }),
      { numRuns: 5000 },
    );
    expect(plain).toBeGreaterThan(200);
  });
});
