/** Changes the list of artifacts in the text of a manifest, and leaves every other character, comments too, as it is. */

import { isDeepStrictEqual } from 'node:util';
import { isMap, isScalar, isSeq, parseDocument, type Node, type Pair, type YAMLMap, type YAMLSeq } from 'yaml';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isJsonObject } from '@svc/protocol/json-object.ts';
import type { ServerAuth } from './schema.ts';
import { parseYaml } from './yaml-source.ts';

/** A new row of `artifacts`, as it is written. */
export interface ArtifactRow {
  readonly name: string;
  readonly version: string;
  /** Absent for a tool. */
  readonly runtime?: 'driver' | 'hook' | 'skill';
  readonly range?: string;
  readonly from?: string;
  /** What an MCP server on the web is shown, or what is shown for it. */
  readonly auth?: ServerAuth;
  /** The folder of an MCP server that a project names by its command. */
  readonly source?: string;
  readonly runs?: readonly string[];
}

export type ArtifactEdit =
  | { readonly kind: 'add'; readonly row: ArtifactRow }
  | { readonly kind: 'remove'; readonly name: string }
  /** Keys that are absent stay as they are; null takes a key away. */
  | {
      readonly kind: 'change';
      readonly name: string;
      readonly version: string;
      readonly range?: string | null;
      readonly from?: string | null;
    };

/**
 * The text with the edits made, one after the other. Each result is read again and compared with what it should say: `E-REG-029` where the text is
 * written in a way that the edit would not come out as that, and nothing is changed then.
 */
export function editArtifacts(file: string, text: string, edits: readonly ArtifactEdit[]): string {
  return edits.reduce((before, edit) => editOnce(file, before, edit), text);
}

function editOnce(file: string, text: string, edit: ArtifactEdit): string {
  const wanted = expected(parseYaml(file, text).value, edit);
  const splice = wanted === null ? null : spliceOf(new Draft(text), edit);
  if (splice === null) throw notEditable(file, edit);
  const result = text.slice(0, splice.start) + splice.text + text.slice(splice.end);
  const source = parseYaml(file, result);
  if (source.problems.length > 0 || !isDeepStrictEqual(source.value, wanted)) throw notEditable(file, edit);
  return result;
}

function notEditable(file: string, edit: ArtifactEdit): Diagnostic {
  const name = edit.kind === 'add' ? edit.row.name : edit.name;
  return new Diagnostic('E-REG-029', `the way ${file} is written, svc cannot ${edit.kind} the entry of ${name} in it`, {
    hint: 'change artifacts by hand, then run svc install',
  });
}

/** What the file should say after the edit; null when it has no such entry, or no valid list. */
function expected(value: unknown, edit: ArtifactEdit): unknown {
  if (!isJsonObject(value)) return null;
  const rows = value['artifacts'] ?? [];
  if (!Array.isArray(rows)) return null;
  if (edit.kind === 'add') return { ...value, artifacts: [...(rows as unknown[]), { ...edit.row }] };
  const index = indexIn(rows, edit.name);
  if (index < 0) return null;
  if (edit.kind === 'remove') return { ...value, artifacts: rows.toSpliced(index, 1) as unknown[] };
  const row: Record<string, unknown> = { ...(rows[index] as object), version: edit.version };
  for (const key of ['range', 'from'] as const) {
    const change = edit[key];
    if (change === null) delete row[key];
    else if (change !== undefined) row[key] = change;
  }
  return { ...value, artifacts: rows.with(index, row) as unknown[] };
}

function indexIn(rows: readonly unknown[], name: string): number {
  return rows.findIndex((row) => isJsonObject(row) && row['name'] === name);
}

/** Characters to put in place of a part of the text. */
interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A text under edit, with the nodes of its list of artifacts. */
class Draft {
  readonly text: string;
  readonly root: YAMLMap | null;
  readonly newline: string;

  constructor(text: string) {
    this.text = text;
    const { contents } = parseDocument(text, { schema: 'core', stringKeys: true, uniqueKeys: false });
    this.root = isMap(contents) && contents.flow !== true ? contents : null;
    this.newline = text.includes('\r\n') ? '\r\n' : '\n';
  }

  get list(): Pair<Node, Node | null> | undefined {
    return this.root === null ? undefined : pairOf(this.root, 'artifacts');
  }

  /** Where the line of a place begins. */
  lineStart(at: number): number {
    return this.text.lastIndexOf('\n', at - 1) + 1;
  }

  /** Where the line of a place ends, in front of its line end. */
  lineEnd(at: number): number {
    const end = this.text.indexOf('\n', at);
    const stop = end === -1 ? this.text.length : end;
    return stop > at && this.text[stop - 1] === '\r' ? stop - 1 : stop;
  }

