/** Runs a command contained, in folders that it has to itself, for programs that know nothing of capsules. */

import { buffer } from 'node:stream/consumers';
import { pipeline, type Readable, Transform } from 'node:stream';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { removeTree } from '@svc/kit/files/remove-tree.ts';
import type { EgressDecision } from '../egress/egress-rules.ts';
import { endProcess } from '../launched-process.ts';
import type { SessionContainment } from '../session-containment.ts';
import type { LaunchedProcess, LaunchEnd } from '../launcher.ts';
import { containedTemporary } from '../contained-environment.ts';
import { environmentIn, grantsIn, type LoweredRequest, lowerRequest } from './lower-request.ts';
import { containmentOf, ownSurroundings } from './own-host.ts';
import type { Ended, Launched, LaunchRequest, Output, Refusal } from './requests.ts';
import { StartRefusal } from './start-refusal.ts';

/** Between being asked to end and being ended. */
const graceMs = 2000;
const maxGathered = 64 * 1024 ** 2;
const maxRefusals = 1000;

/**
 * Starts a command that can do no more than it is granted. Settles once its program runs; throws a `SandboxError` when nothing was started, never
 * for what the command does. What it left running ends with it in class `sealed`, in the others as far as it stayed in its process group.
 */
export async function launch(request: LaunchRequest): Promise<Launched> {
  const surroundings = ownSurroundings();
  const lowered = lowerRequest(request, surroundings);
  const { containment } = await containmentOf(lowered.class);
  request.signal?.throwIfAborted();
  const place = makePlace(surroundings.temporaryDirectory, lowered.privateDirectory);
  const refused = new NetworkRefusals();
  const { workdir, privateDirectory } = place;
  const directories = [workdir, ...(lowered.grants.writes ?? [])];
  let session: SessionContainment | null = null;
  try {
    const hold = await containment.hold({ resources: lowered.grants.limits, directories });
    const onDecision = (decision: EgressDecision): void => refused.note(decision);
    session = containment.open({ workdir, privateDirectory, hold, onDecision });
    return await start({ request, lowered, place, session, refused });
  } catch (error) {
    await session?.close();
    await place.remove();
    throw error;
  }
}

interface Start {
  readonly request: LaunchRequest;
  readonly lowered: LoweredRequest;
  readonly place: SandboxPlace;
  readonly session: SessionContainment;
  readonly refused: NetworkRefusals;
}

async function start({ request, lowered, place, session, refused }: Start): Promise<Launched> {
  const outcome = await session.launcher(grantsIn(lowered, place)).launch({
    command: lowered.command,
    args: lowered.args,
    env: environmentIn(lowered, place),
    stdin: request.stdin ?? 'null',
    ...(request.output === 'inherit' ? { output: 'inherit' } : {}),
  });
  if (outcome.kind === 'refused') throw new StartRefusal(lowered.program, outcome.reason);
  const { process: launched, problems = [] } = outcome;
  const ending = new Ending(launched);
  const bound = new OutputBound(lowered.outputBytes, () => ending.begin('output'));
  const { stdout, stderr } =
    request.output === 'inherit'
      ? launched
      : { stdout: bound.count(launched.stdout), stderr: bound.count(launched.stderr) };
  ending.watch(lowered.timeMs, request.signal);
  const ended = launched.ended.then(async (end): Promise<Ended> => {
    ending.forget();
    await session.close();
    await place.remove();
    const limits = (launched.limitsReached?.() ?? []).map((reason): Refusal => ({ kind: 'limit', reason }));
    return { ...exitOf(end), endedBy: ending.cause, refused: [...refused.all, ...limits] };
  });
  return {
    pid: launched.pid,
    class: lowered.class,
    stdin: launched.stdin,
    stdout,
    stderr,
    warnings: problems.map(inWordsOfLibrary),
    ended,
    output: async (): Promise<Output> => {
      bound.lower(maxGathered);
      const [out, error, end] = await Promise.all([buffer(stdout), buffer(stderr), ended]);
      return { ...end, endedBy: ending.cause, stdout: out, stderr: error };
    },
    kill: (signal = 'SIGTERM') => launched.kill(signal),
  };
}

