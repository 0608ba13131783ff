/** The option `--plain` of commands that show a session. */

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';

export const plainFlag = '--plain';
export const plainHelp = 'print plain lines and never redraw; Markdown stays as it was written';

/** What a command prints to where the option is given: whole lines, one behind the other, as a screen reader reads them. */
export async function shownPlainly(context: CommandContext, isPlain: boolean | undefined): Promise<CommandContext> {
  if (isPlain !== true) return context;
  const { terminalOf } = await import('@svc/terminal/screen/terminal-kind.ts');
  const { stdout, stderr } = context;
  const env = { ...context.env, SVC_PLAIN: '1' };
  const terminal = terminalOf(env);
  // The folder and the home are looked up when they are asked for.
  return Object.setPrototypeOf(
    {
      env,
      stdout: stdout.isTerminal ? stdout.on(terminal) : stdout,
      stderr: stderr.isTerminal ? stderr.on(terminal) : stderr,
    },
    context,
  ) as CommandContext;
}
