/** Serves for command lines of `svc serve` that need no parser, as programs write them: the first answer does not wait until one is loaded. */

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { plainRunOptions } from '../run/run-options.ts';
import type { ServedOptions } from './run-served.ts';

const ofBoth = ['--manifest', '--containment', '--offline', '--no-env-file'];
/** The options of `svc run` that the command of a protocol takes. */
const taken: Readonly<Record<string, readonly string[]>> = { acp: ofBoth, mcp: [...ofBoth, '--workdir', '--project'] };

/** `words` are what follows `svc serve`. False for a line, good or bad, that the parser is to have; nothing has been done then. */
export async function servedPlainly(
  [protocol = '', ...words]: readonly string[],
  context: CommandContext,
): Promise<boolean> {
  const options = plainOptions(Object.hasOwn(taken, protocol) ? (taken[protocol] ?? []) : null, words);
  if (options === null) return false;
  if (protocol === 'acp') {
    const { serveAcp } = await import('./acp/serve-acp.ts');
    await serveAcp(options, context);
  } else {
    const { serveMcp } = await import('./serve-mcp.ts');
    process.exitCode = await serveMcp(options, context);
  }
  return true;
}

function plainOptions(names: readonly string[] | null, words: readonly string[]): ServedOptions | null {
  if (names === null || words.some((word) => word.startsWith('-') && !names.includes(word))) return null;
  const options = plainRunOptions(words);
  if (options === null) return null;
  const { bind: _, ...served } = options;
  return served;
}
