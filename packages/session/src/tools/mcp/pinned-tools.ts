/** Compares the tools that a server lists now with those that a person accepted. */

import { firstNames } from '@svc/kit/diagnostics/printable.ts';
import { isJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';

/** What decides on a tool: titles, icons, hints and what it returns do not. */
export interface PinnedTool {
  readonly name: string;
  readonly description: string;
  /** As the server wrote it. */
  readonly inputSchema: JsonObject;
}

/** The tools of a list in the order of their names; of two with one name the first. What is no tool is left out. */
export function pinnedTools(listed: readonly unknown[]): readonly PinnedTool[] {
  const tools = new Map<string, PinnedTool>();
  for (const tool of listed) {
    const { name, description, inputSchema, execution } = isJsonObject(tool) ? tool : {};
    if (typeof name !== 'string' || tools.has(name)) continue;
    // It answers only as a task, which nobody here waits for.
    if (isJsonObject(execution) && execution['taskSupport'] === 'required') continue;
    const words = typeof description === 'string' ? description : '';
    tools.set(name, { name, description: words, inputSchema: isJsonObject(inputSchema) ? inputSchema : {} });
  }
  return [...tools.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The hash of what the server at an address lists, in hex: the same for each order of tools and of keys. */
export function pinOf({ href }: URL, tools: readonly PinnedTool[]): string {
  return sha256Hex(canonicalJson([href, tools]));
}

/** Lists whose order says nothing (JSON Schema). */
const unordered: ReadonlySet<string> = new Set(['required', 'enum', 'type']);

/** JSON with sorted keys and no blanks (RFC 8785), in which lists of JSON Schema without an order are sorted too. */
export function canonicalJson(value: unknown, key: string = ''): string {
  if (Array.isArray(value)) {
    const items = value.map((item) => canonicalJson(item));
    return `[${(unordered.has(key) ? items.toSorted() : items).join(',')}]`;
  }
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name], name)}`);
  return `{${members.join(',')}}`;
}

interface PinChange {
  /** The tools that take other arguments. */
  readonly refused: ReadonlySet<string>;
  /** What differs, in words; null when nothing does. */
  readonly change: string | null;
}

const maxNames = 10;

/** How a list differs from the one that was accepted. */
export function pinChange(accepted: readonly PinnedTool[], now: readonly PinnedTool[]): PinChange {
  const live = new Map(now.map((tool) => [tool.name, tool]));
  const known = new Set(accepted.map(({ name }) => name));
  const differs = (part: 'description' | 'inputSchema'): readonly string[] =>
    accepted.flatMap((tool) => {
      const other = live.get(tool.name);
      return other === undefined || canonicalJson(other[part]) === canonicalJson(tool[part]) ? [] : [tool.name];
    });
  const refused = differs('inputSchema');
  const parts = [
    named(
      'gone',
      [...known].filter((name) => !live.has(name)),
    ),
    named(
      'new',
      [...live.keys()].filter((name) => !known.has(name)),
    ),
    named('with other arguments', refused),
    named('with another description', differs('description')),
  ].filter((part) => part !== null);
  return { refused: new Set(refused), change: parts.length === 0 ? null : parts.join('; ') };
}

/** Names of a server are its text: only those that are names of the protocol are shown. */
function named(what: string, names: readonly string[]): string | null {
  if (names.length === 0) return null;
  const shown = names.map((name) =>
    /^[A-Za-z0-9_.-]{1,128}$/.test(name) ? name : 'a name that is not one of the protocol',
  );
  return `${what}: ${firstNames(shown, maxNames)}`;
}
