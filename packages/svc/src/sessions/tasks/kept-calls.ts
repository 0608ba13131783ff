/** Lists the calls that were approved for every session of a manifest, and forgets them. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import {
  changeKept,
  type KeptApprovals,
  type KeptCall,
  keptPaths,
  readKept,
  removeKept,
} from '@svc/record/sessions/kept-approvals.ts';
import { shortestSuffix } from '@svc/record/sessions/session-names.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';

interface ListedCall extends KeptCall, Pick<KeptApprovals, 'manifest'> {
  readonly path: string;
}

/** Warns of each file that does not count. */
export function listKept(context: CommandContext): readonly ListedCall[] {
  return keptPaths(context.home).flatMap((path) => {
    try {
      const { manifest = '', calls = [] } = readKept(path) ?? {};
      return calls.map(({ key, id, at, by, call }) => ({ key, id, at, by, call, manifest, path }));
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      context.stderr.write(render([error], context));
      return [];
    }
  });
}

/** `svc approve --forget`: one call, or all of this user. `E-APR-003` where none or several have the id. */
export async function forget(
  wanted: string | undefined,
  { json }: { readonly json?: boolean },
  context: CommandContext,
): Promise<void> {
  if (wanted === undefined)
    throw nothing('what is to be forgotten is not named', 'give an id of svc approve --list, or all');
  const kept = listKept(context);
  const fits = kept.filter(({ id }) => wanted === 'all' || id === wanted || isEnd(wanted, id));
  if (wanted === 'all') for (const path of keptPaths(context.home)) await removeKept(path);
  else if (fits.length !== 1)
    throw nothing(
      `${fits.length === 0 ? 'no' : 'more than one'} call is kept under this id`,
      'svc approve --list shows what is kept',
    );
  else for (const call of fits) await changeKept(call.path, (now) => without(now, call));
  const forgotten = fits.map(({ id }) => id);
  context.stdout.write(json === true ? jsonLine({ forgotten }) : say`forgot ${forgotten.length} of ${kept.length}\n`);
}

function without(kept: KeptApprovals | null, { key }: KeptCall): KeptApprovals | null {
  const calls = (kept?.calls ?? []).filter((each) => each.key !== key);
  return kept === null || calls.length === 0 ? null : { ...kept, calls };
}

export function isEnd(wanted: string, id: string): boolean {
  return wanted.length >= shortestSuffix && id.endsWith(wanted);
}

export function nothing(why: string, hint = 'svc approve --list shows what waits'): Diagnostic {
  return new Diagnostic('E-APR-003', `nothing was answered: ${why}`, { hint });
}