  /** The end of what a node says, without the blanks, line ends and comments behind it. */
  valueEnd(node: Node): number {
    const [start, end] = rangeOf(node);
    return start + this.text.slice(start, end).trimEnd().length;
  }

  /** How far a place stands from the beginning of its line. */
  column(at: number): number {
    return at - this.lineStart(at);
  }
}

function rangeOf(node: Node): readonly [number, number] {
  const [start = 0, end = 0] = node.range ?? [];
  return [start, end];
}

function pairOf(map: YAMLMap, key: string): Pair<Node, Node | null> | undefined {
  return (map.items as Pair<Node, Node | null>[]).find((pair) => isScalar(pair.key) && pair.key.value === key);
}

/** Returns null where the text is written in a way that is not edited here. */
function spliceOf(draft: Draft, edit: ArtifactEdit): Splice | null {
  if (edit.kind === 'add') return added(draft, edit.row);
  const list = draft.list?.value;
  if (!isSeq(list)) return null;
  const index = (list.items as Node[]).findIndex((item) => nameIn(item) === edit.name);
  const item = list.items[index] as Node | undefined;
  if (!isMap(item)) return null;
  return edit.kind === 'remove' ? removed(draft, list, index) : changed(draft, item, edit);
}

function nameIn(item: Node): unknown {
  const value = isMap(item) ? pairOf(item, 'name')?.value : null;
  return isScalar(value) ? value.value : null;
}

function added(draft: Draft, row: ArtifactRow): Splice | null {
  const { newline, text } = draft;
  const { list } = draft;
  if (list === undefined) {
    if (draft.root === null) return null;
    const gap = text === '' || text.endsWith('\n') ? '' : newline;
    return insertion(text.length, `${gap}artifacts:${newline}  - ${flowRow(row)}${newline}`);
  }
  const { value } = list;
  const last = isSeq(value) ? (value.items.at(-1) as Node | undefined) : undefined;
  if (isSeq(value) && value.flow === true) {
    if (last !== undefined) return insertion(draft.valueEnd(last), `, ${flowRow(row)}`);
    const [start, end] = rangeOf(value);
    return { start, end, text: `[${flowRow(row)}]` };
  }
  if (isSeq(value) && last !== undefined) {
    const end = draft.lineEnd(draft.valueEnd(last));
    const indent = ' '.repeat(draft.column(dashOf(draft, last) ?? 0));
    const shown = isMap(last) && last.flow !== true ? blockRow(row, indent, newline) : flowRow(row);
    return insertion(end, `${newline}${indent}- ${shown}`);
  }
  // The key stands there with nothing behind it.
  const [, keyEnd] = rangeOf(list.key);
  return insertion(draft.lineEnd(keyEnd), `${newline}  - ${flowRow(row)}`);
}

function insertion(at: number, text: string): Splice {
  return { start: at, end: at, text };
}

/** Where the dash of an item of a block list stands; null where something else stands between it and the item. */
function dashOf(draft: Draft, item: Node): number | null {
  const [start] = rangeOf(item);
  const before = draft.text.slice(draft.lineStart(start), start);
  const found = /^ *(-) +$/.exec(before);
  return found === null ? null : draft.lineStart(start) + before.indexOf('-');
}

function removed(draft: Draft, list: YAMLSeq, index: number): Splice | null {
  const items = list.items as Node[];
  const item = items[index];
  if (item === undefined) return null;
  const [start] = rangeOf(item);
  const end = draft.valueEnd(item);
  if (list.flow === true) {
    const [before, after] = [items[index - 1], items[index + 1]];
    if (before !== undefined) return { start: draft.valueEnd(before), end, text: '' };
    return { start, end: after === undefined ? end : rangeOf(after)[0], text: '' };
  }
  const dash = dashOf(draft, item);
  if (dash === null) return null;
  const whole = { start: draft.lineStart(dash), end: Math.min(draft.text.length, draft.lineEnd(end)), text: '' };
  if (items.length > 1) return withLineEnd(draft, whole);
  // A key with nothing behind it would not be a list.
  const key = draft.list?.key;
  return key === undefined ? null : lastRemoved(draft, key, whole);
}

function withLineEnd({ text }: Draft, { start, end }: Splice): Splice {
  const lineEnd = /^\r?\n/.exec(text.slice(end, end + 2))?.[0] ?? '';
  return { start, end: end + lineEnd.length, text: '' };
}

/** `[]` behind the key, comments that stand between it and the item kept. */
function lastRemoved(draft: Draft, key: Node, item: Splice): Splice | null {
  const [, keyEnd] = rangeOf(key);
  const colon = draft.text.indexOf(':', keyEnd);
  if (colon === -1 || colon > item.start) return null;
  const between = draft.text.slice(colon + 1, item.start);
  const { end } = withLineEnd(draft, item);
  return { start: colon + 1, end, text: ` []${between}` };
}

