/** Finds an ended session that a person goes on with, and says how another one is started from it. */

import { realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { askedList } from '@svc/artifacts/grants/list-grants.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isBeneath, realPath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { damaged } from '@svc/record/journal/journal-reader.ts';
import { parsed } from '@svc/record/journal/recorded-json.ts';
import { readRunningRecords } from '@svc/record/sessions/running-record.ts';
import {
  adhocSessions,
  folderOfSession,
  holdSession,
  matching,
  type OpenJournal,
  sessionIds,
  sessionsFolder,
  startOfSession,
  withJournal,
} from '@svc/record/sessions/recorded-sessions.ts';
import { factsOf, type SessionFacts } from '@svc/record/sessions/session-facts.ts';
import { suffixOf } from '@svc/record/sessions/session-names.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render, usesColor } from '@svc/terminal/screen/render-failure.ts';
import { joined, say, type Shown } from '@svc/terminal/screen/shown.ts';
import { usualCommands, type TaskFlags } from '../run/first-minute/open-task.ts';
import { sameModel } from '../run/first-minute/choose-model.ts';
import type { Variables } from '../run/first-minute/providers.ts';
import { taskFlagsAsGiven, flagsThatAreSet } from '../run/first-minute/task-command.ts';
import { recordedTranscript } from '../shown/recorded-transcript.ts';

/** What may be given for a session that goes on, and what is taken from the one before where it is not. */
export interface GoingOnOptions extends TaskFlags {
  readonly manifest: string;
  readonly workdir?: string;
  readonly project?: string;
  /** Whether the folder of the session has to be named. */
  readonly needsProject?: boolean;
  /** The capsule in place of that of the manifest. */
  readonly published?: PublishedCapsule | null;
  readonly containment?: string;
  readonly envFile: boolean;
  readonly offline?: boolean;
}

/** A capsule of a store, in the one archive that is meant. */
export interface PublishedCapsule {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
}

/** A session that has ended, with all that the one that goes on with it needs. */
export interface EndedSession {
  readonly id: string;
  /** By which people name it. */
  readonly suffix: string;
  /** The command line of `svc` that starts the other one, without what the chat adds. Reading its manifest takes a while. */
  readonly args: () => Promise<readonly string[]>;
  /** Where that is run. */
  readonly cwd: string;
  /** The folder that its record alone names, outside of the workspace and of the current folder; null without one. */
  readonly folder: string | null;
  /** The rows of its transcript, laid out for standard output. */
  readonly transcript: readonly string[];
  /** What a person has to know of it. */
  readonly notes: Shown;
}

/** The id of the session of this workspace or task that is meant and does not run; null where none fits. */
export function endedSessionId(context: CommandContext, manifest: string, wanted: string): string | null {
  const running = new Set<string>(readRunningRecords(context.home).map(({ session_id: id }) => id));
  const folder = folderOfSession(context, { manifest }, wanted);
  const [id, ...others] = matching(sessionIds(folder), wanted);
  return id === undefined || others.length > 0 || running.has(id) ? null : id;
}

/** Whether it was a task without a manifest. */
export function isTaskSession(context: CommandContext, manifest: string, id: string): boolean {
  return folderOfSession(context, { manifest }, id) === adhocSessions(context);
}

/** The newest session of this folder, which may run: of its workspace, or a task without a manifest that was given it. Throws `E-RUN-070` if there is no such session. */
export function lastSessionOf(context: CommandContext, manifest: string): string {
  const own = sessionsFolder(context, { manifest });
  const adhoc = adhocSessions(context);
  const here = realPath(context.cwd);
  const candidates = [...new Set([own, adhoc])].flatMap((folder) =>
    sessionIds(folder).map((id) => ({ id, folder, at: startOfSession(folder, id) })),
  );
  const running = new Set<string>(readRunningRecords(context.home).map(({ session_id: id }) => id));
  let isAny = false;
  for (const { id, folder } of candidates.toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))) {
    const facts = factsIn(folder, id);
    if (facts === null || (folder === adhoc && facts.folder !== here)) continue;
    // In one that ended without a task, nothing was said.
    if (facts.tasks > 0 || running.has(id)) return id;
    isAny = true;
  }
  const none = isAny ? 'was given a task' : 'is recorded';
  throw new Diagnostic('E-RUN-070', `no session of ${here} ${none}: there is nothing to go on with`, {
    hint: 'svc sessions --all lists those of other folders: svc chat <session> goes on with one of them',
  });
}

