/** Says whether a list of a skill lets more through than another one, in one capsule and in every one there could be. */

import { matchesText } from '@svc/artifacts/manifest/name-pattern.ts';
import {
  allowedTools,
  delegationTool,
  editorTool,
  type ListedCallable,
  namesIn,
  type Permit,
  readerCommands,
  serverToolIn,
} from './allowed-tools.ts';

/** What a skill asks for. */
export interface AskedBySkill {
  /** The words of its list; null without one. */
  readonly words: readonly string[] | null;
  /** The program that runs a file, for those that are scripts. */
  readonly scripts: Readonly<Record<string, string>>;
}

interface Listed extends AskedBySkill {
  readonly words: readonly string[];
}

/**
 * Whether `before` lets through all that `after` does in every capsule there could be: a word that stands for nothing in the capsule of today may stand for a
 * command in that of tomorrow. False where nobody can say.
 */
export function coversEverywhere(before: AskedBySkill, after: AskedBySkill): boolean {
  if (before.words === null) return true;
  if (after.words === null) return false;
  const [old, now]: readonly [Listed, Listed] = [
    { words: [...new Set(before.words)], scripts: before.scripts },
    { words: [...new Set(after.words)], scripts: after.scripts },
  ];
  const any = unusedCharacter([...old.words, ...now.words].join(''));
  if (any === null) return false;
  const permitsOf = ({ words, scripts }: Listed, callable: readonly ListedCallable[]): readonly Permit[] =>
    distinct(allowedTools(words, callable, { root: `${any}/`, scripts }).permits);
  return capsulesFor([old, now], any).every((callable) => covers(permitsOf(old, callable), permitsOf(now, callable)));
}

/**
 * Capsules in which each word stands for all that it could stand for. A star stands for a character that no list has: what matches that with a star of its
 * own matches whatever is in its place. Skills and questions are left out, since no list decides on them.
 */
function capsulesFor(lists: readonly Listed[], any: string): readonly (readonly ListedCallable[])[] {
  const words = lists.flatMap((each) => each.words);
  const named = words.flatMap((word) => namesIn(word)).map((name) => name.replaceAll('*', any));
  const interpreters = lists.flatMap(({ scripts }) => Object.values(scripts));
  const names = new Set([any, ...readerCommands, ...interpreters, ...named]);
  const own = [editorTool, delegationTool].map((name) => ({ name, kind: 'runtime' }));
  for (const { name } of own) names.delete(name);
  const servers = new Map<string, ListedCallable[]>();
  for (const word of words) {
    const { artifact, tool } = serverToolIn(word) ?? {};
    if (artifact === undefined || tool === undefined) continue;
    // Its name alone does not say which server it is of.
    const name = `${any.repeat(artifact.length + 2)}${tool.replaceAll('*', any)}`;
    servers.set(artifact, [...(servers.get(artifact) ?? []), { name, kind: 'mcp', artifact }]);
  }
  const withAll = (kind: string): readonly ListedCallable[] => [...own, ...[...names].map((name) => ({ name, kind }))];
  return [withAll('shell'), withAll('wasm'), ...servers.values()];
}

/** A character of the private use area that the text does not have; null where it has all of them. */
function unusedCharacter(text: string): string | null {
  const used = new Set(text);
  for (let code = 0xe000; code <= 0xf8ff; code += 1) {
    const character = String.fromCharCode(code);
    if (!used.has(character)) return character;
  }
  return null;
}

/** A list may have the same permit a million times. */
function distinct(permits: readonly Permit[]): readonly Permit[] {
  return [...new Map(permits.map((permit) => [JSON.stringify(permit), permit])).values()];
}

/** Whether `before` lets through all that `after` does; false where only a call could show it. A skill without a list, null, lets everything through. */
export function covers(before: readonly Permit[] | null, after: readonly Permit[] | null): boolean {
  if (before === null) return true;
  if (after === null) return false;
  const old = new Map<string, Permit[]>();
  for (const one of before) {
    const same = old.get(one.tool);
    if (same === undefined) old.set(one.tool, [one]);
    else same.push(one);
  }
  return after.every((one) => (old.get(one.tool) ?? []).some((other) => coversOne(other, one)));
}

function coversOne(old: Permit, now: Permit): boolean {
  if (old.tool !== now.tool || (old.readOnly === true && now.readOnly !== true)) return false;
  if (old.command !== undefined && old.command !== now.command) return false;
  if (old.capsule !== undefined && old.capsule !== now.capsule) return false;
  if (old.words === undefined) return true;
  if (now.words === undefined || now.words.length < old.words.length) return false;
  if (old.open !== true && (now.open === true || now.words.length !== old.words.length)) return false;
  const { words } = now;
  return old.words.every((word, index) => {
    const given = words[index] ?? '';
    return word === given || word === '*' || (!given.includes('*') && matchesText(word, given));
  });
}
