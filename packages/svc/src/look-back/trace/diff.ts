/** The command `svc trace diff`: says where two sessions differ, or why a prompt cache could not hold within one. */

import { Command } from 'commander';

import { runSync } from '@svc/kit/yield-to-loop.ts';
import { shownDuration } from '@svc/kit/shown-values.ts';
import { type CacheMiss, type CacheStep, cacheSteps } from '@svc/record/journal/cache-misses.ts';
import { comparing } from '@svc/record/journal/comparison.ts';
import { damaged } from '@svc/record/journal/journal-reader.ts';
import type { Damage } from '@svc/record/journal/journal-scan.ts';
import { fixedDifference } from '@svc/record/journal/divergence-facts.ts';
import type { OpenJournal, WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import { turnOf } from '@svc/record/journal/records.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { pageOf } from '@svc/terminal/screen/page.ts';
import { jsonLine, say, Shown } from '@svc/terminal/screen/shown.ts';
import { manifestFlag, manifestHelp, sessionHelp, withJournal } from '../../command/session-arguments.ts';
import { renderDivergence } from './divergence-view.ts';

interface DiffOptions extends WorkspaceOption {
  readonly json?: boolean;
}

/** `svc trace diff <a> [b]` */
export function diffCommand(context: CommandContext): Command {
  return new Command('diff')
    .description(
      'Say where two sessions differ; for one session, why the prompt cache could not hold between its requests.',
    )
    .argument('<a>', sessionHelp.replace('; the newest when absent', ''))
    .argument('[b]', 'another session; without it the requests of the first are compared with each other')
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--json', 'write one JSON object; of one session, one for each request')
    .action(async (a: string, b: string | undefined, options: DiffOptions) => {
      await withJournal(context, a, options, async (first) => {
        if (b === undefined) writeCache(first, options, context);
        else await withJournal(context, b, options, (second) => writeDivergence(first, second, { options, context }));
      });
    });
}

function writeDivergence(
  a: OpenJournal,
  b: OpenJournal,
  { options, context }: { readonly options: DiffOptions; readonly context: CommandContext },
): void {
  const { comparison, damage } = runSync(comparing(a, b));
  const { parting: facts } = comparison;
  if (options.json === true) context.stdout.write(jsonLine(comparison));
  else if (facts === null) context.stdout.write(say`the same except for ids and times\n`);
  else context.stdout.write(Shown.cleaned(renderDivergence(pageOf(context.stdout), facts), 'laid out'));
  if (damage !== null) throw damaged(damage);
}

function writeCache({ reader }: OpenJournal, options: DiffOptions, context: CommandContext): void {
  const damages: Damage[] = [];
  let [count, held] = [0, 0];
  for (const step of cacheSteps(reader.skim((damage) => void damages.push(damage)))) {
    count += 1;
    if (step.misses.length === 0) held += 1;
    if (options.json === true) context.stdout.write(jsonLine(cacheFacts(step)));
    else if (step.misses.length > 0) context.stdout.write(cacheRow(step, reader));
  }
  if (options.json !== true) {
    context.stdout.write(
      say`requests that go on from another: ${count}; the prompt cache could hold for ${held} of them\n`,
    );
  }
  const [damage] = damages;
  if (damage !== undefined) throw damaged(damage);
}

function cacheRow({ request, before, same, misses }: CacheStep, reader: OpenJournal['reader']): Shown {
  const turn = turnOf(request.start.e) ?? 0;
  const reasons = misses.map((miss) => reasonOf(miss, { before, request }, reader)).join('; ');
  return say`#${request.step}  turn ${turn}, after #${before.step}: ${reasons} (the same up to message ${same} of ${request.length})\n`;
}

function reasonOf(
  miss: CacheMiss,
  { before, request }: Pick<CacheStep, 'before' | 'request'>,
  reader: OpenJournal['reader'],
): string {
  switch (miss.kind) {
    case 'fixed':
      return `${fixedDifference(before.start.fixed, request.start.fixed, [reader, reader])?.part ?? 'fixed part'} changed`;
    case 'compaction':
      return 'compaction';
    case 'message':
      return `message ${miss.index + 1} changed`;
    case 'pause':
      return `${shownDuration(miss.ms)} since the last answer`;
  }
}

function cacheFacts({ request, before, same, misses }: CacheStep): Record<string, unknown> {
  return {
    step: request.step,
    before: before.step,
    messages: request.length,
    same_messages: same,
    misses: misses.map((miss) => (miss.kind === 'message' ? { kind: 'message', message: miss.index + 1 } : miss)),
  };
}