/** Returns null for a session that cannot be read. */
function factsIn(folder: string, id: string): SessionFacts | null {
  try {
    const directory = holdSession(folder, id);
    try {
      return factsOf(id, directory, false);
    } finally {
      directory.close();
    }
  } catch (error) {
    if (error instanceof Diagnostic) return null;
    throw error;
  }
}

/** Throws the Diagnostic of a session without a journal (`E-RUN-071`), of another capsule (`E-RUN-200`), or whose folder is gone (`E-RUN-201`). */
export async function openEndedSession(
  id: string,
  options: GoingOnOptions,
  context: CommandContext,
): Promise<EndedSession> {
  const folder = folderOfSession(context, { manifest: options.manifest }, id);
  return await withJournal(context, id, options, async (journal) => {
    if (journal.open.capture === 'meta') throw withoutTexts(id);
    const suffix = suffixOf(id, sessionIds(folder));
    const start =
      folder === adhocSessions(context)
        ? taskStart(journal, options, context)
        : capsuleStart(journal, options, { folder, context });
    const warnings = journal.warnings.length === 0 ? say`` : render(journal.warnings, context);
    const rows = rowsOf(journal, suffix, context);
    const earlier = await earlierRows(journal, options, { context, left: mostRows - rows.length });
    return { id, suffix, transcript: [...earlier, ...rows], ...start, notes: joined([warnings, start.notes]) };
  });
}

/** So many rows of a transcript are shown, the last ones. */
const mostRows = 5000;
/** A session may go on with one that went on with another: so many are looked through. */
const mostBefore = 100;

/** `E-RUN-073` for a journal that is damaged. */
function rowsOf({ reader }: OpenJournal, session: string, context: CommandContext): readonly string[] {
  const { stdout: output } = context;
  const useColor = usesColor(context);
  const { rows, damage } = recordedTranscript({ reader, output, useColor, session, isRunning: false });
  if (damage !== null) throw damaged(damage);
  if (rows.length <= mostRows) return rows;
  return [leftOut(session), ...rows.slice(-mostRows)];
}

function leftOut(session: string): string {
  return `- earlier rows are not shown: svc trace show ${session}`;
}

/** The transcripts of the sessions that this one went on with, as far as there is room. */
async function earlierRows(
  { open }: OpenJournal,
  options: GoingOnOptions,
  { context, left }: { readonly context: CommandContext; readonly left: number },
): Promise<readonly string[]> {
  const parts: (readonly string[])[] = [];
  let length = 0;
  let session = open.continues;
  for (let passed = 0; session !== undefined && passed < mostBefore; passed += 1) {
    const found = await earlierSession(session, options, context);
    if (found === null || length + found.rows.length > left) return [leftOut(session), ...parts.flat()];
    parts.unshift(found.rows);
    length += found.rows.length;
    session = found.before;
  }
  return parts.flat();
}

/** Returns null for one whose journal was removed, or cannot be read. */
async function earlierSession(
  session: string,
  options: GoingOnOptions,
  context: CommandContext,
): Promise<{ readonly rows: readonly string[]; readonly before: string | undefined } | null> {
  try {
    return await withJournal(context, session, options, (journal) => ({
      rows: rowsOf(journal, session.slice(-4), context),
      before: journal.open.continues,
    }));
  } catch (error) {
    if (error instanceof Diagnostic) return null;
    throw error;
  }
}

function withoutTexts(id: string): Diagnostic {
  return new Diagnostic('E-RUN-200', `the session ${id} cannot be gone on with: its journal keeps no texts`, {
    hint: 'it ran with trace.capture: meta; svc run --capture content keeps what a later session needs',
  });
}

type Start = Pick<EndedSession, 'args' | 'cwd' | 'folder' | 'notes'>;

