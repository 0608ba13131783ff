/** Makes a capsule of what a task without a manifest came to. */

import { closeSync } from 'node:fs';

import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { openOwn } from '@svc/record/journal/line-file.ts';
import { folderOfSession, holdSession, locateSession } from '@svc/record/sessions/recorded-sessions.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { capsuleText, editor } from './capsule-text.ts';
import { keyVariableIn } from '../script/provider-hint.ts';
import { providers } from './providers.ts';
import { keptManifest } from './task-companion.ts';

const largestManifest = 256 * 1024;

/** The text of `svc.yaml`. `E-RUN-070` for a session that is not there, `E-RUN-096` for one that ran a manifest of its own. */
export function capsuleOfSession(context: CommandContext, wanted: string, name: string): string {
  const folder = folderOfSession(context, { manifest: './svc.yaml' }, wanted);
  const id = locateSession(folder, wanted);
  const text = keptText(folder, id);
  const { manifest } = loadCapsuleManifest({ file: keptManifest, text, env: {}, purpose: 'inspect' });
  const comment = [
    `Made of the session ${id}, a task without a manifest.`,
    'The folder that it was given does not come along: a manifest grants nothing outside the workdir.',
    ...(manifest.artifacts.some(({ runs = [] }) => runs.length > 0)
      ? ['Nor do its MCP servers: svc add "mcp:<command>" adds one.']
      : []),
    'Put there what the capsule is to work on, or name a directory: svc run --workdir <dir> --task "<task>"',
  ];
  return capsuleText(name, comment, partsOf(manifest, keyVariableIn(text)));
}

function keptText(folder: string, id: string): string {
  const directory = holdSession(folder, id);
  const fd = openOwn(directory, keptManifest, thisUser());
  try {
    const text = fd === null ? undefined : readFileUpTo(fd, largestManifest)?.toString('utf8');
    if (text !== undefined) return text;
  } finally {
    if (fd !== null) closeSync(fd);
    directory.close();
  }
  throw new Diagnostic('E-RUN-096', `${id} was not a task without a manifest, and keeps none of its own`, {
    hint: 'svc new capsule <name> --from takes a session of svc "<task>"; the manifest of any other is where it was run',
  });
}

function partsOf(
  { inference, capabilities, artifacts }: CapsuleManifest,
  keyVariable: string | null,
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
      hosts: capabilities.network?.allow ?? [],
      variables: capabilities.env?.allow ?? [],
      reads: capabilities.filesystem?.host_read ?? [],
      folder: null,
      keepsGit: false,
      floor: containment === 'advisory' ? null : (containment ?? null),
      editor: editorOf(artifacts),
    },
  };
}

function editorOf(artifacts: CapsuleManifest['artifacts']): 'read' | 'write' | null {
  const entry = artifacts.find(({ name }) => name === editor);
  if (entry === undefined) return null;
  return entry.capabilities?.filesystem?.read_only === true ? 'read' : 'write';
}
