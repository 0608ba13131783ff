/** Finds the capsule of an ended session that another one is started of: that of a manifest, or a published one. */

import { resolve } from 'node:path';
import { arch, platform } from 'node:process';

import { isArtifactName, isArtifactVersion, isReservedVersion } from '@svc/artifacts/manifest/names.ts';
import { platformOf, spell } from '@svc/artifacts/store/artifact-ref.ts';
import { findCapsule } from '@svc/capsule/launch/launch-host.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { realPath } from '@svc/kit/files/resolve-beneath.ts';
import { withJournal } from '@svc/record/sessions/recorded-sessions.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { say, type Shown } from '@svc/terminal/screen/shown.ts';
import {
  believe,
  type Belief,
  foundManifest,
  type ReadManifest,
  reachOfManifest,
} from '../run/first-minute/found-manifest.ts';
import { lateSources } from '../run/run.ts';
import { type ChatOptions, scopeOfChat } from './chat-options.ts';
import { type GoingOnOptions, manifestIn, type PublishedCapsule } from './ended-session.ts';

/** The capsule of a session as it is now. */
export interface SessionCapsule {
  readonly published: PublishedCapsule | null;
  readonly needsProject: boolean;
  readonly notes: Shown;
  /** Returns once the user believes it, with the folder that the record alone names. `E-RUN-181` where the user does not, or is not asked. */
  readonly believed: (folder: string | null, mayAsk: boolean) => Promise<void>;
}

/** The manifest that there is. `E-RUN-200` for that of another capsule. */
export async function capsuleOfManifest(
  id: string,
  options: ChatOptions,
  context: CommandContext,
): Promise<SessionCapsule> {
  const isNamed = options.isNamed === true;
  const { read, place } = isNamed
    ? { read: await reachOfManifest(options, context), place: realPath(resolve(context.cwd, options.manifest)) }
    : await foundManifest(options, context);
  const { manifest: label, trust } = options;
  return {
    published: null,
    needsProject: read.needsProject,
    notes: await heldToCapsule(id, options, { now: read, context }),
    // A manifest that a person names is not asked about, except for a folder that the record alone names.
    believed: async (folder, mayAsk) => {
      const scope = scopeOfChat(options, context);
      if (!isNamed || folder !== null) await believe(read, { label, place, folder, trust }, { context, mayAsk, scope });
    },
  };
}

/** The capsule of the archive that the session ran; null for that of a manifest. What the journal says may be anybody's: `E-RUN-200` for names that no capsule has. */
export async function publishedCapsuleOf(
  id: string,
  options: GoingOnOptions,
  context: CommandContext,
): Promise<PublishedCapsule | null> {
  return await withJournal(context, id, options, ({ open: { capsule } }) => {
    const { name, version, sha256 } = capsule;
    if (sha256 === undefined) return null;
    const isPublishable = isArtifactName(name) && isArtifactVersion(version) && !isReservedVersion(version);
    if (isPublishable) return { name, version, sha256 };
    throw new Diagnostic('E-RUN-200', `the journal of ${id} names a capsule that nobody can publish`, {
      hint: 'do not take that record for proof; begin anew with svc run --capsule',
    });
  });
}

/**
 * The published capsule, in the archive that the session ran: fetched where it is not here. `E-RUN-200` where nothing has it any more, `E-RUN-203` where its
 * version has other bytes.
 */
export async function capsuleOfArchive(
  published: PublishedCapsule,
  options: ChatOptions,
  context: CommandContext,
): Promise<SessionCapsule> {
  const { cwd, home } = context;
  const scope = { ...scopeOfChat(options, context), published };
  const signal = new AbortController().signal;
  const source = await findCapsule(scope, {
    manifestDir: cwd,
    userHome: home,
    packageRoot: findPackageRoot(import.meta.filename),
    platform: platformOf({ platform, arch }),
    sources: options.offline === true ? () => [] : lateSources(context, { flag: undefined, signal }),
  }).catch((error: unknown) => {
    throw error instanceof Diagnostic && error.code === 'E-REG-001' ? nowhere(published, error) : error;
  });
  const read = await reachOfManifest({ ...options, manifest: source.manifestFile }, context, { root: source.root });
  const belief: Omit<Belief, 'folder'> = { label: spell(published), place: published.sha256, trust: options.trust };
  return {
    published,
    // The folder of a session of it was named, since it names none of this machine itself.
    needsProject: true,
    notes: say``,
    believed: async (folder, mayAsk) => await believe(read, { ...belief, folder }, { context, mayAsk, scope }),
  };
}

function nowhere(published: PublishedCapsule, cause: Diagnostic): Diagnostic {
  return new Diagnostic('E-RUN-200', `the capsule of that session is not here any more: ${cause.message}`, {
    hint: `svc install ${spell(published)} brings it back from a registry that has it; svc trace show says what was done`,
    cause,
  });
}

/** `E-RUN-200`, for a session of a capsule where there is no manifest. */
export async function withoutManifest(
  id: string,
  options: GoingOnOptions,
  context: CommandContext,
): Promise<Diagnostic> {
  return await withJournal(context, id, options, ({ open }) => {
    const message = `${id} is a session of ${open.capsule.name}, and ${options.manifest} is not here`;
    return new Diagnostic('E-RUN-200', message, {
      hint: 'where its manifest is, svc chat --manifest <path> <session> goes on',
    });
  });
}

/** Whether the manifest that stands there now is one of the same capsule, and what to say where it has changed. `E-RUN-200` for another one. */
async function heldToCapsule(
  id: string,
  options: GoingOnOptions,
  { now, context }: { readonly now: ReadManifest; readonly context: CommandContext },
): Promise<Shown> {
  return await withJournal(context, id, options, (journal) => {
    const { name } = journal.open.capsule;
    if (name !== now.name)
      throw new Diagnostic(
        'E-RUN-200',
        `${id} is a session of ${name}, and ${options.manifest} is that of ${now.name}`,
        { hint: 'name the manifest of the session: svc chat --manifest <path> <session>' },
      );
    const before = manifestIn(journal);
    const isSame = before === null || before === now.text || before.includes('[secret]');
    return isSame ? say`` : say`- ${options.manifest} has changed since: what it grants now holds\n`;
  });
}
