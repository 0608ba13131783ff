/** Starts capsules that delegate to each other, with their referee. */

import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, vi } from 'vitest';

import { buildArchive } from '@svc/artifacts/store/build-archive.ts';
import { inspectPublishable, publishLocally } from '@svc/artifacts/store/publishable.ts';
import { storeRoot } from '@svc/artifacts/store/store-layout.ts';
import { checkArtifact } from '@svc/session/tools/argument-check.ts';
import { readRunningRecords, type RunningRecord } from '@svc/record/sessions/running-record.ts';
import { readTrace } from './read-trace.ts';
import { FrameStream } from './frame-stream.ts';
import { ProgramProcess } from './program-process.ts';
import { RefereeRelay } from './referee-relay.ts';
import { message, rpc, type RunLine, startCapsule, type SvcProcess } from './svc-process.ts';
import { makeWorkspace, type Workspace } from './workspace.ts';

/** A capsule of a formation, all in version 1.0.0: its lifecycle and capabilities, and the script of its model, as YAML. */
export interface FormationCapsule {
  readonly manifest: string;
  readonly script: string;
  /** The key of the provider; without it there is no key. */
  readonly apiKey?: string;
  /** More files of its folder, by their names. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface FormationOptions {
  readonly capsules: Readonly<Record<string, FormationCapsule>> & { readonly lead: FormationCapsule };
  /** Further options of the referee, beside `--spawn-allow lead`. */
  readonly referee?: readonly string[];
  /** Whether what capsules ask their referee goes through a relay that writes it down. */
  readonly isRelayed?: true;
  /** What the lead is started with; without it the lead waits for a message. */
  readonly task?: string;
  /** The variables of the lead. */
  readonly env?: Readonly<Record<string, string>>;
  /** Further flags of the lead. */
  readonly flags?: readonly string[];
}

const refereeProgram = fileURLToPath(new URL('../../bin/svc-referee.cjs', import.meta.url));

/** Published capsules, their referee, and a capsule `lead` that runs and may have the others started. */
export class Formation {
  readonly workspace: Workspace;
  readonly referee: string;
  readonly lead: SvcProcess;
  readonly line: RunLine;
  /** Every frame of the lead since it is up. */
  readonly frames: FrameStream;
  readonly #daemon: ProgramProcess;
  readonly #relay: RefereeRelay | null;

  private constructor(
    { daemon, relay }: { readonly daemon: ProgramProcess; readonly relay: RefereeRelay | null },
    parts: Pick<Formation, 'workspace' | 'referee' | 'lead' | 'line' | 'frames'>,
  ) {
    this.#daemon = daemon;
    this.#relay = relay;
    this.workspace = parts.workspace;
    this.referee = parts.referee;
    this.lead = parts.lead;
    this.line = parts.line;
    this.frames = parts.frames;
  }

  static async start({
    capsules,
    referee: refereeFlags = [],
    isRelayed,
    task,
    env = {},
    flags = [],
  }: FormationOptions): Promise<Formation> {
    const workspace = await publish(capsules);
    const daemon = new ProgramProcess(refereeProgram, ['--port', '0', '--spawn-allow', 'lead', ...refereeFlags], {
      cwd: workspace.home,
      env: { PATH: process.env['PATH'], HOME: workspace.home },
    });
    try {
      const [, port] = await daemon.printed(/ listens on 127\.0\.0\.1:(\d+), .*\n/);
      const referee = `http://127.0.0.1:${port}`;
      const relay = isRelayed === true ? await RefereeRelay.start(referee) : null;
      const args = [...flags, ...(task === undefined ? [] : ['--task', task])];
      const asked = { SVC_REFEREE_URL: relay?.url ?? referee, ...env };
      return new Formation({ daemon, relay }, { workspace, referee, ...(await startLead(workspace, asked, args)) });
    } catch (error) {
      daemon.child.kill('SIGKILL');
      workspace.remove();
      throw error;
    }
  }

