import type { $ZodIssue, $ZodType, output } from 'zod/v4/core';
import { safeParse } from 'zod/v4/core';

import { catalogue, type DiagnosticCode } from '../diagnostics/catalogue.ts';
import { closestName } from '../diagnostics/closest-name.ts';
import { Diagnostic, DiagnosticList } from '../diagnostics/diagnostic.ts';
import { quoted } from '../diagnostics/printable.ts';
import { issueClause } from './issue-clause.ts';
import { holdsCredential, renderKey, renderKeyPath, type KeyPath } from './key-path.ts';
import { resolveReferences, type Environment, type Resolution } from './references.ts';
import { knownKeys } from './schema-keys.ts';
import { parseYaml, type YamlSource } from './yaml-source.ts';

/** Collects what is found wrong while a file is checked. */
export interface Findings {
  /** `E-` codes refuse the file, `W-` codes do not. */
  add(code: DiagnosticCode, message: string, place: FindingPlace): void;
}

export interface FindingPlace {
  readonly path: KeyPath;
  /** The value unless said otherwise. */
  readonly part?: 'key' | 'value';
  readonly hint?: string;
}

export interface DocumentRequest<Schema extends $ZodType> {
  readonly file: string;
  readonly text: string;
  readonly schema: Schema;
  /** What references are resolved from; without it they stay as they are written. */
  readonly env?: Environment;
  /** True for the keys whose references are not resolved. */
  readonly leave?: (path: KeyPath) => boolean;
  /** Rules across keys; `data` is what the file holds, of any shape. */
  readonly rules?: (data: unknown, findings: Findings) => void;
}

export interface CheckedDocument<Schema extends $ZodType> {
  readonly value: output<Schema>;
  readonly warnings: readonly Diagnostic[];
  readonly source: YamlSource;
}

const mostFindings = 100;
const longestMessage = 300;

/**
 * Reads a YAML file by a schema. Throws a `DiagnosticList` of every problem and warning in the order of the file
 * when anything refuses it: `E-MAN-001` to `E-MAN-003` and the codes of the schema's own checks.
 */
export function readDocument<Schema extends $ZodType>(request: DocumentRequest<Schema>): CheckedDocument<Schema> {
  const source = parseYaml(request.file, request.text);
  const resolution = resolveReferences({ source, env: request.env, leave: request.leave ?? (() => false) });
  const found: Diagnostic[] = [...source.problems, ...resolution.problems];
  const findings = findingsInto(found, source);
  const reading = { data: resolution.value ?? {}, source, resolution, findings };
  const value = parseWithoutUnknown(request.schema, reading);
  request.rules?.(reading.data, findings);
  if (value === undefined || found.some(isError)) throw new DiagnosticList(mostTelling(found));
  return { value: value.output, warnings: mostTelling(found), source };
}

function findingsInto(found: Diagnostic[], source: YamlSource): Findings {
  return {
    add: (code, message, { path, part = 'value', hint }) => {
      const cut = message.length > longestMessage ? `${message.slice(0, longestMessage)}…` : message;
      const location = source.locate(path, part);
      found.push(new Diagnostic(code, cut, { location, ...(hint === undefined ? {} : { hint }) }));
    },
  };
}

interface Reading {
  readonly data: unknown;
  readonly source: YamlSource;
  readonly resolution: Resolution;
  readonly findings: Findings;
}

/** Parses, and once more without the keys the schema does not know, which only warn (contracts §3). */
function parseWithoutUnknown<Schema extends $ZodType>(
  schema: Schema,
  reading: Reading,
): { readonly output: output<Schema> } | undefined {
  const first = parsed(schema, reading.data);
  if (first.success) return { output: first.data };
  let refused = false;
  for (const issue of first.error.issues) {
    if (issue.code === 'unrecognized_keys') dropUnknown(issue, schema, reading);
    else {
      refused = true;
      report(issue, reading);
    }
  }
  if (refused) return undefined;
  const second = parsed(schema, reading.data);
  return second.success ? { output: second.data } : undefined;
}

function parsed<Schema extends $ZodType>(schema: Schema, data: unknown): ReturnType<typeof safeParse<Schema>> {
  // One parse a start: generated code would cost more than it saves.
  return safeParse(schema, data, { error: issueClause, reportInput: true, jitless: true });
}

