/** The command line of svc-referee. */

import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { isArtifactName } from '@svc/artifacts/manifest/names.ts';
import type { Bounds } from './decisions.ts';

export interface RefereeSettings {
  readonly port: number;
  /** Is null without a flag: `.svc/artifacts` of the user. */
  readonly registryPath: string | null;
  readonly spawnAllow: ReadonlySet<string>;
  readonly bounds: Bounds;
}

type ParsedOptions =
  | { readonly kind: 'serve'; readonly settings: RefereeSettings }
  | { readonly kind: 'print'; readonly what: 'help' | 'version' }
  | { readonly kind: 'unknown'; readonly argument: string }
  /** `problem` is a clause for a person. */
  | { readonly kind: 'invalid'; readonly problem: string };

const takeValue: ReadonlySet<string> = new Set([
  '--port',
  '--registry-path',
  '--spawn-allow',
  '--max-depth',
  '--max-concurrent',
  '--max-live-capsules',
]);

const highestPort = 65_535;

/**
 * The flags of D2 "Daemon options" and no other. A value follows its flag or an equals sign. Of a flag given twice the last holds; each `--spawn-allow`
 * adds a name.
 */
export function parseOptions(args: readonly string[], cores: number): ParsedOptions {
  const values = new Map<string, string>();
  const spawnAllow = new Set<string>();
  let print: 'help' | 'version' | null = null;
  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index] ?? '';
    const equals = argument.startsWith('--') ? argument.indexOf('=') : -1;
    const flag = equals === -1 ? argument : argument.slice(0, equals);
    if (argument === '--help' || argument === '--version') {
      print ??= argument === '--help' ? 'help' : 'version';
      continue;
    }
    if (!takeValue.has(flag)) return { kind: 'unknown', argument: flag };
    const value = equals === -1 ? args[(index += 1)] : argument.slice(equals + 1);
    const isFlag = equals === -1 && value?.startsWith('--') === true;
    if (value === undefined || value === '' || isFlag) return { kind: 'invalid', problem: `${flag} needs a value` };
    if (flag === '--spawn-allow') spawnAllow.add(value);
    else values.set(flag, value);
  }
  return print === null ? readValues(values, spawnAllow, cores) : { kind: 'print', what: print };
}

/** Host cores times 8, between 16 and 256 (D2 "Daemon options"). */
export function defaultMachineCeiling(cores: number): number {
  return Math.min(Math.max(cores * 8, 16), 256);
}

/** Whether a name of `--spawn-allow` admits nobody, since no capsule can have it, such as names with commas between them. */
export function isUnmatchable(name: string): boolean {
  return !isArtifactName(name);
}

function readValues(
  values: ReadonlyMap<string, string>,
  spawnAllow: ReadonlySet<string>,
  cores: number,
): ParsedOptions {
  const problems: string[] = [];
  const wholeNumber = (flag: string, otherwise: number, highest = Number.MAX_SAFE_INTEGER): number => {
    const text = values.get(flag);
    if (text === undefined) return otherwise;
    const number = Number(text);
    if (/^\d+$/.test(text) && number <= highest) return number;
    const upTo = highest === Number.MAX_SAFE_INTEGER ? '' : ` up to ${highest}`;
    problems.push(`${flag} is ${quoted(text)}, which is not a whole number${upTo}`);
    return otherwise;
  };
  const port = wholeNumber('--port', 7700, highestPort);
  const bounds = {
    maxDepth: wholeNumber('--max-depth', 3),
    maxConcurrent: wholeNumber('--max-concurrent', 4),
    maxLiveCapsules: wholeNumber('--max-live-capsules', defaultMachineCeiling(cores)),
  };
  const [problem] = problems;
  if (problem !== undefined) return { kind: 'invalid', problem };
  return { kind: 'serve', settings: { port, registryPath: values.get('--registry-path') ?? null, spawnAllow, bounds } };
}