  /** Between the capsules and the referee; for a formation that is relayed. */
  get relay(): RefereeRelay {
    if (this.#relay === null) throw new Error('the formation is not relayed');
    return this.#relay;
  }

  /** Ends the daemon, while the capsules go on. */
  async endReferee(): Promise<void> {
    this.#daemon.child.kill('SIGKILL');
    await this.#daemon.ended;
  }

  /** Sends the lead a message. */
  async send(text: string): Promise<void> {
    await rpc(this.line.url, 'message/send', message(text));
  }

  /** Resolves once this many tasks of the lead have ended. */
  async tasksEnded(count: number): Promise<void> {
    const ended = (): number =>
      this.frames.frames.filter(({ event, data }) => event === 'status' && data['final'] === true).length;
    await this.frames.until(() => ended() >= count);
  }

  /** What the calls of the lead gave, in their order. */
  get results(): readonly string[] {
    const artifacts = this.frames.frames.filter(({ event }) => event === 'artifact');
    return artifacts.map(({ data }) => (data['artifact'] as { content: string }).content);
  }

  /** The lines of the lead's trace. */
  get trace(): readonly Readonly<Record<string, unknown>>[] {
    return readTrace(join(this.#sessionDirectory, 'trace.jsonl'));
  }

  delegationStatuses(): readonly unknown[] {
    return this.trace.filter((line) => line['event_type'] === 'delegation').map(({ status }) => status);
  }

  /** The directory of the only child of the lead, absolute. */
  get childDirectory(): string {
    const children = join(realpathSync(this.line.workdir), '.svc', 'children');
    return join(children, only(readdirSync(children)));
  }

  /** What the only child of the lead left in `completion.json`. */
  get completion(): Readonly<Record<string, unknown>> {
    return JSON.parse(readFileSync(join(this.childDirectory, 'completion.json'), 'utf8')) as Record<string, unknown>;
  }

  /** The same, once a poller has waited as D2 says: until it is delivered, or is called not delivered. The child writes that long after the lead knows. */
  async settledCompletion(): Promise<Readonly<Record<string, unknown>>> {
    const read = (): Readonly<Record<string, unknown>> =>
      existsSync(join(this.childDirectory, 'completion.json')) ? this.completion : {};
    const isSettled = (): boolean => read()['delivered'] === true || read()['delivery_error'] !== undefined;
    await vi.waitUntil(isSettled, { timeout: 20_000 });
    return this.completion;
  }

  /** The lines of the trace in a directory below that of the lead's. */
  traceBelow(directory: string): readonly Readonly<Record<string, unknown>>[] {
    return readTrace(join(this.#sessionDirectory, directory, 'trace.jsonl'));
  }

  /** The lines of the trace of the only child of the lead. */
  get childTrace(): readonly Readonly<Record<string, unknown>>[] {
    return readTrace(join(onlyBelow(this.#sessionDirectory, 'children', '.svc/sessions'), 'trace.jsonl'));
  }

  /** The same of the only child of that one. */
  get grandchildTrace(): readonly Readonly<Record<string, unknown>>[] {
    const child = onlyBelow(this.#sessionDirectory, 'children', '.svc/sessions');
    return readTrace(join(onlyBelow(child, 'children', '.svc/sessions'), 'trace.jsonl'));
  }

  /** The live session of the capsule of this name, as `svc ps` knows it. Throws when it does not run. */
  running(name: string): RunningRecord {
    const record = readRunningRecords(this.workspace.home).find((each) => each.name === name);
    if (record === undefined) throw new Error(`no ${name} is running`);
    return record;
  }

  /** The capsules of all live sessions. */
  get alive(): readonly string[] {
    return readRunningRecords(this.workspace.home).map(({ name }) => name);
  }

  /** What the referee says of a session, the lead's when none is named. */
  async status(sessionId = this.line.session_id): Promise<Readonly<Record<string, unknown>>> {
    return (await (await fetch(`${this.referee}/status/${sessionId}`)).json()) as Record<string, unknown>;
  }

  async dispose(): Promise<void> {
    this.frames.close();
    for (const process of [this.lead, this.#daemon]) {
      if (process.child.exitCode === null && process.child.signalCode === null) process.child.kill('SIGTERM');
      await process.ended;
    }
    await this.#relay?.close();
    this.workspace.remove();
  }

  get #sessionDirectory(): string {
    return join(this.workspace.folder, '.svc', 'sessions', this.line.session_id);
  }
}

async function startLead(
  workspace: Workspace,
  env: Readonly<Record<string, string>>,
  flags: readonly string[],
): Promise<Pick<Formation, 'lead' | 'line' | 'frames'>> {
  const args = ['--capsule', 'lead', '--capsule-version', '1.0.0', ...flags];
  const { process: lead, line } = await startCapsule(workspace, args, { env });
  const frames = await FrameStream.open(line.url, 'stream/watch', {});
  await frames.until(({ event }) => event === 'connection-ack');
  return { lead, line, frames };
}

/** A starter of formations, which are ended and gone after the test that started them. */
export function useFormations(): (options: FormationOptions) => Promise<Formation> {
  const formations: Formation[] = [];
  afterEach(async () => {
    for (const formation of formations.splice(0)) await formation.dispose();
  });
  return async (options) => {
    const formation = await Formation.start(options);
    formations.push(formation);
    return formation;
  };
}

/** A folder for each capsule, all of them in the store of the workspace's user, as `svc publish --registry local` puts them there. */
export async function publish(capsules: Readonly<Record<string, FormationCapsule>>): Promise<Workspace> {
  const files = Object.entries(capsules).flatMap(([name, capsule]) => {
    const own = { 'svc.yaml': manifestOf(name, capsule), 'script.yaml': capsule.script, ...capsule.files };
    return Object.entries(own).map(([file, text]) => [`${name}/${file}`, text] as const);
  });
  const workspace = makeWorkspace(Object.fromEntries(files));
  const outDirectory = join(workspace.folder, 'built');
  mkdirSync(outDirectory);
  for (const name of Object.keys(capsules)) {
    const directory = join(workspace.folder, name);
    const { path } = await buildArchive({ directory, outDirectory, env: {}, checkArtifact });
    await publishLocally(await inspectPublishable(path, []), storeRoot(workspace.home));
  }
  rmSync(outDirectory, { recursive: true });
  return workspace;
}

function manifestOf(name: string, { manifest, apiKey }: FormationCapsule): string {
  return `name: ${name}
version: 1.0.0
inference:
  model: scripted
  driver:
    artifact: svc-driver-script
    config: { script: script.yaml }
${apiKey === undefined ? '' : `  api_key: ${apiKey}\n`}${manifest}`;
}

/** `<directory>/<first>/<the only one>/<second>/<the only one>`. */
function onlyBelow(directory: string, first: string, second: string): string {
  const outer = join(directory, first);
  const inner = join(outer, only(readdirSync(outer)), second);
  return join(inner, only(readdirSync(inner)));
}

function only(names: readonly string[]): string {
  const [name, ...others] = names;
  if (name === undefined || others.length > 0) throw new Error(`not one: ${names.join(', ')}`);
  return name;
}

/** A response that calls this tool, in a script. `when` is what the text of the task has in it. */
export function calls(tool: string, input: unknown, when: string): string {
  const call = JSON.stringify([{ type: 'tool_call', id: 'call_1', name: tool, input }]);
  return `- when: ${JSON.stringify(when)}\n  content: ${call}\n  stop_reason: tool_call\n`;
}

/** A response that ends the task. `delayMs` passes before. */
export function says(text: string, when: string, delayMs = 0): string {
  const content = JSON.stringify([{ type: 'text', text }]);
  return `- when: ${JSON.stringify(when)}\n  content: ${content}\n  stop_reason: end_turn\n  delay_ms: ${delayMs}\n`;
}