function dropUnknown(issue: $ZodIssue & { code: 'unrecognized_keys' }, schema: $ZodType, reading: Reading): void {
  const block = keyPathOf(issue.path);
  const known = knownKeys(schema, block);
  const values = block.reduce<unknown>((value, key) => (value as Record<string | number, unknown>)[key], reading.data);
  for (const key of issue.keys) delete (values as Record<string, unknown>)[key];
  for (const key of issue.keys.slice(0, mostFindings)) {
    const meant = closestName(key, known);
    const where = block.length === 0 ? '' : ` of ${renderKeyPath(block)}`;
    const path = [...block, key];
    const { line } = reading.source.locate(path, 'key');
    reading.findings.add('W-SEC-019', `${renderKey(key)}${where} in line ${line} is not a known key and was ignored`, {
      path,
      part: 'key',
      hint: meant === undefined ? `known keys here: ${known.join(', ')}` : `did you mean ${meant}?`,
    });
  }
}

function report(issue: $ZodIssue, { resolution, findings }: Reading): void {
  const path = keyPathOf(issue.path);
  const where = renderKeyPath(path);
  const name = where === '' ? 'the file' : where;
  if (issue.input === undefined) return findings.add('E-MAN-001', `${name} is missing`, { path });
  const variable = resolution.references.get(where);
  if (variable !== undefined && resolution.unresolved.has(where)) return undefined;
  const hint = hintFor(issue, path);
  const shown = variable === undefined ? shownValue(issue, path) : `the value of ${variable}`;
  const message = sentence(name, issue.message, shown);
  return findings.add(codeOf(issue), message, { path, ...(hint === undefined ? {} : { hint }) });
}

/** `port must be at most 65535, not 70000`; `version "latest" is a reserved version`. */
function sentence(name: string, clause: string, shown: string | undefined): string {
  if (shown === undefined) return `${name} ${clause}`;
  return /^must (?!not )/.test(clause) ? `${name} ${clause}, not ${shown}` : `${name} (${shown}) ${clause}`;
}

function codeOf(issue: $ZodIssue): DiagnosticCode {
  const code: unknown = issue.code === 'custom' ? issue.params?.['code'] : undefined;
  return typeof code === 'string' && code in catalogue ? (code as DiagnosticCode) : 'E-MAN-003';
}

/** What stands there instead; of what may be a credential only its kind. */
function shownValue(issue: $ZodIssue, path: KeyPath): string | undefined {
  const { input } = issue;
  if (input === null) return 'empty';
  if (Array.isArray(input)) return issue.code === 'too_small' ? undefined : 'a list';
  if (typeof input === 'object') return 'a block of keys';
  const isCredential = holdsCredential(path);
  if (typeof input === 'string')
    return issue.code === 'invalid_type' ? 'text' : isCredential ? undefined : quoted(withoutUser(input));
  // YAML has read it as a number already: 1.0 would be shown as 1.
  const isUnquoted = issue.code === 'invalid_type' && issue.expected === 'string';
  if (typeof input === 'number' && (isUnquoted || isCredential)) return 'a number';
  return typeof input === 'number' || typeof input === 'boolean' ? String(input) : undefined;
}

function withoutUser(text: string): string {
  return text.replace(/\/\/[^/]*@/, '//…@');
}

function hintFor(issue: $ZodIssue, path: KeyPath): string | undefined {
  const { input } = issue;
  if (issue.code === 'invalid_value' && typeof input === 'string') {
    const meant = closestName(input, issue.values.map(String));
    return meant === undefined ? undefined : `did you mean ${meant}?`;
  }
  if (issue.code !== 'invalid_type') return undefined;
  const wantsText = issue.expected === 'string';
  if (wantsText && (typeof input === 'number' || typeof input === 'boolean')) return 'put the value in quotes';
  if (issue.expected === 'array' && typeof input === 'string')
    return `write a list: ${renderKey(String(path.at(-1)))}: [ … ]`;
  return input === null ? 'give the key a value, or remove it' : undefined;
}

function keyPathOf(path: readonly PropertyKey[]): KeyPath {
  return path.map((segment) => (typeof segment === 'number' ? segment : String(segment)));
}

function isError(diagnostic: Diagnostic): boolean {
  return diagnostic.code.startsWith('E-');
}

/** In the order of the file; where there are too many, errors before warnings. */
function mostTelling(found: readonly Diagnostic[]): Diagnostic[] {
  const errorsFirst = distinct(found).toSorted((one, other) => Number(isError(other)) - Number(isError(one)));
  return errorsFirst.slice(0, mostFindings).toSorted(byPlace);
}

/** A missing key can be seen both by the schema and by a rule. */
function distinct(found: readonly Diagnostic[]): Diagnostic[] {
  const byText = new Map(found.map((diagnostic) => [identityOf(diagnostic), diagnostic]));
  return [...byText.values()];
}

function identityOf({ code, message, location }: Diagnostic): string {
  return `${code} ${location?.line}:${location?.column} ${message}`;
}

function byPlace({ location: one }: Diagnostic, { location: other }: Diagnostic): number {
  return (one?.line ?? 0) - (other?.line ?? 0) || (one?.column ?? 0) - (other?.column ?? 0);
}
