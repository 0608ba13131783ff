/** Makes an artifact of each MCP server that a command line names by its command. */

import { basename, join } from 'node:path';

import { commandName } from '@svc/artifacts/manifest/name-schemas.ts';
import { packageCommand } from '@svc/capsule/launch/package-runner.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { replaceFileSync } from '@svc/kit/files/replace-file.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { splitWords } from '@svc/sandbox/split-words.ts';

/** A server as the manifest of a task names it. */
export interface NamedServer {
  readonly name: string;
  /** The folder of its manifest. */
  readonly source: string;
  /** What it may run, and the model may not. */
  readonly runs: readonly string[];
  /** The variables that say where it is installed from. */
  readonly variables: readonly string[];
}

const version = '1.0.0';
const maxWords = 100;

/** The words of a command, the first of which a manifest may name; a text is what is wrong with it, as a clause. */
export function serverWords(line: string): readonly [string, ...string[]] | string {
  const split = splitWords(line);
  if (split.kind === 'unbalanced') return split.reason;
  const [program, ...args] = split.words;
  if (program === undefined) return 'it is empty';
  if (!commandName.safeParse(program).success) return `${quoted(program)} is not the bare name of a program`;
  return args.length >= maxWords ? `it has more than ${maxWords} words` : [program, ...args];
}

/** The last part of the package, or of the file that an interpreter runs, without what most such names have in common. */
export function serverName(words: readonly string[], taken: ReadonlySet<string>): string {
  const [program = '', ...args] = words;
  const file = args.find((word) => /\.[cm]?[jt]s$|\.py$/.test(word));
  const whole = packageCommand(words)?.name ?? file ?? program;
  const plain = basename(whole)
    .toLowerCase()
    .replace(/\.\w+$/, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^(?:mcp-)?(?:server-)?|(?:-mcp)?(?:-server)?$/g, '')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40);
  return freeName(plain, taken);
}

/** A name that is not taken, with a number where it has to be; `server` for an empty one. */
export function freeName(wanted: string, taken: ReadonlySet<string>): string {
  const name = wanted === '' ? 'server' : wanted;
  if (!taken.has(name)) return name;
  for (let number = 2; ; number += 1) if (!taken.has(`${name}-${number}`)) return `${name}-${number}`;
}

/** The manifest of such a server; JSON is YAML. */
export function serverManifest(name: string, words: readonly string[]): string {
  return `${JSON.stringify({ name, version, runtime: 'tool', implementation: 'mcp', command: words }, null, 2)}\n`;
}

interface ServerPlace {
  /** Where their manifests are kept; null for a report, which writes nothing. */
  readonly root: string | null;
  /** Names that the model calls something else by. */
  readonly taken: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The servers of these commands, whose manifests are written below `root`, each under a name made from its content. */
export function nameServers(
  commands: readonly (readonly string[])[],
  { root, taken, env }: ServerPlace,
): readonly NamedServer[] {
  const names = new Set(taken);
  return commands.map((words) => {
    const name = serverName(words, names);
    names.add(name);
    const text = serverManifest(name, words);
    const source = join(root ?? '/', 'servers', sha256Hex(text).slice(0, 32));
    if (root !== null) {
      makeDirectories(source, 0o700);
      replaceFileSync(join(source, 'svc.yaml'), Buffer.from(text));
    }
    const [program = ''] = words;
    return { name, source, runs: [program], variables: registryVariables(words, env) };
  });
}

/** An address with a password is kept from the server, which would see the variable. */
function registryVariables(words: readonly string[], env: ServerPlace['env']): readonly string[] {
  const wanted = packageCommand(words);
  if (wanted === null) return [];
  const known =
    wanted.runner === 'npx' ? ['npm_config_registry', 'NPM_CONFIG_REGISTRY'] : ['UV_DEFAULT_INDEX', 'UV_INDEX_URL'];
  return known.filter((name) => {
    const { [name]: value = '' } = env;
    if (!URL.canParse(value)) return false;
    const { username, password } = new URL(value);
    return username === '' && password === '';
  });
}
