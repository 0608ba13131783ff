/** Parses data by a schema, and says in words what the schema finds wrong. */

import { type $ZodIssue, type $ZodRawIssue, type $ZodType, type output, safeParse } from 'zod/v4/core';

import type { DiagnosticCode } from '@svc/kit/diagnostics/catalogue.ts';
import { closestName, didYouMean } from '@svc/kit/diagnostics/closest-name.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { holdsCredential, renderKey, renderKeyPath, type KeyPath } from './key-path.ts';
import type { Resolution } from './references.ts';

/** Something that is wrong with a file. */
export interface Finding {
  /** `E-` codes refuse the file, `W-` codes do not. */
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly place: FindingPlace;
}

export interface FindingPlace {
  readonly path: KeyPath;
  /** The value unless said otherwise. */
  readonly part?: 'key' | 'value';
  readonly hint?: string;
}

/** How many diagnostics one file gets at most. */
export const maxFindings = 100;

interface ParseRequest<Schema extends $ZodType> {
  readonly schema: Schema;
  /** What is parsed; the keys that the schema does not know are taken out of it. */
  readonly data: unknown;
  readonly resolution: Resolution;
  /** Where a key stands that the schema does not know. */
  readonly lineOf: (path: KeyPath) => number;
  /** Whether such a key of this block refuses the file; else it is ignored. */
  readonly refusesUnknown: (block: KeyPath) => boolean;
}

interface ParsedData<Schema extends $ZodType> {
  /** Undefined where the schema refuses the data. */
  readonly parsed: { readonly output: output<Schema> } | undefined;
  readonly findings: readonly Finding[];
}

/**
 * Parses, and once more without the keys the schema does not know, which only warn (docs/manifest.md "Reading a manifest"), or whose variables may be
 * unset.
 */
export function parseBySchema<Schema extends $ZodType>(request: ParseRequest<Schema>): ParsedData<Schema> {
  const { schema, data, resolution } = request;
  const first = parsed(schema, data);
  if (first.success) return { parsed: { output: first.data }, findings: [] };
  const findings: Finding[] = [];
  let isRefused = false;
  for (const issue of first.error.issues.flatMap(issuesOfBlock)) {
    const path = keyPathOf(issue.path);
    if (issue.code === 'unrecognized_keys') {
      findings.push(...unknownKeys(issue.keys, path, request));
      drop(issue.keys, path, data);
    } else if (resolution.passedOver.has(renderKeyPath(path))) drop(path.slice(-1), path.slice(0, -1), data);
    else {
      isRefused = true;
      findings.push(findingOf(issue, path, resolution));
    }
  }
  const second = isRefused ? null : parsed(schema, data);
  return { parsed: second?.success === true ? { output: second.data } : undefined, findings };
}

/** Where a value may be a text or a block and is a block, what is wrong with that block says more than that it is neither. */
function issuesOfBlock(issue: $ZodIssue): readonly $ZodIssue[] {
  const { input } = issue;
  if (issue.code !== 'invalid_union' || typeof input !== 'object' || input === null || Array.isArray(input))
    return [issue];
  const [ofBlock, ...others] = issue.errors.filter(
    (errors) => errors.every(({ path }) => path.length > 0) || errors.every(({ code }) => code === 'unrecognized_keys'),
  );
  if (ofBlock === undefined || others.length > 0) return [issue];
  return ofBlock.map((each) => Object.assign(each, { path: [...issue.path, ...each.path] }));
}

function parsed<Schema extends $ZodType>(schema: Schema, data: unknown): ReturnType<typeof safeParse<Schema>> {
  // One parse a start: generated code would cost more than it saves.
  return safeParse(schema, data, { error: issueClause, reportInput: true, jitless: true });
}

function drop(keys: KeyPath, block: KeyPath, data: unknown): void {
  const values = block.reduce<unknown>((outer, key) => (outer as Record<string | number, unknown>)[key], data);
  for (const key of keys) delete (values as Record<string | number, unknown>)[key];
}

