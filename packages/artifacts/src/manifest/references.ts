/** Replaces `${NAME}` in a file by the values of variables. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { renderKeyPath, type KeyPath } from './key-path.ts';
import type { YamlSource } from './yaml-source.ts';

const maxProblems = 100;
const referenceShape = /^\$\{([A-Z_][A-Z0-9_]*)\}$/;

/** What people write in place of `${NAME}`. */
const slipShape = /^\$(?:\w+|\{\s*\w+\s*\}|\(\w+\))$/;
const keyNames: ReadonlySet<unknown> = new Set(['api_key', 'client_secret', 'secret', 'session_token', 'token']);

/** The variable that a value refers to; only a whole value of the form `${UPPER_SNAKE}` is a reference (docs/manifest.md "Variables"). */
export function referencedVariable(value: string): string | undefined {
  return referenceShape.exec(value)?.[1];
}

export interface Reference {
  readonly variable: string;
  /** Undefined when the variable is not set; the reference then still stands in the data. */
  readonly value: string | undefined;
}

export interface Resolution {
  readonly value: unknown;
  /** Every reference, by `renderKeyPath` of its place. */
  readonly references: ReadonlyMap<string, Reference>;
  /** One `E-MAN-003` for each variable that is not set, at most a hundred. */
  readonly problems: readonly Diagnostic[];
  /** The same by path for variables that may be unset, for a file that turns out invalid without them. */
  readonly passedOver: ReadonlyMap<string, Diagnostic>;
}

interface ResolveRequest {
  readonly source: YamlSource;
  /** Without it every reference stays as it is written. */
  readonly env: Environment | undefined;
  /** True where a reference stays as it is written. */
  readonly leave: (path: KeyPath) => boolean;
  /** False where a variable may be unset; absent, every variable has to be set. */
  readonly needs?: ((path: KeyPath) => boolean) | undefined;
}

/** The data of a file with every reference replaced by the variable's value. */
export function resolveReferences({ source, env, leave, needs }: ResolveRequest): Resolution {
  const references = new Map<string, Reference>();
  const problems: Diagnostic[] = [];
  const passedOver = new Map<string, Diagnostic>();

  const resolved = (value: unknown, path: KeyPath): unknown => {
    if (Array.isArray(value)) return value.map((item, index) => resolved(item, [...path, index]));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(item, [...path, key])]));
    }
    if (typeof value !== 'string' || env === undefined || leave(path)) return value;
    const name = referencedVariable(value);
    if (name === undefined) {
      if (isKey(path) && slipShape.test(value) && problems.length < maxProblems) problems.push(slip(source, path));
      return value;
    }
    const where = renderKeyPath(path);
    const found = Object.hasOwn(env, name) ? env[name] : undefined;
    references.set(where, { variable: name, value: found });
    if (found !== undefined) return found;
    if (needs?.(path) === false) passedOver.set(where, notSet(name, where, source, path));
    else if (problems.length < maxProblems) problems.push(notSet(name, where, source, path));
    return value;
  };

  return { value: resolved(source.value, []), references, problems, passedOver };
}

function notSet(name: string, where: string, source: YamlSource, path: KeyPath): Diagnostic {
  return new Diagnostic('E-MAN-003', `${where} refers to the variable ${name}, which is not set`, {
    hint: `set ${name} in the environment or in the .env file beside the manifest`,
    location: source.locate(path, 'value'),
  });
}

/** Whether a key of the capsule itself stands there. */
function isKey(path: KeyPath): boolean {
  const last = path.at(-1);
  return path[0] !== 'artifacts' && (keyNames.has(last) || (last === 'value' && path.at(-3) === 'credentials'));
}

/** Sent as it stands, it would be a key that no server takes. */
function slip(source: YamlSource, path: KeyPath): Diagnostic {
  return new Diagnostic('E-MAN-003', `${renderKeyPath(path)} looks like a variable, but is no reference to one`, {
    hint: 'write ${NAME}, in capitals and nothing beside it',
    location: source.locate(path, 'value'),
  });
}
