/** Makes the attempts of `svc doctor --containment` and prints their outcome. */

import { accessSync, constants } from 'node:fs';
import { delimiter } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { hostContainment, type HostFacts, findHelper } from '@svc/sandbox/host-containment.ts';
import { toolNames } from '@svc/sandbox-check/attempt-tools.ts';
import {
  attemptProgramBeside,
  type AttemptResult,
  classesUnderTest,
  type ClassUnderTest,
  makeAttempts,
} from '@svc/sandbox-check/attempt-suite.ts';
import { formatSeen } from '@svc/sandbox-check/attempt.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, say, type Shown } from '@svc/terminal/screen/shown.ts';
import { stopOnSignals } from '../command/stop-signals.ts';

interface Counts {
  asPromised: number;
  notAsPromised: number;
  notMade: number;
}

/**
 * Makes the attempts to break out in each class that this host gives and prints what became of each, a line each. Whether all was as
 * promised and all were made.
 */
export async function checkContainment({
  facts,
  context,
  json,
}: {
  readonly facts: HostFacts;
  readonly context: CommandContext;
  readonly json: boolean;
}): Promise<boolean> {
  requireProgram(facts);
  const classes = await classesUnderTest(facts);
  if (classes.length === 0) {
    const { reason } = await hostContainment(facts);
    context.stderr.write(say`this host enforces nothing, so there is nothing to check: ${reason ?? ''}\n`);
  }
  const stop = stopOnSignals(context);
  const searchPath = context.env['PATH'] ?? ['/usr/bin', '/bin'].join(delimiter);
  try {
    let isSound = true;
    for (const each of classes) {
      if (stop.signal.aborted) break;
      if (context.stderr.isTerminal) {
        context.stderr.write(say`making ${each.attempts.length} attempts in ${each.class}\n`);
      }
      const counts: Counts = { asPromised: 0, notAsPromised: 0, notMade: 0 };
      for await (const result of makeAttempts(each, { facts, searchPath, signal: stop.signal })) {
        count(counts, result);
        context.stdout.write(json ? resultLine(each.class, result) : textLine(each.class, result));
      }
      if (!stop.signal.aborted) context.stdout.write(summary(each, counts, json));
      isSound &&= counts.notAsPromised === 0 && !stop.signal.aborted;
    }
    return isSound;
  } finally {
    stop.dispose();
  }
}

/** Throws `E-CAP-015` when the helper is there without the program that makes the attempts. */
function requireProgram(facts: HostFacts): void {
  const helper = findHelper(facts);
  if (helper === null) return;
  const program = attemptProgramBeside(helper);
  if (unlessRefused(() => (accessSync(program, constants.X_OK), true), false)) return;
  throw new Diagnostic('E-CAP-015', `${printable(program)} is missing; svc doctor --containment needs it`, {
    hint: 'install svc anew; in a checkout, npm run build:native puts it there',
  });
}

function count(counts: Counts, result: AttemptResult): void {
  if (result.kind === 'not made') counts.notMade++;
  else if (result.judgement === 'not as promised') counts.notAsPromised++;
  else counts.asPromised++;
}

function textLine(wanted: ContainmentClass, result: AttemptResult): Shown {
  const { attempt, promised } = result;
  const name = `${wanted.padEnd(8)}  ${attempt.name}: ${attempt.title}`;
  if (result.kind === 'not made') return say`not made            ${name} (there is no ${toolNames[result.lacking]})\n`;
  const mark = result.judgement === 'not as promised' ? 'NOT as promised' : 'ok';
  const remark = promised === 'open' ? ', and nothing is promised' : promised === 'works' ? ', as it is granted' : '';
  return say`${mark.padEnd(18)}  ${name} (${formatSeen(result.seen)}${remark})\n`;
}

function resultLine(wanted: ContainmentClass, result: AttemptResult): Shown {
  const { attempt, promised } = result;
  const outcome =
    result.kind === 'made'
      ? { seen: formatSeen(result.seen), as_promised: result.judgement !== 'not as promised' }
      : { seen: null, as_promised: null, lacking: result.lacking };
  return jsonLine({ class: wanted, attempt: attempt.name, title: attempt.title, promised, ...outcome });
}

function summary({ class: wanted, containment }: ClassUnderTest, counts: Counts, json: boolean): Shown {
  const { asPromised, notAsPromised, notMade } = counts;
  if (json) {
    const summed = { as_promised: asPromised, not_as_promised: notAsPromised, not_made: notMade };
    return jsonLine({ class: wanted, mechanism: containment.mechanism, ...summed });
  }
  const rest = [
    ...(notAsPromised === 0 ? [] : [`${notAsPromised} NOT as promised`]),
    ...(notMade === 0 ? [] : [`${notMade} not made`]),
  ];
  return say`${wanted}: ${[`${asPromised} as promised`, ...rest].join(', ')}\n`;
}