function changed(draft: Draft, row: YAMLMap, edit: Extract<ArtifactEdit, { kind: 'change' }>): Splice | null {
  const version = pairOf(row, 'version');
  if (version === undefined || !isScalar(version.value)) return null;
  const [start] = rangeOf(row);
  const end = draft.valueEnd(row);
  // From the last place to the first, so that no edit moves the place of another.
  const splices: Splice[] = [replaced(draft, version.value, edit.version)];
  const last = version.value;
  for (const key of ['range', 'from'] as const) {
    const change = edit[key];
    const present = pairOf(row, key);
    if (change === undefined || (change === null && present === undefined)) continue;
    if (present === undefined) splices.push(keyBehind(draft, row, { last, key, value: change ?? '' }));
    else if (change !== null && isScalar(present.value)) splices.push(replaced(draft, present.value, change));
    else splices.push(keyRemoved(draft, row, present));
  }
  const sorted = splices.toSorted((one, other) => other.start - one.start || other.end - one.end);
  // A version and what is put behind it begin at the same place only where the version is empty.
  const result = sorted.reduce(
    (text, splice) => text.slice(0, splice.start - start) + splice.text + text.slice(splice.end - start),
    draft.text.slice(start, Math.max(end, ...splices.map((splice) => splice.end))),
  );
  return { start, end: Math.max(end, ...splices.map((splice) => splice.end)), text: result };
}

function replaced(draft: Draft, node: Node, value: string): Splice {
  const [start] = rangeOf(node);
  return { start, end: draft.valueEnd(node), text: scalar(value) };
}

interface NewKey {
  /** The value that the key is put behind. */
  readonly last: Node;
  readonly key: string;
  readonly value: string;
}

function keyBehind(draft: Draft, row: YAMLMap, { last, key, value }: NewKey): Splice {
  const end = draft.valueEnd(last);
  if (row.flow === true) return insertion(end, `, ${key}: ${scalar(value)}`);
  const indent = ' '.repeat(draft.column(rangeOf(row)[0]));
  return insertion(draft.lineEnd(end), `${draft.newline}${indent}${key}: ${scalar(value)}`);
}

function keyRemoved(draft: Draft, row: YAMLMap, pair: Pair<Node, Node | null>): Splice {
  const pairs = row.items as Pair<Node, Node | null>[];
  const index = pairs.indexOf(pair);
  const [before, after] = [pairs[index - 1], pairs[index + 1]];
  const valueEnd = draft.valueEnd(pair.value ?? pair.key);
  const end = before === undefined && after !== undefined ? rangeOf(after.key)[0] : valueEnd;
  const start = before === undefined ? rangeOf(pair.key)[0] : draft.valueEnd(before.value ?? before.key);
  if (row.flow === true || before === undefined) return { start, end, text: '' };
  const line = draft.lineStart(rangeOf(pair.key)[0]);
  return withLineEnd(draft, { start: line, end: draft.lineEnd(end), text: '' });
}

function entriesOf({ runs, ...row }: ArtifactRow): readonly (readonly [string, string])[] {
  const { name, version, runtime, range, from, auth, source } = row;
  const all = { name, version, runtime, range, from, auth, source };
  const texts = Object.entries(all).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, typeof value === 'string' ? scalar(value) : flowMap(scalars(value))] as const],
  );
  return runs === undefined ? texts : [...texts, ['runs', `[${runs.map(scalar).join(', ')}]`]];
}

function scalars(map: object): readonly (readonly [string, string])[] {
  return Object.entries(map).map(([key, value]) => [key, scalar(String(value))]);
}

function flowMap(entries: readonly (readonly [string, string])[]): string {
  return `{ ${entries.map(([key, value]) => `${key}: ${value}`).join(', ')} }`;
}

function flowRow(row: ArtifactRow): string {
  return flowMap(entriesOf(row));
}

function blockRow(row: ArtifactRow, indent: string, newline: string): string {
  return entriesOf(row)
    .map(([key, value]) => `${key}: ${value}`)
    .join(`${newline}${indent}  `);
}

/** Without quotes where every reader takes the text for the same text. */
function scalar(value: string): string {
  if (/^[0-9A-Za-z^~][0-9A-Za-z.^~+-]*$/.test(value)) {
    const { contents } = parseDocument(value, { schema: 'core' });
    const { contents: older } = parseDocument(value, { version: '1.1' });
    if (isScalar(contents) && contents.value === value && isScalar(older) && older.value === value) return value;
  }
  return JSON.stringify(value);
}
