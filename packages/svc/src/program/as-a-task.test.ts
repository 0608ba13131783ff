import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { describe, expect, it } from 'vitest';

import { nextStep } from './as-a-task.ts';

/** What follows the message of the real parser for a line of such a command. */
function said(...words: readonly string[]): string {
  const root = new Command('svc').exitOverride().configureOutput({ writeErr: () => {} });
  const made = new Command('new')
    .addArgument(new Argument('<kind>').choices(['capsule', 'tool']))
    .addOption(new Option('--containment <class>').choices(['advisory', 'scoped', 'sealed']))
    .option('--write', 'write')
    .option('--port <n>', 'port', () => {
      throw new InvalidArgumentError('it must be a number');
    })
    .action(() => {});
  root.addCommand(made.copyInheritedSettings(root));
  try {
    root.parse(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return nextStep(error, words, root).text;
    throw error;
  }
  return 'taken';
}

describe('what follows the message about a wrong command line', () => {
  it.each([
    [['new', 'capsul'], '(Did you mean capsule?)\n'],
    [['new', 'tool', '--containment', 'seeled'], '(Did you mean sealed?)\n'],
    [['new', 'tool', '--containment', 'none at all'], ''],
    [['new', "'x' is invalid. Allowed choices are tool"], ''],
    [['new', 'tool', '--port', 'x'], ''],
    [['new', 'tool', '--write=yes'], '--write takes no value: it is given or left out\n'],
    [['new', 'tool', '--wright=yes'], 'svc new --help shows what it takes\n'],
    [['new', 'tool'], 'taken'],
  ])('fits %j', (words, step) => {
    expect(said(...words)).toBe(step);
  });

  it.each([
    [['do it', 'now'], 'to give it as a task: svc "do it now"\n'],
    [['--write', 'do it', 'now'], 'the task is one argument, in quotes: svc "<task>"\n'],
    [['new', 'tool', 'x'], 'svc new --help shows what it takes\n'],
  ])('fits a line with a word too many, %j', (words, step) => {
    const error = { code: 'commander.excessArguments', message: 'error: too many arguments.' };
    expect(nextStep(error, words, null).text).toBe(step);
  });

  it('says of --trust that svc run does without', () => {
    const error = { code: 'commander.unknownOption', message: "error: unknown option '--trust'" };
    expect(nextStep(error, ['run', '--trust'], null).text).toBe(
      'svc run needs no --trust: it runs the manifest that is named, ./svc.yaml without a name\n',
    );
  });

  it.each([
    ['why?', 'to give it as a task: svc -p "why?"\n'],
    ['it-fails', 'to give it as a task: svc -p it-fails\n'],
  ])('puts the one word %s in quotes where a shell would not take it as it is', (word, step) => {
    const error = { code: 'commander.unknownCommand', message: 'error: unknown command' };
    expect(nextStep(error, [word], null).text).toBe(step);
  });
});
