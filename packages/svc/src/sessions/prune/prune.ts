/** The command `svc prune`: removes what is kept of sessions that have ended, or artifacts that no project needs. */

import { dirname, join, relative } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { firstNames } from '@svc/kit/diagnostics/printable.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { shownBytes, shownMinute } from '@svc/kit/shown-values.ts';
import { readRunningRecords, type RunningRecord } from '@svc/record/sessions/running-record.ts';
import { sessionsFolders, type WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import { mayRun } from '@svc/record/sessions/live-sessions.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { askYes, canAsk } from '@svc/terminal/screen/ask-yes.ts';
import { jsonLine, say, type Shown } from '@svc/terminal/screen/shown.ts';
import { ageOf } from '../../command/age.ts';
import { placesOf } from '../../command/project.ts';
import { manifestFlag, manifestHelp } from '../../command/session-arguments.ts';
import { ProgressLine } from '../../shown/transfer-view.ts';
import {
  findPrunable,
  openPlace,
  type Prunable,
  type PruneRequest,
  type StartingSessions,
  workdirFolder,
} from './find-prunable.ts';
import { removeAside, setAside } from './remove-aside.ts';
import { findUnneeded } from './unneeded-artifacts.ts';

interface PruneOptions extends WorkspaceOption {
  readonly keep: number;
  readonly older?: string;
  readonly caches?: boolean;
  readonly artifacts?: boolean;
  readonly global?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** What became of it, as `--json` says it; `listed` of `--dry-run`. */
type Outcome = 'listed' | 'removed' | 'runs' | 'left';

const columns: readonly Column[] = [
  { title: 'WHAT' },
  { title: 'FROM', keeps: 10 },
  { title: 'SIZE' },
  { title: 'NAME', keeps: 8 },
];

const usuallyKept = 20;

/** `svc prune`: lists what can go, asks, and removes it. What runs, what `--workdir` named and recorded tests stay. */
export function pruneCommand(context: CommandContext): Command {
  return new Command('prune')
    .description('Remove what is kept of sessions that have ended, or artifacts that are not needed any more.')
    .option('--keep <n>', 'how many of the newest sessions stay', wholeNumber, usuallyKept)
    .option('--older <age>', 'remove only what is older: 12h, 30d, 8w')
    .option('--caches', 'remove ~/.svc/cache of the user too')
    .option('--artifacts', "instead: artifacts in the project's store that svc.lock does not name")
    .option('-g, --global', "with --artifacts: those in the user's store that no svc.lock of your projects names")
    .option('--dry-run', 'list what would be removed, and remove nothing')
    .option('--yes', 'do not ask')
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--json', 'write one JSON object per thing')
    .action(async (options: PruneOptions, command: Command) => {
      refuseMixed(options, command);
      const line = new ProgressLine(context, context.stderr.isTerminal);
      const request = requestOf(context, options, line);
      const isGlobal = options.global === true;
      const found = options.artifacts === true ? await findUnneeded(request, isGlobal) : await findPrunable(request);
      line.show('');
      if (found.length === 0) {
        context.stderr.write(say`there is nothing to remove in ${isGlobal ? '~/.svc/artifacts' : request.root}\n`);
      } else if (options.dryRun === true) {
        list(found, context, options);
      } else if (await isWanted(found, request.root, { context, options })) {
        await remove(found, request, { context, line, isJson: options.json === true });
      }
    });
}

/** Options for sessions do not fit `--artifacts`. */
function refuseMixed({ artifacts, global, caches }: PruneOptions, command: Command): void {
  if (artifacts !== true && global === true) command.error('error: --global is for --artifacts');
  const isKept = command.getOptionValueSource('keep') === 'cli';
  if (artifacts === true && (caches === true || isKept)) {
    command.error('error: --artifacts cannot stand beside --keep and --caches, which are about sessions');
  }
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('it must be a whole number, 0 or more');
}

function requestOf(context: CommandContext, options: PruneOptions, line: ProgressLine): PruneRequest {
  const nowMs = systemClock.now();
  const { manifestDir } = placesOf(context, options.manifest);
  return {
    ...(options.artifacts === true ? { root: manifestDir, also: null } : workspacesOf(context, options)),
    testsRoot: manifestDir,
    home: context.home,
    keep: options.keep,
    beforeMs: options.older === undefined ? Infinity : nowMs - ageOf('--older', options.older),
    caches: options.caches === true,
    nowMs,
    onProgress: (text) => line.show(text),
    onStarting: (starting) => {
      line.show('');
      context.stderr.write(startingRow(starting));
    },
    onProblem: (problem) => {
      line.show('');
      context.stderr.write(render([problem], context));
    },
  };
}

/** In a folder that is no workspace, that of tasks without a manifest, as `svc sessions` lists them. */
function workspacesOf(context: CommandContext, options: PruneOptions): Pick<PruneRequest, 'root' | 'also'> {
  const home = join(context.home, '.svc');
  const roots = sessionsFolders(context, options).map((folder) => dirname(dirname(folder)));
  const [first = home, ...others] = roots.toSorted((a, b) => Number(isBeneath(home, a)) - Number(isBeneath(home, b)));
  const [other] = others;
  return { root: first, also: other === undefined ? null : `~/.svc/${relative(home, other)}` };
}

function startingRow({ ids: [first, ...rest], untilMs }: StartingSessions): Shown {
  // A minute is shown without its seconds: by the next one the time is over.
  const at = shownMinute(untilMs + 60_000);
  if (rest.length === 0) {
    return say`1 session may still be starting: it can be removed after ${at}, or with svc trace rm ${first}\n`;
  }
  const names = firstNames([first, ...rest], 1);
  return say`${rest.length + 1} sessions may still be starting: they can be removed after ${at}, or with svc trace rm (${names})\n`;
}

function list(found: readonly Prunable[], { stdout }: CommandContext, { json }: PruneOptions): void {
  if (json === true) for (const each of found) stdout.write(jsonLine(objectOf(each, 'listed')));
  else stdout.write(renderTable(columns, found.map(rowOf), stdout));
}

function rowOf({ kind, name, bytes, atMs }: Prunable): readonly string[] {
  return [kind, shownMinute(atMs), shownBytes(bytes), name];
}

function objectOf({ kind, name, places, bytes, atMs }: Prunable, outcome: Outcome): Record<string, unknown> {
  return { kind, name, paths: places.map((each) => `${each.folder}/${each.name}`), bytes, at_ms: atMs, outcome };
}

/** Asks on a terminal. `E-RUN-126` without `--yes` where nobody can be asked. */
async function isWanted(
  found: readonly Prunable[],
  root: string,
  { context, options }: { readonly context: CommandContext; readonly options: PruneOptions },
): Promise<boolean> {
  if (options.yes === true) return true;
  const what = `${found.length === 1 ? '1 thing' : `${found.length} things`}, ${shownBytes(sizeOf(found))}`;
  if (!canAsk(context)) {
    throw new Diagnostic('E-RUN-126', `svc prune would remove ${what}, and there is nobody to ask`, {
      hint: 'the same command with --dry-run lists them, with --yes removes them without asking',
    });
  }
  context.stderr.write(renderTable(columns, found.map(rowOf), context.stderr));
  if (await askYes(context, say`remove ${what} of ${root}? [y/N] `)) return true;
  context.stderr.write(say`nothing was removed\n`);
  return false;
}

function sizeOf(found: readonly Prunable[]): number {
  return found.reduce((sum, { bytes }) => sum + bytes, 0);
}

interface Printing {
  readonly context: CommandContext;
  readonly line: ProgressLine;
  readonly isJson: boolean;
}

/** `E-IO-001` when something is left, after all the rest. */
async function remove(
  found: readonly Prunable[],
  request: PruneRequest,
  { context, line, isJson }: Printing,
): Promise<void> {
  const removed: Prunable[] = [];
  const left: Left[] = [];
  for (const each of found) {
    line.show(`removing ${removed.length + 1} of ${found.length}, ${shownBytes(each.bytes)}`);
    const rest = hasBegun(each, request) ? 'runs' : await removeAll(each, request);
    const outcome = rest === 'runs' ? rest : rest === null ? 'removed' : 'left';
    if (rest === null) removed.push(each);
    else if (rest !== 'runs') left.push(rest);
    if (isJson) context.stdout.write(jsonLine(objectOf(each, outcome)));
    else if (outcome === 'runs') line.say(`${each.name} runs, and stays`);
  }
  line.show('');
  context.stderr.write(say`removed ${removed.length} of ${found.length}, ${shownBytes(sizeOf(removed))}\n`);
  if (left.length > 0) throw leftFault(left);
}

/** Something that was to be removed, and is not. */
interface Left {
  readonly places: Prunable['places'];
  /** What the system said first; null where it only refused something inside. */
  readonly refusal: Error | null;
  /** The first path inside that is left, and why: `<path>: <reason>`. */
  readonly inside: string | null;
  /** Whether a part is gone. */
  readonly isPart: boolean;
}

/** The fault, in the words of the first refusal. */
function leftFault(left: readonly Left[]): Diagnostic {
  const { places = [], isPart = false, inside = null } = left[0] ?? {};
  const paths = places.map(({ folder, name }) => `${folder}/${name}`).join(', ');
  const what = isPart
    ? `${left.length} of them cannot be removed whole: a part of ${paths} is left${inside === null ? '' : `: ${inside}`}`
    : `${left.length} of them cannot be removed: all of ${paths} is left`;
  const refusal = left.find((each) => each.refusal !== null)?.refusal ?? null;
  const fault = refusal === null ? null : ioFault(refusal, what);
  const { message, hint } = fault instanceof Diagnostic ? fault : { message: what, hint: undefined };
  return new Diagnostic('E-IO-001', message, {
    hint: hint ?? 'check the owner and the permissions of what is in it, and run the command again',
  });
}

/** Checks again just before removal: the user may have taken minutes to answer. */
function hasBegun({ kind, name, places }: Prunable, request: PruneRequest): boolean {
  if (kind === 'rest') return false;
  const records = readRunningRecords(request.home);
  // A session reads its archives late.
  if (kind === 'artifact') return records.some((record) => mayRead(record, places, request));
  if (kind === 'cache' || kind === 'server') return records.length > 0;
  if (kind === 'capsule') return records.some((record) => name.startsWith(`${record.name}-${record.version}-`));
  const running = new Set<string>(records.map(({ session_id: id }) => id));
  const hasWorkdir = places.some(({ folder }) => folder.endsWith(workdirFolder));
  const isUsed = hasWorkdir && records.some(({ workdir }) => workdir.split('/').includes(name));
  if (running.has(name) || isUsed) return true;
  const [place] = places;
  const folder = kind !== 'session' || place === undefined ? null : openPlace(request, place.folder);
  if (folder === null) return false;
  try {
    return mayRunIn(folder, name, running);
  } finally {
    folder.close();
  }
}

function mayRead(
  { session_directory: directory }: RunningRecord,
  [place]: Prunable['places'],
  { root }: PruneRequest,
): boolean {
  return typeof directory !== 'string' || place?.folder.startsWith('~/') === true || isBeneath(root, directory);
}

function mayRunIn(sessions: HeldDirectory, id: string, running: ReadonlySet<string>): boolean {
  // Another removal may have been faster.
  const session = unlessRefused(() => sessions.enter(id), null);
  if (session === null) return false;
  try {
    return mayRun(session, running, systemClock.now());
  } finally {
    session.close();
  }
}

/** Everything of it is set aside before the first part is removed. Returns null when all of it is gone. */
async function removeAll({ places }: Prunable, request: PruneRequest): Promise<Left | null> {
  const asides: { readonly held: HeldDirectory; readonly folder: string; readonly name: string }[] = [];
  let refusal: Error | null = null;
  let inside: string | null = null;
  try {
    for (const { folder, name } of places) {
      const held = openPlace(request, folder);
      const aside = held === null ? null : setAside(held, name);
      if (aside instanceof Error) refusal ??= aside;
      if (held !== null && aside !== null && !(aside instanceof Error)) asides.push({ held, folder, name: aside.name });
      else held?.close();
    }
    for (const { held, folder, name } of asides) {
      const left = await removeAside(held, name);
      if (left !== null) inside ??= `${folder}/${left.path}: ${left.reason}`;
    }
  } finally {
    for (const { held } of asides) held.close();
  }
  return refusal === null && inside === null ? null : { places, refusal, inside, isPart: asides.length > 0 };
}
