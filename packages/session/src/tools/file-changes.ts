/** Records which file a call of the editor has changed, with its content before and after the call. */

import { closeSync, fstatSync } from 'node:fs';
import { join } from 'node:path';

import type { Preopen } from '@svc/components/component.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { realPath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { ChangedContent, Tool } from './tool.ts';

/** A larger file has its size recorded only. */
const maxHashedBytes = 1024 * 1024;
const changing: ReadonlySet<unknown> = new Set(['write', 'patch']);

type FileState = NonNullable<Extract<TraceEvent, { readonly event_type: 'file_change' }>['before']>;

/** The editor, with a line of the trace for each file that a call of it has changed. `preopens` are the directories that it sees. */
export function withFileChanges(tool: Tool, preopens: readonly Preopen[]): Tool {
  return {
    ...tool,
    call: async (args, context) => {
      const path = changing.has(args['command']) ? pathBelow(args['path']) : null;
      const place = path === null ? null : placeOf(path, preopens);
      if (path === null || place === null) return await tool.call(args, context);
      const before = fileAt(place);
      const outcome = await tool.call(args, context);
      const after = fileAt(place);
      const states = { before: before?.state ?? null, after: after?.state ?? null };
      if (!isSame(states.before, states.after)) {
        const change = before === null ? 'created' : after === null ? 'removed' : 'changed';
        const { taskId: task_id, record, onFileChanged } = context;
        record({ event_type: 'file_change', task_id, tool_name: tool.name, path, change, ...states });
        onFileChanged?.({ path: hostPath(place), before, after });
      }
      return outcome;
    },
  };
}

interface FilePlace {
  /** A directory that the session holds. */
  readonly directory: string;
  /** The path below it. */
  readonly path: string;
}

/** A path as the editor takes it, without `.` and `..`; null for one that it refuses. */
function pathBelow(given: unknown): string | null {
  if (typeof given !== 'string' || given.includes('\0')) return null;
  const segments: string[] = [];
  for (const segment of given.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) return null;
  }
  return segments.length === 0 ? null : segments.join('/');
}

/** The path in the deepest directory that the component sees it in. */
function placeOf(path: string, preopens: readonly Preopen[]): FilePlace | null {
  const around = preopens
    .map(({ guestPath, hostPath: directory }) => ({ prefix: guestPath.slice(1), directory }))
    .filter(({ prefix }) => prefix === '' || path.startsWith(`${prefix}/`))
    .toSorted((a, b) => b.prefix.length - a.prefix.length);
  const [deepest] = around;
  if (deepest === undefined) return null;
  const { prefix, directory } = deepest;
  return { directory, path: prefix === '' ? path : path.slice(prefix.length + 1) };
}

/** The path as the host knows it. */
function hostPath({ directory, path }: FilePlace): string {
  return join(realPath(directory), path);
}

interface FoundFile extends ChangedContent {
  readonly state: FileState;
}

/** Returns null unless the path is a readable regular file. No link is followed: another process may have put one there. */
function fileAt({ directory, path }: FilePlace): FoundFile | null {
  const names = path.split('/');
  const name = names.pop() ?? '';
  return unlessRefused(() => {
    const parent = HeldDirectory.at(directory).below(names.join('/'));
    try {
      const found = parent.openFile(name);
      return found.kind === 'file' ? fileOf(found.fd) : null;
    } finally {
      parent.close();
    }
  }, null);
}

/** Closes the descriptor. */
function fileOf(fd: number): FoundFile {
  try {
    const { size } = fstatSync(fd);
    const bytes = size > maxHashedBytes ? undefined : readFileUpTo(fd, maxHashedBytes);
    if (bytes === undefined) return { state: { bytes: size } };
    return { state: { sha256: sha256Hex(bytes), bytes: bytes.length }, bytes };
  } finally {
    closeSync(fd);
  }
}

function isSame(before: FileState | null, after: FileState | null): boolean {
  if (before === null || after === null) return before === after;
  return before.bytes === after.bytes && before.sha256 === after.sha256;
}
