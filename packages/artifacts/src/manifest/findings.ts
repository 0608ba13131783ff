import type { DiagnosticCode } from '@svc/kit/diagnostics/catalogue.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { renderKeyPath, type KeyPath } from './key-path.ts';
import type { Resolution } from './references.ts';
import type { YamlSource } from './yaml-source.ts';

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

/** How many diagnostics one file gets at most. */
export const mostFindings = 100;
const longestMessage = 300;

/** The findings about one file: those that are added, and those its reading came with. */
export class FileFindings implements Findings {
  readonly #found: Diagnostic[];
  readonly #source: YamlSource;
  readonly #resolution: Resolution;

  constructor(source: YamlSource, resolution: Resolution) {
    this.#found = [...source.problems, ...resolution.problems];
    this.#source = source;
    this.#resolution = resolution;
  }

  add(code: DiagnosticCode, message: string, { path, part = 'value', hint }: FindingPlace): void {
    // Said once already, by the reference itself.
    if (part === 'value' && this.#isUnresolved(path)) return;
    const told = this.#withoutValues(message);
    const cut = told.length > longestMessage ? `${told.slice(0, longestMessage)}…` : told;
    const location = this.#source.locate(path, part);
    this.#found.push(new Diagnostic(code, cut, { location, ...(hint === undefined ? {} : { hint }) }));
  }

  /** True when the file is refused. */
  hasError(): boolean {
    return this.#found.some(isError);
  }

  /** Once each, in the order of the file; where there are too many, errors before warnings. */
  list(): readonly Diagnostic[] {
    const errorsFirst = distinct(this.#found).toSorted((one, other) => Number(isError(other)) - Number(isError(one)));
    return errorsFirst.slice(0, mostFindings).toSorted(byPlace);
  }

  #isUnresolved(path: KeyPath): boolean {
    const reference = this.#resolution.references.get(renderKeyPath(path));
    return reference !== undefined && reference.value === undefined;
  }

  /** A value that came from a variable may be a credential: its reference stands for it. */
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
