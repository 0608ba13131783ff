/** Reads a YAML file by a schema, and collects everything that is wrong with it. */

import type { $ZodType, output } from 'zod/v4/core';

import { DiagnosticList, Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import type { DiagnosticCode } from '@svc/kit/diagnostics/catalogue.ts';
import { quoted, shortened } from '@svc/kit/diagnostics/printable.ts';
import { type FindingPlace, maxFindings, parseBySchema } from './schema-issues.ts';
import { renderKeyPath, type KeyPath } from './key-path.ts';
import { resolveReferences, type Resolution } from './references.ts';
import { parseYaml, type YamlSource } from './yaml-source.ts';

/** How a document is checked. */
interface DocumentChecks<Schema extends $ZodType> {
  readonly schema: Schema;
  /** The variables to which references are resolved. Without it, references stay as they are written. */
  readonly env?: Environment;
  /** True for the keys whose references are not resolved. */
  readonly leave?: (path: KeyPath) => boolean;
  /** Returns false for a key whose variable may be unset. When it is unset, nothing is reported about the value. */
  readonly needs?: ((path: KeyPath) => boolean) | undefined;
  /** Returns true for a block whose unknown keys refuse the file (`E-MAN-006`). When absent, they only warn. */
  readonly isStrict?: (block: KeyPath) => boolean;
  /** The code of what the schema finds at a path; when absent, its own. */
  readonly codeAt?: (path: KeyPath, code: DiagnosticCode) => DiagnosticCode;
  /** Checks rules between keys. `data` is the content of the file, of any shape. */
  readonly rules?: (data: unknown, findings: Findings) => void;
  /** One code for every problem of the file; an unknown key then refuses the file too. When absent, each problem has a code of its own. */
  readonly refusal?: DiagnosticCode;
}

interface DocumentRequest<Schema extends $ZodType> extends DocumentChecks<Schema> {
  readonly file: string;
  readonly text: string;
}

export interface CheckedDocument<Schema extends $ZodType> {
  readonly value: output<Schema>;
  readonly warnings: readonly Diagnostic[];
  readonly source: YamlSource;
  readonly references: Resolution['references'];
}

/**
 * Reads a YAML file by a schema. When a problem refuses the file, throws a `DiagnosticList` of every problem and warning, in the order of the file.
 * Their codes are `E-MAN-001` to `E-MAN-003` and those of the schema's own checks, or the `refusal` of the request.
 */
export function readDocument<Schema extends $ZodType>(request: DocumentRequest<Schema>): CheckedDocument<Schema> {
  return checkSource(sourceOf(request), request);
}

/** Checks a file that has been parsed already. Otherwise the same as `readDocument`. */
export function checkSource<Schema extends $ZodType>(
  source: YamlSource,
  { schema, env, leave = () => false, needs, isStrict = () => false, codeAt, rules, refusal }: DocumentChecks<Schema>,
): CheckedDocument<Schema> {
  const resolution = resolveReferences({ source, env, leave, needs });
  const data = resolution.value ?? {};
  const lineOf = (path: KeyPath): number => source.locate(path, 'key').line;
  const refusesUnknown = (block: KeyPath): boolean => refusal !== undefined || isStrict(block);
  const read = parseBySchema({ schema, data, resolution, lineOf, refusesUnknown });
  const findings = new FileFindings(source, resolution, refusal);
  for (const { code, message, place } of read.findings)
    findings.add(codeAt?.(place.path, code) ?? code, message, place);
  rules?.(data, findings);
  if (read.parsed === undefined || findings.hasError()) {
    const isUnclear = !findings.hasError();
    throw new DiagnosticList([...findings.list(), ...(isUnclear ? resolution.passedOver.values() : [])]);
  }
  return { value: read.parsed.output, warnings: findings.list(), source, references: resolution.references };
}

function sourceOf({ file, text, refusal }: DocumentRequest<$ZodType>): YamlSource {
  try {
    return parseYaml(file, text);
  } catch (error) {
    if (refusal === undefined || !(error instanceof DiagnosticList)) throw error;
    throw new DiagnosticList(error.diagnostics.map((problem) => recoded(problem, refusal)));
  }
}

function recoded({ message, hint, location }: Diagnostic, code: DiagnosticCode): Diagnostic {
  const where = location === undefined ? {} : { location };
  return new Diagnostic(code, message, hint === undefined ? where : { hint, ...where });
}

/** Collects what is found wrong while a file is checked. */
export interface Findings {
  /** `E-` codes refuse the file, `W-` codes do not. */
  add(code: DiagnosticCode, message: string, place: FindingPlace): void;
}

const maxMessage = 300;

/** The findings about one file: those of its parsing, and those that are added. */
class FileFindings implements Findings {
  readonly #found: Diagnostic[];
  readonly #source: YamlSource;
  readonly #resolution: Resolution;
  readonly #refusal: DiagnosticCode | undefined;

  constructor(source: YamlSource, resolution: Resolution, refusal: DiagnosticCode | undefined) {
    const problems = [...source.problems, ...resolution.problems];
    this.#found = refusal === undefined ? problems : problems.map((problem) => recoded(problem, refusal));
    this.#refusal = refusal;
    this.#source = source;
    this.#resolution = resolution;
  }

  add(code: DiagnosticCode, message: string, { path, part = 'value', hint }: FindingPlace): void {
    // The unresolved reference has been reported already.
    if (part === 'value' && this.#isUnresolved(path)) return;
    const told = this.#withoutValues(message);
    const cut = shortened(told, maxMessage);
    const location = this.#source.locate(path, part);
    this.#found.push(new Diagnostic(this.#refusal ?? code, cut, { location, ...(hint === undefined ? {} : { hint }) }));
  }

  /** True when the file is refused. */
  hasError(): boolean {
    return this.#found.some(isError);
  }

  /** Returns each finding once, in the order of the file. When there are too many, errors go before warnings. */
  list(): readonly Diagnostic[] {
    const errorsFirst = distinct(this.#found).toSorted((one, other) => Number(isError(other)) - Number(isError(one)));
    return errorsFirst.slice(0, maxFindings).toSorted(byPlace);
  }

  #isUnresolved(path: KeyPath): boolean {
    const reference = this.#resolution.references.get(renderKeyPath(path));
    return reference !== undefined && reference.value === undefined;
  }

  /** Replaces each value that came from a variable by its reference: the value may be a credential. */
  #withoutValues(message: string): string {
    let told = message;
    for (const { variable, value } of this.#resolution.references.values()) {
      if (value !== undefined) told = told.replaceAll(quoted(value), () => `\${${variable}}`);
    }
    return told;
  }
}

function isError(diagnostic: Diagnostic): boolean {
  return diagnostic.code.startsWith('E-');
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