interface RecordedGrants {
  readonly containment?: { readonly declared?: unknown };
  readonly project_folder?: {
    readonly path?: unknown;
    readonly writable?: unknown;
    readonly is_workdir?: unknown;
    readonly keeps_git?: unknown;
  };
}

/** What a session was granted; nothing where its commands could have written that. */
function grantsIn({ reader, setup, open }: OpenJournal): RecordedGrants {
  const body = setup === null ? null : reader.body(setup.grants);
  const grants = body?.kind === 'text' ? (parsed(body.text) as RecordedGrants | null) : null;
  if (grants === null || open.trusted) return grants ?? {};
  const { path, is_workdir: isWorkdir } = grants.project_folder ?? {};
  return { project_folder: { path, is_workdir: isWorkdir } };
}

/** The text of the manifest of a session; null where it is not kept. */
export function manifestIn({ reader, setup }: OpenJournal): string | null {
  const body = setup === null ? null : reader.body(setup.manifest);
  return body?.kind === 'text' ? body.text : null;
}

/** A task without a manifest goes on in its folder, with the flags that it had; those that are given now come before them. */
function taskStart(journal: OpenJournal, options: GoingOnOptions, { env: variables }: CommandContext): Start {
  const { session, open } = journal;
  const grants = grantsIn(journal);
  const { path } = grants.project_folder ?? {};
  if (typeof path !== 'string') throw folderGone(session, 'its journal does not say where it is');
  holdToPlace(session, path);
  const { model, keyEnv, insecureHttp, context, write, writeGit, allow, net, env, hostRead, mcp, skills } = options;
  const projectText = options.projectText === false ? false : undefined;
  const held = { model, keyEnv, insecureHttp, context, projectText, write, writeGit };
  const typed = flagsThatAreSet({ ...held, allow, net, env, hostRead, mcp, skills });
  const text = manifestIn(journal);
  return {
    args: async () => {
      const before = text === null ? {} : await flagsOf({ text, isTrusted: open.trusted, typed, variables }, grants);
      return [...taskFlagsAsGiven({ ...before, ...typed }), ...commonArguments(options, grants)];
    },
    cwd: path,
    folder: null,
    notes: joined([
      open.trusted ? say`` : say`- what you had granted is not taken from there: read only, unless flags say more\n`,
      mcp === undefined && text !== null && namesServers(text)
        ? say`- its MCP servers do not come along: --mcp "<command or address>" names one again\n`
        : say``,
    ]),
  };
}

