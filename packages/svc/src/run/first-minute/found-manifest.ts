/** Decides whether to believe the manifest in the current folder: its author is the author of the folder. */

import { closeSync, constants, fstatSync, lstatSync, openSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import { RememberedList } from '@svc/capsule/launch/remembered-list.ts';
import { lower, type ProjectGrant } from '@svc/artifacts/grants/effective-grants.ts';
import { loadEnvironment } from '@svc/artifacts/manifest/env-file.ts';
import { type CapsuleReach, reachOf } from '@svc/capsule/launch/capsule-reach.ts';
import { folderName } from '@svc/capsule/launch/given-folder.ts';
import { hostFacts } from '@svc/capsule/launch/launch-host.ts';
import { loadManifest } from '@svc/capsule/launch/read-manifest.ts';
import type { ScopeRequest } from '@svc/capsule/launch/scope-of-launch.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { decodeText, unreadableFile } from '@svc/kit/files/read-text.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { askYes, canAsk } from '@svc/terminal/screen/ask-yes.ts';
import { exactLine, say, sayLines, type Shown } from '@svc/terminal/screen/shown.ts';
import type { RunOptions } from '../run-options.ts';

const largestManifest = 1024 * 1024;

interface FoundOptions extends Pick<RunOptions, 'manifest' | 'envFile'> {
  /** `--trust`. */
  readonly trust?: boolean;
}

interface Asker {
  readonly context: CommandContext;
  /** False for a script, whose terminal may be somebody's who does not look. */
  readonly mayAsk: boolean;
  /** What the report of its grants is about. */
  readonly scope: ScopeRequest;
}

/** What a capsule may reach, and the very text of the manifest that says so. */
export interface ReadManifest {
  readonly text: string;
  /** The name of the capsule. */
  readonly name: string;
  /** Whether it works in a folder that the command line names. */
  readonly needsProject: boolean;
  readonly reach: CapsuleReach;
  /** What variables make of the grants and of the program that is the driver, as JSON: a `.env` beside the manifest may come to say more. */
  readonly grants: string;
}

/**
 * The manifest that nobody has named, once this user believes it: it and its folder are this user's, and the user has said yes to this content at
 * this path, now or before. `E-RUN-180` for one of another user; `E-RUN-181` where the answer is no, or nobody can be asked.
 */
export async function believedManifest(options: FoundOptions, asker: Asker): Promise<ReadManifest> {
  const { read, place } = await foundManifest(options, asker.context);
  await believe(read, { label: options.manifest, place, trust: options.trust }, asker);
  return read;
}

/** The manifest that nobody has named, before anybody believes it, and its real path. `E-RUN-180` for one of another user. */
export async function foundManifest(
  options: FoundOptions,
  context: CommandContext,
): Promise<{ readonly read: ReadManifest; readonly place: string }> {
  const path = resolve(context.cwd, options.manifest);
  const read = await reachOfManifest(options, context, { text: ownText(path, options.manifest, context) });
  return { read, place: realpathSync(path) };
}

/** What is believed beside the content of a manifest. */
export interface Belief {
  /** What people call the capsule. */
  readonly label: string;
  /** What stands for its place, in the list of what was believed. */
  readonly place: string;
  /** The folder in which it works, where a record names it and no person. */
  readonly folder?: string | null;
  readonly trust: boolean | undefined;
}

/** Returns once the user has said yes to the capsule, at this place and with this folder. `E-RUN-181` where the answer is no, or nobody can be asked. */
export async function believe(read: ReadManifest, belief: Belief, asker: Asker): Promise<void> {
  const { folder = null, place, trust = false } = belief;
  const content = [read.text, read.reach, read.grants, ...(folder === null ? [] : [folder])];
  const entry = `${sha256Hex(JSON.stringify(content))} ${place}`;
  const known = new RememberedList(asker.context.home, 'trusted-manifests');
  if (isKnown(known, entry)) return;
  if (!trust) await ask(read, belief, asker);
  await remember(known, entry, asker.context);
}

/** Reads a manifest that somebody has named, or the text of one. Its `.env` lies in `root`, which is its folder when absent. Throws what refuses it. */
export async function reachOfManifest(
  { manifest, envFile }: FoundOptions,
  { cwd, home, env, build }: CommandContext,
  { text: given, root = dirname(resolve(cwd, manifest)) }: { readonly text?: string; readonly root?: string } = {},
): Promise<ReadManifest> {
  const variables = loadEnvironment({ directory: root, process: env, useFile: envFile });
  const { cacheDirectory: directory, uid } = hostFacts({
    home,
    packageRoot: findPackageRoot(import.meta.filename),
    ceiling: 'sealed',
  });
  const keeper = build === undefined ? null : { directory, uid, build };
  const { loaded } = await loadManifest(manifest, { env: variables, keeper, text: given });
  const { grants } = lower(loaded);
  const { name, inference, capabilities } = loaded.manifest;
  const needsProject = capabilities.project !== undefined && capabilities.project.path === undefined;
  const { command } = inference;
  return {
    text: loaded.text,
    name,
    needsProject,
    reach: reachOf({ loaded, grants }),
    grants: JSON.stringify([grants, command]),
  };
}

/** Hosts, variables and files of the machine that a capsule gets, for its first row. */
export function reachRow({ hosts, variables, reads = [] }: CapsuleReach): Shown {
  const network = hosts.length === 0 ? 'no network' : hosts.join(', ');
  const given = variables.length === 0 ? 'no variables' : variables.join(', ');
  return say`${network} \u00B7 ${given}${reads.length === 0 ? '' : ` \u00B7 reads ${reads.join(', ')}`}`;
}

/** The folder that the capsule works in, for its first row. Without a grant the folder of its manifest stays out of its sight. */
export function folderRow(
  grant: ProjectGrant | null,
  { manifest, project }: Pick<RunOptions, 'manifest' | 'project'>,
  cwd: string,
): Shown {
  if (grant === null) return say`no folder: the manifest has no project`;
  const place = grant.path === null ? resolve(cwd, project ?? '.') : resolve(cwd, dirname(manifest), grant.path);
  return say`${folderName(place)} ${grant.write ? 'can be changed' : 'read only'}`;
}

/** The content of a manifest that is this user's, as its folder is. */
function ownText(path: string, label: string, { env }: CommandContext): string {
  let descriptor: number;
  try {
    // To replace the manifest, somebody has to own the folder, or be allowed to write there.
    for (const place of [lstatSync(path), statSync(dirname(path))]) refuseForeign(place.uid, label, env);
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    throw error instanceof Diagnostic ? error : ioFault(error, `cannot read ${label}`);
  }
  try {
    const status = fstatSync(descriptor);
    refuseForeign(status.uid, label, env);
    if (!status.isFile()) throw unreadableFile(label, { reason: 'it is not a regular file' });
    const bytes = readFileUpTo(descriptor, largestManifest);
    const reading =
      bytes === undefined ? { kind: 'unreadable' as const, reason: 'it is larger than 1 MiB' } : decodeText(bytes);
    if (reading.kind === 'text') return reading.text;
    throw unreadableFile(label, { reason: reading.kind === 'absent' ? 'no such file' : reading.reason });
  } finally {
    closeSync(descriptor);
  }
}

/** As git does with a repository: what root does for somebody may have been made by that user. */
function refuseForeign(owner: number, manifest: string, { SUDO_UID: caller }: CommandContext['env']): void {
  const own = process.geteuid?.() ?? owner;
  const isOfCaller = own === 0 && /^\d{1,10}$/.test(caller ?? '') && owner === Number(caller);
  if (owner === own || isOfCaller) return;
  throw new Diagnostic(
    'E-RUN-180',
    `${manifest} or its folder belongs to another user (uid ${owner}), who decides what its capsule may do`,
    { hint: `read it, then name it: svc run --manifest ${manifest}; or copy the folder, which makes it yours` },
  );
}

/** What cannot be read is not known; writing it says why. */
function isKnown(known: RememberedList, entry: string): boolean {
  try {
    return known.read()?.includes(entry) === true;
  } catch (error) {
    if (error instanceof Diagnostic) return false;
    throw error;
  }
}

async function remember(known: RememberedList, entry: string, context: CommandContext): Promise<void> {
  try {
    await known.remember(entry);
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    const told = new Diagnostic('W-RUN-182', `the manifest is believed for this time alone: ${error.message}`, {
      hint: 'once that file can be written, the answer is remembered',
      cause: error,
    });
    context.stderr.write(render([told], context));
  }
}

async function ask({ text, reach }: ReadManifest, belief: Belief, { context, mayAsk, scope }: Asker): Promise<void> {
  const { label, folder = null } = belief;
  const isAnswered = mayAsk && canAsk(context);
  if (isAnswered) {
    // Apart, since the rows with names that others chose are laid out, and the path is to be copied.
    for (const rows of await shownGrants(reach, belief, { ...scope, manifestText: text })) context.stderr.write(rows);
    if (await askYes(context, say`run it with these grants, now and later, until it changes? [y/N] `)) return;
  }
  const why = isAnswered ? 'and it was not trusted' : 'and nobody was asked';
  const where = folder === null ? '' : ` for ${JSON.stringify(folder)}`;
  throw new Diagnostic('E-RUN-181', `${label} as it is has not been trusted by this user before${where}, ${why}`, {
    hint: `svc run ${namedIn(scope)}--explain-scope shows what its capsule may do; with --trust the same command runs it`,
  });
}

/** The options by which `svc run` means the same capsule, where there are any. */
function namedIn({ published }: ScopeRequest): string {
  return published === null ? '' : `--capsule ${published.name} --capsule-version ${published.version} `;
}

async function shownGrants(
  reach: CapsuleReach,
  { label, folder = null }: Belief,
  request: ScopeRequest,
): Promise<readonly Shown[]> {
  const { explainScope, renderGrants } = await import('../scope-report.ts');
  const { scope, redact } = await explainScope(request);
  const rows = [
    ...(folder === null ? [] : [`  folder:     ${printable(folder)}\n`]),
    `  hosts:      ${reach.hosts.join(', ') || '(none)'}\n`,
    `  variables:  ${reach.variables.join(', ') || '(none)'}\n`,
  ];
  return [
    exactLine`${label} as it is has not been trusted by you before. Its capsule gets\n`,
    sayLines(redact(`${rows.join('')}\n${renderGrants(scope)}\n`)),
  ];
}