function exitOf(end: LaunchEnd): Pick<Ended, 'exitCode' | 'signal'> {
  return end.kind === 'exited' ? { exitCode: end.exitCode, signal: null } : { exitCode: null, signal: end.signal };
}

/** Why a command is ended from outside, if it is: the first reason counts. */
class Ending {
  readonly #launched: LaunchedProcess;
  #cause: Ended['endedBy'] = 'command';
  #forget: () => void = () => {};

  constructor(launched: LaunchedProcess) {
    this.#launched = launched;
  }

  get cause(): Ended['endedBy'] {
    return this.#cause;
  }

  begin(cause: Ended['endedBy']): void {
    if (this.#cause !== 'command') return;
    this.#cause = cause;
    void endProcess(this.#launched, graceMs);
  }

  watch(timeMs: number | null, signal: AbortSignal | undefined): void {
    const timer = timeMs === null ? undefined : setTimeout(() => this.begin('time'), timeMs);
    const abort = (): void => this.begin('caller');
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted === true) abort();
    this.#forget = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
  }

  forget(): void {
    this.#forget();
  }
}

/** What the rest of the sandbox says in the words of a manifest, which users of the library do not have. */
export function inWordsOfLibrary(sentence: string): string {
  return sentence.replace('capabilities.network.allow', 'the grant').replace('workdir_exec', 'runWritten');
}

/** Destinations that the proxy refused, each once. */
class NetworkRefusals {
  readonly #found = new Map<string, Refusal>();

  note({ destination, verdict, reason }: EgressDecision): void {
    if (verdict !== 'refused' || this.#found.size >= maxRefusals) return;
    const said = inWordsOfLibrary(reason ?? '');
    this.#found.set(`${destination}`, { kind: 'network', destination, reason: said });
  }

  get all(): readonly Refusal[] {
    return [...this.#found.values()];
  }
}

/** What two outputs may take together. */
class OutputBound {
  readonly #onFull: () => void;
  #left: number;
  #isFull = false;

  /** `onFull` is called once, when there was more than `most` bytes. */
  constructor(most: number | null, onFull: () => void) {
    this.#left = most ?? Infinity;
    this.#onFull = onFull;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** From now on no more than so many, what was granted before included where it is less. */
  lower(most: number): void {
    this.#left = Math.min(this.#left, most);
  }

  /** The same bytes up to the bound, and an end where the output ends. */
  count(output: Readable): Readable {
    const counted = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        done(null, this.#taken(chunk));
      },
    });
    // An output that was closed by force ends in an error, which is the end of it.
    pipeline(output, counted, () => {});
    return counted;
  }

  #taken(chunk: Buffer): Buffer {
    const taken = chunk.subarray(0, Math.min(chunk.length, this.#left));
    this.#left -= taken.length;
    if (taken.length < chunk.length && !this.#isFull) {
      this.#isFull = true;
      this.#onFull();
    }
    return taken;
  }
}

interface SandboxPlace {
  /** The empty folder in which the command has its home. */
  readonly workdir: string;
  /** Out of the command's reach. */
  readonly privateDirectory: string;
  /** Removes both, as far as the command left them removable. */
  remove(): Promise<void>;
}

/** Makes them, each in a folder of its own. Throws `E-CAP-019` where nothing can be made there. */
function makePlace(temporaryDirectory: string, privateDirectory: string): SandboxPlace {
  const open = makeFolder(temporaryDirectory);
  const folders = [open];
  const remove = async (): Promise<void> => void (await Promise.all(folders.map(removeTree)));
  try {
    const hidden = makeFolder(privateDirectory);
    folders.push(hidden);
    const workdir = join(open, 'work');
    mkdirSync(containedTemporary(workdir), { recursive: true });
    return { workdir, privateDirectory: hidden, remove };
  } catch (error) {
    void remove();
    throw error;
  }
}

function makeFolder(temporaryDirectory: string): string {
  try {
    return mkdtempSync(join(temporaryDirectory, 'svc-sandbox-'));
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new Diagnostic(
      'E-CAP-019',
      `a temporary folder was to be made in ${temporaryDirectory}, and ${systemReason(error)}`,
      { hint: 'set TMPDIR to a directory that can be written', cause: error },
    );
  }
}