function unknownKeys(
  keys: readonly string[],
  block: KeyPath,
  { schema, lineOf, refusesUnknown }: ParseRequest<$ZodType>,
): readonly Finding[] {
  const known = knownKeys(schema, block);
  const where = block.length === 0 ? '' : ` of ${renderKeyPath(block)}`;
  return keys.slice(0, maxFindings).map((key) => {
    const path = [...block, key];
    const meant = closestName(key, known);
    // Without the block that was meant, what it holds back would be allowed.
    const isRefused = refusesUnknown(block) || (meant !== undefined && refusesUnknown([...block, meant]));
    const code = isRefused ? 'E-MAN-006' : 'W-SEC-019';
    const ignored = isRefused ? '' : ' and was ignored';
    const message = `${renderKey(key)}${where} in line ${lineOf(path)} is not a known key${ignored}`;
    const hint = meant === undefined ? knownHere(key, block, known) : `did you mean ${meant}?`;
    return { code, message, place: { path, part: 'key', hint } };
  });
}

function knownHere(key: string, block: KeyPath, known: readonly string[]): string {
  if (key === 'runtime' && block.length === 0 && known.includes('inference')) {
    return 'this describes an artifact, not a capsule: a capsule lists it in artifacts, with its folder as source';
  }
  return `known keys here: ${known.join(', ')}`;
}

/** What a schema found wrong, with the value that stands there unless it may be a credential. */
function findingOf(issue: $ZodIssue, path: KeyPath, { references }: Resolution): Finding {
  const where = renderKeyPath(path);
  const name = where === '' ? 'the file' : where;
  if (issue.input === undefined) return { code: 'E-MAN-001', message: `${name} is missing`, place: { path } };
  const reference = references.get(where);
  const hint = hintFor(issue, path);
  const shown = reference === undefined ? shownValue(issue, path) : `the value of ${reference.variable}`;
  const message = sentence(name, issue.message, shown);
  return { code: codeOf(issue), message, place: { path, ...(hint === undefined ? {} : { hint }) } };
}

/** The path of an issue as keys and list positions. */
function keyPathOf(path: readonly PropertyKey[]): KeyPath {
  return path.map((segment) => (typeof segment === 'number' ? segment : String(segment)));
}

/** `port must be at most 65535, not 70000`; `version "latest" is a reserved version`. */
function sentence(name: string, clause: string, shown: string | undefined): string {
  if (shown === undefined) return `${name} ${clause}`;
  return /^must (?!not )/.test(clause) ? `${name} ${clause}, not ${shown}` : `${name} (${shown}) ${clause}`;
}

/** A schema names the code of a refinement of its own. The catalogue is not asked for it: its texts are for `svc explain`, and no start reads them. */
function codeOf(issue: $ZodIssue): DiagnosticCode {
  const code: unknown = issue.code === 'custom' ? issue.params?.['code'] : undefined;
  return typeof code === 'string' ? (code as DiagnosticCode) : 'E-MAN-003';
}

/** What stands there instead; of what may be a credential only its kind. */
function shownValue(issue: $ZodIssue, path: KeyPath): string | undefined {
  const { input } = issue;
  if (input === null) return 'empty';
  if (Array.isArray(input)) return issue.code === 'too_small' || issue.code === 'invalid_union' ? undefined : 'a list';
  if (typeof input === 'object') return 'a block of keys';
  const isCredential = holdsCredential(path);
  if (typeof input === 'string') {
    if (issue.code === 'invalid_type') return 'text';
    return isCredential ? undefined : quoted(withoutUser(input));
  }
  // YAML has read it as a number already: 1.0 would be shown as 1.
  const isUnquoted = issue.code === 'invalid_type' && issue.expected === 'string';
  if (typeof input === 'number' && (isUnquoted || (isCredential && !countsTokens(path)))) return 'a number';
  return typeof input === 'number' || typeof input === 'boolean' ? String(input) : undefined;
}

/** Whether the key is one such as `max_tokens`, whose number is no credential. */
function countsTokens(path: KeyPath): boolean {
  return /\w_tokens$/i.test(String(path.at(-1))) && !holdsCredential(path.slice(0, -1));
}