/** Whether the manifest of a task has artifacts that are no part of `svc`, and no skills. */
export function namesServers(text: string): boolean {
  return /^ {2}- \{ name: (?!svc-)(?!\S+ version: "[^"\n]*", runtime: skill, )/m.test(text);
}

interface RecordedManifest {
  readonly text: string;
  readonly isTrusted: boolean;
  /** The flags that are given now. */
  readonly typed: TaskFlags;
  /** The environment as it is now. */
  readonly variables: Variables;
}

/** Only names are read of its manifest: the model with its address, and what was allowed beside what every task is. Throws as `sameModel` does. */
async function flagsOf(
  { text, isTrusted, typed, variables }: RecordedManifest,
  grants: RecordedGrants,
): Promise<TaskFlags> {
  const { loadCapsuleManifest } = await import('@svc/artifacts/manifest/load.ts');
  const { manifest } = loadCapsuleManifest({ file: 'svc.yaml', text, env: {}, purpose: 'inspect' });
  const { inference, capabilities, artifacts } = manifest;
  const projectText = inference.project_text !== undefined;
  const keyEnv = /^ {2}api_key: \$\{(\w+)\}/m.exec(text)?.[1];
  const named = typed.model === undefined ? sameModel(inference, keyEnv ?? null, variables) : {};
  if (!isTrusted) return { ...named, projectText };
  const list = (values: readonly string[] = []): readonly string[] | undefined =>
    values.length === 0 ? undefined : values;
  const lists = {
    allow: list((capabilities.shell?.allow ?? []).filter((name) => !usualCommands.includes(name))),
    net: list(askedList(capabilities, 'networkAllow')),
    env: list((capabilities.env?.allow ?? []).filter((name) => !name.startsWith('GIT_'))),
    hostRead: list(capabilities.filesystem?.host_read),
  };
  const skills = artifacts.some(({ runtime }) => runtime === 'skill') ? true : undefined;
  const kept = flagsThatAreSet({ ...lists, skills });
  return { ...named, projectText, ...kept, ...(grants.project_folder?.writable === true ? { write: true } : {}) };
}

interface CapsulePlace {
  readonly folder: string;
  readonly context: CommandContext;
}

/** A capsule goes on with its manifest as it is now, in the workdir that there was. */
function capsuleStart(journal: OpenJournal, options: GoingOnOptions, { folder, context }: CapsulePlace): Start {
  const { session } = journal;
  const grants = grantsIn(journal);
  const { path, is_workdir: isWorkdir, keeps_git: keepsGit } = grants.project_folder ?? {};
  if (isWorkdir !== true && typeof path === 'string') return folderStart(session, path, { options, grants, context });
  const named = typeof path === 'string' ? path : null;
  const root = realPath(dirname(dirname(folder)));
  const workdir = options.workdir ?? named ?? join(root, 'workdir', session);
  if (options.workdir === undefined) holdToPlace(session, workdir);
  return {
    args: async () => [
      'run',
      ...capsuleArguments(options),
      '--workdir',
      workdir,
      ...(options.writeGit === true ? ['--write-git'] : []),
      ...(options.envFile ? [] : ['--no-env-file']),
      ...commonArguments(options, grants),
    ],
    cwd: context.cwd,
    folder: options.workdir !== undefined || isBeneath(root, workdir) ? null : foreign(workdir, context),
    // A record can come with a clone: what it says of this is not taken over.
    notes:
      options.workdir === undefined && keepsGit === false
        ? say`- what git runs in its workdir stays as it is: --workdir <path> --write-git opens it again\n`
        : say``,
  };
}

function capsuleArguments({ published = null, manifest }: GoingOnOptions): readonly string[] {
  if (published === null) return ['--manifest', manifest];
  const { name, version, sha256 } = published;
  return ['--capsule', name, '--capsule-version', version, '--capsule-sha256', sha256];
}

/** A record that came with a folder could name any other one. */
function foreign(path: string, { cwd }: CommandContext): string | null {
  return isBeneath(realPath(cwd), path) ? null : path;
}

/** A capsule that is granted a folder has nothing else that stays. */
function folderStart(
  session: string,
  path: string,
  {
    options,
    grants,
    context,
  }: { readonly options: GoingOnOptions; readonly grants: RecordedGrants; readonly context: CommandContext },
): Start {
  if (options.project === undefined) holdToPlace(session, path);
  const takesPath = options.project === undefined && options.needsProject === true;
  const project = takesPath ? path : options.project;
  const args = [
    'run',
    ...capsuleArguments(options),
    ...(project === undefined ? [] : ['--project', project]),
    ...(options.envFile ? [] : ['--no-env-file']),
    ...commonArguments(options, grants),
  ];
  const folder = takesPath ? foreign(path, context) : null;
  return { args: async () => args, cwd: context.cwd, folder, notes: say`` };
}

/** The class is never less than what was asked for before. */
function commonArguments({ containment, offline }: GoingOnOptions, grants: RecordedGrants): readonly string[] {
  const { declared } = grants.containment ?? {};
  const floor = containment ?? (declared === 'scoped' || declared === 'sealed' ? declared : undefined);
  return [...(floor === undefined ? [] : ['--containment', floor]), ...(offline === true ? ['--offline'] : [])];
}

/** No link has come into its way since: that would be another folder. */
function holdToPlace(session: string, path: string): void {
  const real = unlessRefused(() => (statSync(path).isDirectory() ? realpathSync(path) : null), null);
  if (real !== path) throw folderGone(session, `${path} is ${real === null ? 'not there' : `a link to ${real}`}`);
}

function folderGone(session: string, why: string): Diagnostic {
  return new Diagnostic('E-RUN-201', `the folder of the session ${session} cannot be found: ${why}`, {
    hint: 'move it back, or begin anew where it is now; svc trace show says what was done',
  });
}
