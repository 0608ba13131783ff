/** Says to an editor what a tool call is, and what it came to. */

import { isUtf8 } from 'node:buffer';
import { posix } from 'node:path';

import { shortened } from '@svc/kit/diagnostics/printable.ts';
import { asJsonObject } from '@svc/protocol/json-object.ts';
import { fenceEnd } from '@svc/session/tools/untrusted-fence.ts';
import type { DispatchedCall, FileChange, RequestedCall } from '@svc/session/tools/tool.ts';
import { type AcpUpdate, type ToolContent, type ToolKind, type ToolLocation, textBlock } from './updates.ts';

/** What is known of a capsule before any of its tools was called. */
export interface CalledTools {
  /** Where the editor's paths begin, absolute. */
  readonly editorRoot: string;
  /** What `project/` there is, absolute; null where the capsule has none. */
  readonly project: string | null;
  readonly commands: ReadonlySet<string>;
}

const editor = 'svc-tool-editor';
const editorKinds: ReadonlyMap<unknown, ToolKind> = new Map([
  ['read', 'read'],
  ['list', 'read'],
  ['write', 'edit'],
  ['patch', 'edit'],
  ['search', 'search'],
]);
/** Tools of `svc` that reach other capsules. */
const peers: ReadonlySet<string> = new Set(['delegate-task', 'share-file', 'fetch-peer-file']);

const maxTitle = 200;
/** Limit for the arguments as JSON: longer ones are not shown. */
const maxInput = 1024 * 1024;
/** Limit for a result as it is shown; the model has all of it. */
const maxResult = 64 * 1024;

/** A call that begins. */
export function callStarted(toolCallId: string, { name, input }: RequestedCall, tools: CalledTools): AcpUpdate {
  const given = asJsonObject(input) ?? {};
  const locations = name === editor ? placesOf(given['path'], tools) : [];
  const isShort = (JSON.stringify(input) ?? '').length <= maxInput;
  return {
    sessionUpdate: 'tool_call',
    toolCallId,
    title: titleOf(name, given),
    kind: kindOf(name, given, tools),
    status: 'pending',
    ...(isShort ? { rawInput: input } : {}),
    ...(locations.length === 0 ? {} : { locations }),
  };
}

/** A call that has ended, with the files that it changed. */
export function callEnded(toolCallId: string, call: DispatchedCall, changes: readonly FileChange[]): AcpUpdate {
  const diffs = changes.flatMap(diffOf);
  const locations = changes.map(({ path }) => ({ path }));
  return {
    sessionUpdate: 'tool_call_update',
    toolCallId,
    status: call.isError ? 'failed' : 'completed',
    ...(call.kind === 'mcp' ? { kind: 'fetch' as const } : {}),
    content: [
      ...diffs,
      ...(diffs.length > 0 && !call.isError ? [] : resultOf(call.unfenced)),
      ...resultOf(behindFence(call)),
    ],
    ...(locations.length === 0 ? {} : { locations }),
  };
}

/** `svc-tool-editor` with a command and a path is that; a command of the shell is its line. */
function titleOf(name: string, given: Readonly<Record<string, unknown>>): string {
  const [command, path] = [given['command'], given['path']].map((word) => (typeof word === 'string' ? word : ''));
  const words = name === editor ? [command, path] : [name, command];
  const title = words.filter((word) => word !== '').join(' ');
  return shortened((title === '' ? name : title).replaceAll(/\s+/g, ' '), maxTitle).toWellFormed();
}

function kindOf(name: string, given: Readonly<Record<string, unknown>>, { commands }: CalledTools): ToolKind {
  if (name === editor) return editorKinds.get(given['command']) ?? 'other';
  if (commands.has(name)) return 'execute';
  return peers.has(name) ? 'fetch' : 'other';
}

/** Gives nothing for a path that the editor will refuse. */
function placesOf(path: unknown, { editorRoot, project }: CalledTools): readonly ToolLocation[] {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) return [];
  const below = posix.normalize(`./${path}`);
  if (below.startsWith('..')) return [];
  const inProject = project === null ? null : /^project(?:\/(.*))?$/s.exec(below);
  return [{ path: inProject ? posix.join(project ?? '', inProject[1] ?? '') : posix.join(editorRoot, below) }];
}

/** Empty for a file that is no text, that is too large, or that is gone. */
function diffOf({ path, before, after }: FileChange): readonly ToolContent[] {
  const newText = after === null ? null : textOf(after.bytes);
  const oldText = before === null ? null : textOf(before.bytes);
  if (newText === null || (before !== null && oldText === null)) return [];
  return [{ type: 'diff', path, oldText, newText }];
}

function textOf(bytes: Buffer | undefined): string | null {
  return bytes !== undefined && isUtf8(bytes) ? bytes.toString() : null;
}

/** What `svc` says behind a result: what was held back of the call, and what was granted. No text inside the fence holds its end. */
function behindFence({ content, fenceSource, unfenced }: DispatchedCall): string {
  const at = fenceSource === null ? content.indexOf(unfenced) : content.indexOf(fenceEnd);
  const length = fenceSource === null ? unfenced.length : fenceEnd.length;
  return at < 0 ? '' : content.slice(at + length).trim();
}

/** Fences a text with marks that no line of it has: editors show texts as Markdown. */
function resultOf(text: string): readonly ToolContent[] {
  if (text === '') return [];
  const shown = shortened(text, maxResult);
  const longest = Math.max(2, ...[...shown.matchAll(/`+/g)].map(([marks]) => marks.length));
  const fence = '`'.repeat(longest + 1);
  return [{ type: 'content', content: textBlock(`${fence}\n${shown}\n${fence}`) }];
}
