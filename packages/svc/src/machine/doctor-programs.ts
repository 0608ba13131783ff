/** Tries the programs of this machine as commands of a capsule, for `svc doctor --programs`. */

import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { removeTree } from '@svc/kit/files/remove-tree.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { containedEnvironment, containedTemporary } from '@svc/sandbox/contained-environment.ts';
import { type Containment, openPlace } from '@svc/sandbox/containment.ts';
import { systemFiles } from '@svc/sandbox/closure/file-collection.ts';
import { neededFiles } from '@svc/sandbox/closure/needed-files.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';
import { hostContainment, type HostFacts } from '@svc/sandbox/host-containment.ts';
import { minimalGrants, type ProcessGrants } from '@svc/sandbox/launch/process-grants.ts';
import { endProcess, OutputTail } from '@svc/sandbox/launched-process.ts';
import type { LaunchedProcess, Launcher } from '@svc/sandbox/launcher.ts';
import { toolchainVariables } from '@svc/sandbox/toolchain-variables.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { joined, jsonLine, say, type Shown } from '@svc/terminal/screen/shown.ts';
import { stopOnSignals } from '../command/stop-signals.ts';
import { ProgressLine } from '../shown/transfer-view.ts';
import { nextStep } from './next-step.ts';
import { everywhere, type ProgramTrial, programTrials, trialLimits } from './program-trials.ts';

const maxTrialMs = 120_000;
const endGraceMs = 2000;
const tailBytes = 16 * 1024;

/** What became of one piece of work. */
export interface TrialEnd {
  readonly works: boolean;
  /** Why it could not be started, was ended, or ran short; null where nothing of the kind was seen. */
  readonly stopped: string | null;
  /** The end of what it wrote on both outputs. */
  readonly said: string;
  /** Sentences of the launcher: what may keep it from running. */
  readonly problems: readonly string[];
}

type Outcome =
  | { readonly kind: 'absent'; readonly missing: readonly string[] }
  | ({ readonly kind: 'tried' } & TrialEnd);

interface Place {
  readonly facts: HostFacts;
  readonly containment: Containment;
  /** The `PATH` of this command. */
  readonly searchPath: string;
  readonly signal: AbortSignal;
}

/**
 * Does a small piece of work with each well-known program that is installed, in the strongest class of this host, and prints what works. Whether all
 * did that are there, and nobody interrupted it.
 */
export async function tryPrograms({
  facts,
  context,
  json,
}: {
  readonly facts: HostFacts;
  readonly context: CommandContext;
  readonly json: boolean;
}): Promise<boolean> {
  const containment = await hostContainment(facts);
  const { achieved, mechanism, reason } = containment;
  const stop = stopOnSignals(context);
  const searchPath = context.env['PATH'] ?? ['/usr/bin', '/bin'].join(delimiter);
  const place = { facts, containment, searchPath, signal: stop.signal };
  const line = new ProgressLine(context, context.stderr.isTerminal);
  const counts = { works: 0, fails: 0, absent: 0 };
  if (!json) context.stdout.write(heading(achieved, reason));
  try {
    for (const [index, trial] of programTrials.entries()) {
      line.show(`trying ${trial.name}, ${index + 1} of ${programTrials.length}`);
      const outcome = await outcomeOf(trial, place);
      line.show('');
      if (stop.signal.aborted) break;
      counts[resultOf(outcome)] += 1;
      const next =
        outcome.kind === 'tried' && !outcome.works
          ? nextStep({ trial, end: outcome, achieved, isHidden: hiddenFrom(trial, place) })
          : null;
      context.stdout.write(json ? objectOf(trial, outcome, next) : rowOf(trial, outcome, next));
    }
    const isWhole = !stop.signal.aborted;
    if (isWhole) context.stdout.write(json ? jsonLine({ class: achieved, mechanism, ...counts }) : summary(counts));
    return isWhole && counts.fails === 0;
  } finally {
    stop.dispose();
  }
}

/** Whether a path that is there is kept from the work; nothing is in `advisory`. */
function hiddenFrom(trial: ProgramTrial, { containment, searchPath }: Place): (path: string) => boolean {
  if (containment.achieved === 'advisory') return () => false;
  const programs = grantsOf(trial).commands.flatMap((name) => {
    const found = findProgram(name, searchPath);
    return found.kind === 'found' ? [found.path] : [];
  });
  const { read, execute } = neededFiles(programs, systemFiles, searchPath.split(delimiter).filter(isAbsolute));
  return (path) => {
    const real = unlessRefused(() => realpathSync(path), null);
    return real !== null && ![...read, ...execute].some((granted) => isBeneath(granted, real));
  };
}

async function outcomeOf(trial: ProgramTrial, place: Place): Promise<Outcome> {
  const missing = trial.programs.filter((name) => findProgram(name, place.searchPath).kind === 'refused');
  if (missing.length > 0) return { kind: 'absent', missing };
  return { kind: 'tried', ...(await tryOne(trial, place)) };
}

