/** Makes an artifact of each MCP server that a command line names by its command. */

import { basename, join } from 'node:path';

import { isRemoteAddress, pastedAddress } from '@svc/artifacts/manifest/artifact-place.ts';
import { commandName } from '@svc/artifacts/manifest/name-schemas.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';
import { packageCommand } from '@svc/capsule/launch/package-runner.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { replaceFileSync } from '@svc/kit/files/replace-file.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { splitWords } from '@svc/sandbox/split-words.ts';

/** A server as the manifest of a task names it. */
export type NamedServer = LaunchedServer | WebServer;

/** A server on the web. */
export interface WebServer {
  readonly name: string;
  readonly version: string;
  readonly from: string;
  /** What it is shown, as `auth` of an entry has it; null where it is shown nothing. */
  readonly auth: string | null;
}

interface LaunchedServer {
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

/** Whether the words name a server on the web: its address, and `--auth-env` with the variable of a token. */
export function isOnWeb([address = '']: readonly string[]): boolean {
  return isRemoteAddress(address);
}

function webFault([address = '', option, variable, ...rest]: readonly string[]): string | undefined {
  const fault = endpointFault(pastedAddress(address));
  if (fault !== undefined) return `the address ${fault}`;
  const isNamed = option === '--auth-env' && /^[A-Z_][A-Z0-9_]*$/.test(variable ?? '');
  return option === undefined || (isNamed && rest.length === 0)
    ? undefined
    : 'behind an address stands --auth-env with the name of a variable in capitals, and nothing else';
}

/** The words of a command, the first of which a manifest may name, or those of a server on the web; a text is what is wrong with it, as a clause. */
export function serverWords(line: string): readonly [string, ...string[]] | string {
  const split = splitWords(line);
  if (split.kind === 'unbalanced') return split.reason;
  const [program, ...args] = split.words;
  if (program === undefined) return 'it is empty';
  if (isOnWeb(split.words)) return webFault(split.words) ?? [program, ...args];
  if (!commandName.safeParse(program).success) {
    const isAddress = /^\w[\w-]*(?:\.[\w-]+)*(?::\d+|\.\w+)(?:\/|$)/.test(program);
    const also = isAddress ? ', and an address begins with https:// or http://' : '';
    return `${quoted(program)} is not the bare name of a program${also}`;
  }
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

/** A name made of the labels of a host that distinguish it from others: `docs` of `docs.example`. */
export function nameOfHost(hostname: string, taken: ReadonlySet<string>): string {
  const labels = /[a-z]/i.test(hostname) && !hostname.includes(':') ? hostname.toLowerCase().split('.') : [];
  const telling = labels
    .slice(0, Math.max(1, labels.length - 1))
    .filter((label) => !/^(?:mcp|www|api|localhost)$/.test(label));
  const plain = telling
    .join('-')
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40);
  return freeName(plain, taken);
}

/** The manifest of a server that is a program; JSON is YAML. */
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
): readonly LaunchedServer[] {
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