function withoutUser(text: string): string {
  return text.replace(/\/\/[^/]*@/, '//…@');
}

function hintFor(issue: $ZodIssue, path: KeyPath): string | undefined {
  const { input } = issue;
  if (issue.code === 'invalid_value' && typeof input === 'string') {
    return didYouMean(input, issue.values.map(String));
  }
  if (issue.code === 'invalid_union' && Array.isArray(input)) {
    return input.some((each) => ['number', 'boolean'].includes(typeof each)) ? 'put each value in quotes' : undefined;
  }
  if (path.at(-1) === 'endpoint' && typeof input === 'string' && !input.includes('://')) {
    return 'begin it with https://, or on this machine with http://';
  }
  if (issue.code !== 'invalid_type') return undefined;
  const wantsText = issue.expected === 'string';
  if (wantsText && (typeof input === 'number' || typeof input === 'boolean')) return 'put the value in quotes';
  if (issue.expected === 'array' && typeof input === 'string') {
    return `write a list: ${renderKey(String(path.at(-1)))}: [ … ]`;
  }
  return input === null ? 'give the key a value, or remove it' : undefined;
}

/** The parts of a zod definition that lead to another schema. */
interface Definition {
  readonly type: string;
  readonly innerType?: $ZodType;
  readonly in?: $ZodType;
  readonly getter?: () => $ZodType;
  readonly element?: $ZodType;
  readonly options?: readonly $ZodType[];
  readonly shape?: Readonly<Record<string, $ZodType>>;
}

/** The keys a schema knows in the block at `path`; none where it holds no block. */
function knownKeys(schema: $ZodType, path: KeyPath): readonly string[] {
  let definition = unwrapped(schema);
  for (const segment of path) {
    const next = typeof segment === 'number' ? definition.element : definition.shape?.[segment];
    if (next === undefined) return [];
    definition = unwrapped(next);
  }
  return Object.keys(definition.shape ?? {});
}

/** The definition below `optional`, `default`, `nullable`, `lazy`, the reading side of a pipe and the block of a union. */
function unwrapped(schema: $ZodType): Definition {
  const definition: Definition = schema._zod.def;
  const block = definition.options?.find((option) => unwrapped(option).shape !== undefined);
  const inner = definition.innerType ?? definition.in ?? definition.getter?.() ?? block;
  return inner === undefined ? definition : unwrapped(inner);
}

/**
 * What is wrong with a value, as the clause after its key: `must be a whole number`. Asked only where the schema has no
 * clause of its own.
 */
export function issueClause(issue: $ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${nounFor(issue)}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return tooSmall(issue.origin, Number(issue.minimum), issue.inclusive !== false);
    case 'too_big':
      return issue.origin === 'string'
        ? `must be at most ${issue.maximum} characters`
        : `must be at most ${issue.maximum}${issue.origin === 'array' ? ' entries' : ''}`;
    case 'invalid_key':
      return issue.issues[0]?.message ?? 'is not allowed';
    case 'invalid_format':
    case 'not_multiple_of':
    case 'invalid_union':
    case 'invalid_element':
    case 'unrecognized_keys':
    case 'custom':
      return 'is not allowed';
    default:
      return 'is not allowed';
  }
}

function tooSmall(origin: string, minimum: number, inclusive: boolean): string {
  if (origin === 'string') return 'must not be empty';
  if (origin === 'array') return 'must have at least one entry';
  return inclusive ? `must be at least ${minimum}` : `must be more than ${minimum}`;
}

const nouns: Readonly<Record<string, string>> = {
  string: 'text',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'a block of keys',
  record: 'a block of keys',
};

function nounFor(issue: $ZodRawIssue & { readonly expected?: string }): string {
  const definition = issue.inst?._zod.def;
  if (definition !== undefined && 'format' in definition && definition.format === 'safeint') return 'a whole number';
  return nouns[issue.expected ?? ''] ?? 'a number';
}