/** In a folder of its own, which is gone when this settles. */
async function tryOne(trial: ProgramTrial, place: Place): Promise<TrialEnd> {
  const folder = realpathSync(mkdtempSync(join(place.facts.temporaryDirectory, 'svc-programs-')));
  const [workdir, privateDirectory] = [join(folder, 'work'), join(folder, 'own')];
  try {
    for (const directory of [containedTemporary(workdir), privateDirectory]) mkdirSync(directory, { recursive: true });
    for (const [name, text] of Object.entries(trial.files)) {
      mkdirSync(dirname(join(workdir, name)), { recursive: true });
      writeFileSync(join(workdir, name), text);
    }
    const session = await openPlace(place.containment, { workdir, privateDirectory }, trialLimits);
    try {
      const grants = grantsOf(trial);
      return await run(trial, session.launcher(grants), { grants, workdir, place });
    } finally {
      await session.close();
    }
  } finally {
    await removeTree(folder);
  }
}

function grantsOf({ programs }: ProgramTrial): ProcessGrants {
  const commands = [...new Set([...everywhere, ...programs])];
  return { ...minimalGrants, commands, workdirExec: true, limits: trialLimits };
}

async function run(
  { script, prints }: ProgramTrial,
  launcher: Launcher,
  { grants, workdir, place }: { readonly grants: ProcessGrants; readonly workdir: string; readonly place: Place },
): Promise<TrialEnd> {
  const { containment, searchPath, signal } = place;
  const held = { PATH: searchPath };
  const { achieved } = containment;
  const env = {
    ...toolchainVariables(grants, workdir, achieved),
    ...containedEnvironment({ accessibleWorkdir: workdir, achieved, held, allow: [] }),
  };
  const outcome = await launcher.launch({ command: 'sh', args: ['-c', script], env, stdin: 'null' });
  if (outcome.kind === 'refused') {
    return { works: false, stopped: null, said: '', problems: [`it could not be started: ${outcome.reason}`] };
  }
  const { process: launched, problems = [] } = outcome;
  const isLate = limitTime(launched, signal);
  const [stdout, stderr] = [new OutputTail(tailBytes), new OutputTail(tailBytes)];
  const [end] = await Promise.all([launched.ended, stdout.read(launched.stdout), stderr.read(launched.stderr)]);
  const [limit = null] = launched.limitsReached?.() ?? [];
  const stopped = isLate() ? `it did not end within ${maxTrialMs / 1000} s` : limit;
  const works = !isLate() && end.kind === 'exited' && end.exitCode === 0 && shownOf(stdout) === prints.trim();
  const said = [stderr, stdout]
    .map(shownOf)
    .filter((text) => text !== '')
    .join('\n');
  return { works, stopped, said, problems };
}

/** Ends it after its time, or when the command is interrupted. The returned function says whether its time was over. */
function limitTime(launched: LaunchedProcess, signal: AbortSignal): () => boolean {
  let isLate = false;
  const end = (): void => void endProcess(launched, endGraceMs);
  const timer = setTimeout(() => {
    isLate = true;
    end();
  }, maxTrialMs);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  void launched.ended.then(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  });
  return () => isLate;
}

function resultOf(outcome: Outcome): 'works' | 'fails' | 'absent' {
  if (outcome.kind === 'absent') return 'absent';
  return outcome.works ? 'works' : 'fails';
}

function heading(achieved: string, reason: string | null): Shown {
  const weaker = reason === null ? '' : ` (no stronger class: ${reason})`;
  return say`Each is tried in ${achieved}, with workdir_exec and ${trialLimits.memory / 2 ** 20} MiB${weaker}.\n`;
}

function rowOf({ name, does, programs }: ProgramTrial, outcome: Outcome, next: string | null): Shown {
  if (outcome.kind === 'absent') return say`${'not installed'.padEnd(13)}  ${name}: ${outcome.missing.join(', ')}\n`;
  const first = say`${(outcome.works ? 'works' : 'does NOT work').padEnd(13)}  ${name}: ${does} (shell.allow: ${programs.join(', ')})\n`;
  if (next === null) return first;
  const told = tellingLine(outcome.said);
  return joined([
    first,
    ...(told === '' ? [] : [say`               it said: ${told}\n`]),
    say`               next: ${next}\n`,
  ]);
}

function objectOf({ name, does, programs }: ProgramTrial, outcome: Outcome, next: string | null): Shown {
  const said = outcome.kind === 'absent' || outcome.works ? null : outcome.said;
  const missing = outcome.kind === 'absent' ? outcome.missing : [];
  return jsonLine({ program: name, does, shell_allow: programs, result: resultOf(outcome), missing, said, next });
}

function summary({ works, fails, absent }: Readonly<Record<'works' | 'fails' | 'absent', number>>): Shown {
  return say`${works} work, ${fails} do not, ${absent} are not installed\n`;
}

/** Without colours. */
function shownOf(output: OutputTail): string {
  return stripVTControlCharacters(output.text()).trim();
}

/** The first line that sounds like what went wrong, else the last. */
function tellingLine(said: string): string {
  const lines = said.split('\n').filter((line) => line.trim() !== '');
  const isTelling = /\b(?:error|fatal|failed|cannot|could not|not found|denied|no such)\b/i;
  return lines.find((line) => isTelling.test(line)) ?? lines.at(-1) ?? '';
}
