/** Makes a capsule of what a task without a manifest came to. */

import { closeSync } from 'node:fs';
import { relative } from 'node:path';

import { askedList } from '@svc/artifacts/grants/list-grants.ts';
import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isBeneath, realPath } from '@svc/kit/files/resolve-beneath.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { formatDestination, parseDestination } from '@svc/kit/net/network-destination.ts';
import { laterGrantsIn } from '@svc/record/sessions/later-grants.ts';
import { openOwn } from '@svc/record/journal/line-file.ts';
import {
  folderOfSession,
  holdSession,
  isUnstarted,
  locateSession,
  neverStarted,
} from '@svc/record/sessions/recorded-sessions.ts';
import { factsOf } from '@svc/record/sessions/session-facts.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { capsuleText, editor } from './capsule-text.ts';
import { keyVariableIn } from '../script/provider-hint.ts';
import { providers } from './providers.ts';
import { keptManifest } from './task-companion.ts';

const largestManifest = 256 * 1024;

export interface CapsuleOfSession {
  /** The text of `svc.yaml`. */
  readonly text: string;
  /** Where the folder of the task lies from the capsule's own; null where no path below leads there, and `--project` has to name it. */
  readonly path: string | null;
}

/** `E-RUN-070` for a session that is not there, `E-RUN-096` for one that ran a manifest of its own. `directory` is where the manifest is to lie. */
export function capsuleOfSession(
  context: CommandContext,
  wanted: string,
  { name, directory }: { readonly name: string; readonly directory: string },
): CapsuleOfSession {
  const sessions = folderOfSession(context, { manifest: './svc.yaml' }, wanted);
  const id = locateSession(sessions, wanted);
  const { text, granted } = kept(sessions, id);
  const { manifest } = loadCapsuleManifest({ file: keptManifest, text, env: {}, purpose: 'inspect' });
  const path = pathOf(folderOf(sessions, id), directory);
  const comment = [
    `Made of the session ${id}, a task without a manifest.`,
    ...(manifest.artifacts.some(({ runs = [], from = '' }) => runs.length > 0 || from.startsWith('mcp+'))
      ? ['Its MCP servers do not come along: svc add "mcp:<command>" or svc add mcp+https://… adds one.']
      : []),
    ...(manifest.capabilities.project === undefined
      ? ['Put here what the capsule is to work on, or name a directory: svc run --workdir <dir> --task "<task>"']
      : path === null
        ? ['It works in a folder that is named: svc run --project <dir> --task "<task>"']
        : ['It works in a folder of its own repository, where this file lies: svc run --task "<task>"']),
  ];
  return {
    text: capsuleText(name, comment, withGranted(granted, partsOf(manifest, keyVariableIn(text), path))),
    path,
  };
}

function folderOf(sessions: string, id: string): string | null {
  const directory = holdSession(sessions, id);
  try {
    return factsOf(id, directory, false).folder;
  } finally {
    directory.close();
  }
}

function pathOf(folder: string | null, directory: string): string | null {
  if (folder === null) return null;
  const around = realPath(directory);
  return isBeneath(around, folder) ? relative(around, folder) || '.' : null;
}

/** What a person has granted to all of a session since it began. */
interface GrantedSince {
  readonly commands: readonly string[];
  readonly hosts: readonly string[];
  /** Whether commands may write in the folder. */
  readonly writes: boolean;
}

/** The manifest of a task, with what was granted since. */
function kept(folder: string, id: string): { readonly text: string; readonly granted: GrantedSince } {
  const directory = holdSession(folder, id);
  const fd = openOwn(directory, keptManifest, thisUser());
  try {
    const text = fd === null ? undefined : readFileUpTo(fd, largestManifest)?.toString('utf8');
    if (text !== undefined) {
      const granted = laterGrantsIn(directory).filter(({ option }) => option === 'session');
      const commands = granted.flatMap((each) => ('command' in each ? [each.command] : []));
      const hosts = granted.flatMap((each) => ('host' in each ? [shortest(each.host)] : []));
      return { text, granted: { commands, hosts, writes: granted.some((each) => 'write' in each) } };
    }
    if (isUnstarted(directory)) throw neverStarted(id);
  } finally {
    if (fd !== null) closeSync(fd);
    directory.close();
  }
  throw new Diagnostic('E-RUN-096', `${id} was not a task without a manifest, and keeps none of its own`, {
    hint: 'svc new capsule <name> --from takes a session of svc "<task>"; the manifest of any other is where it was run',
  });
}

function withGranted(
  granted: GrantedSince,
  { grants, ...parts }: Parameters<typeof capsuleText>[2],
): Parameters<typeof capsuleText>[2] {
  const commands = [...new Set([...grants.commands, ...granted.commands])];
  const hosts = [...new Set([...grants.hosts, ...granted.hosts])];
  const writes = granted.writes ? ({ folder: 'write' } as const) : {};
  return { ...parts, grants: { ...grants, commands, hosts, ...writes } };
}

/** As a manifest spells it; one that nobody wrote there stays as it is, for the manifest to refuse. */
function shortest(host: string): string {
  const reading = parseDestination(host);
  return reading.kind === 'destination' ? formatDestination(reading.destination) : host;
}

function partsOf(
  { inference, capabilities, artifacts }: CapsuleManifest,
  keyVariable: string | null,
  path: string | null,
): Parameters<typeof capsuleText>[2] {
  const { model, endpoint = '', driver } = inference;
  const { containment } = capabilities;
  return {
    model: {
      model,
      endpoint,
      driver: providers.find((each) => each.driver === driver?.artifact)?.driver ?? 'svc-driver-openai',
      keyVariable,
      ...(inference.insecure_http === true ? { isInsecure: true as const } : {}),
    },
    grants: {
      commands: capabilities.shell?.allow ?? [],
      hosts: askedList(capabilities, 'networkAllow') ?? [],
      variables: capabilities.env?.allow ?? [],
      reads: capabilities.filesystem?.host_read ?? [],
      folder: capabilities.project === undefined ? null : capabilities.project.write ? 'write' : 'read',
      ...(path === null ? {} : { path }),
      keepsGit: true,
      floor: containment === 'advisory' ? null : (containment ?? null),
      editor: editorOf(artifacts),
      hasProjectText: inference.project_text !== undefined,
      skills: artifacts.flatMap(({ name, version, runtime, source }) =>
        runtime === 'skill' && source !== undefined ? [{ name, version, source }] : [],
      ),
    },
  };
}

function editorOf(artifacts: CapsuleManifest['artifacts']): 'read' | 'write' | null {
  const entry = artifacts.find(({ name }) => name === editor);
  if (entry === undefined) return null;
  return entry.capabilities?.filesystem?.read_only === true ? 'read' : 'write';
}
