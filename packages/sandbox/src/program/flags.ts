/** Reads the command line of `svc-sandbox`. */

import { parseArgs } from 'node:util';

import { closestName } from '@svc/kit/diagnostics/closest-name.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { isCoded } from '@svc/kit/diagnostics/system-reason.ts';
import { bytesOf, secondsOf, wholeMs } from '@svc/kit/units.ts';
import type { Grants, Limits, SandboxClass, SandboxRequest } from '../library/requests.ts';

export const help = `Usage: svc-sandbox [options] -- <command> [<argument>...]

Runs a command that can do no more than the options grant. Without any it reads the programs of the system, starts in
an empty folder that is gone afterwards, and has no network, no file of yours and none of your variables.

Files:
  --read <path>         lets it read a file or directory; one inside a writable directory stays as it is
  --write <path>        lets it read and write a file or directory
  --workdir <dir>       the same, and starts there
  --run-written         lets it run programs that lie where it may write
  --run <program>       lets it run this program beside its own, and see only the files that these need, instead of all
                        of /usr, /bin, /sbin and /lib

Network and surroundings:
  --net <host[:port]>   lets it reach a destination, also http://host or https://host; none is reached otherwise
  --unix-sockets        lets it use UNIX sockets
  --env <name[=value]>  sets a variable, or hands on yours

Limits:
  --memory <size>       private memory, 512Mi or 2Gi (2Gi when absent)
  --time <duration>     90s, 5m or 1h; then it is ended, and the exit code is 124
  --cpu <duration>      processor time of each process (1h when absent)
  --processes <number>  processes and threads at once (128 when absent)
  --open-files <number> open files of each process (1024 when absent)
  --file-size <size>    largest file that it writes (4Gi when absent)
  --output <size>       of both outputs; then it is ended, and the exit code is 124

What is enforced:
  --class <class>       sealed (when absent), scoped or advisory; a machine that cannot enforce it starts nothing
  --explain             says what the command would see, write and reach, and by which means, and runs nothing
  --probe               says which class this machine can enforce, and why not a higher one; needs no command
  --json                says it as JSON
  --quiet               does not say which destinations were refused

  --version             print the version
  --help                print this

Each of --read, --write, --run, --net and --env can be given many times. Only Linux can enforce a class.

Exit code: that of the command, or 128 plus the number of the signal that ended it; 124 when it was ended for its time or its output.
125 when svc-sandbox failed before it started the command, 126 when the program cannot be run, 127 when it is not there.
`;

/** What was asked for. */
type Asked =
  | { readonly kind: 'help' | 'version' }
  | { readonly kind: 'probe'; readonly json: boolean }
  | { readonly kind: 'explain'; readonly json: boolean; readonly request: SandboxRequest }
  | { readonly kind: 'run'; readonly quiet: boolean; readonly request: SandboxRequest }
  /** `message` is a sentence about the command line. */
  | { readonly kind: 'misused'; readonly message: string; readonly hint: string };

const options = {
  read: { type: 'string', multiple: true },
  write: { type: 'string', multiple: true },
  workdir: { type: 'string' },
  'run-written': { type: 'boolean' },
  run: { type: 'string', multiple: true },
  net: { type: 'string', multiple: true },
  'unix-sockets': { type: 'boolean' },
  env: { type: 'string', multiple: true },
  memory: { type: 'string' },
  time: { type: 'string' },
  cpu: { type: 'string' },
  processes: { type: 'string' },
  'open-files': { type: 'string' },
  'file-size': { type: 'string' },
  output: { type: 'string' },
  class: { type: 'string' },
  explain: { type: 'boolean' },
  probe: { type: 'boolean' },
  json: { type: 'boolean' },
  quiet: { type: 'boolean' },
  version: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

/** A command line that cannot be followed. */
class Misuse extends Error {
  readonly hint: string;

  constructor(message: string, hint = 'svc-sandbox --help lists the options') {
    super(message);
    this.hint = hint;
  }
}

/** What stands before the first `--` is for us, the rest is the command, whatever it looks like. */
export function readFlags(args: readonly string[], held: Readonly<Record<string, string | undefined>>): Asked {
  const end = args.indexOf('--');
  const own = end === -1 ? args : args.slice(0, end);
  const command = end === -1 ? [] : args.slice(end + 1);
  try {
    const { values, positionals } = parsed(own);
    if (values.help === true) return { kind: 'help' };
    if (values.version === true) return { kind: 'version' };
    const json = values.json ?? false;
    const [stray] = positionals;
    if (stray !== undefined) {
      throw new Misuse(`${quoted(stray)} is no option, and no command: a command follows --`, writtenWith(stray));
    }
    if (values.probe === true) return { kind: 'probe', json };
    if (command.length === 0) throw new Misuse('a command is to be run, and none follows --', usage);
    const request = requestOf(values, command, held);
    if (values.explain === true) return { kind: 'explain', json, request };
    if (json) throw new Misuse('--json says how --explain and --probe are written, and neither is given');
    return { kind: 'run', quiet: values.quiet ?? false, request };
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    return { kind: 'misused', message: error.message, hint: error.hint };
  }
}

const usage = 'svc-sandbox [options] -- <command> [<argument>...]';

function writtenWith(stray: string): string {
  return `svc-sandbox [options] -- ${quoted(stray).slice(1, -1)}`;
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    if (!(error instanceof TypeError && isCoded(error))) throw error;
    const unknown = /^Unknown option '(-[^']*)'/.exec(error.message)?.[1];
    if (unknown === undefined) throw new Misuse(error.message.split('\n')[0] ?? '');
    const closest = closestName(unknown.replace(/^-+/, ''), Object.keys(options));
    const hint = closest === undefined ? undefined : `--${closest} is one; svc-sandbox --help lists all`;
    throw new Misuse(`${quoted(unknown).slice(1, -1)} is no option of svc-sandbox`, hint);
  }
}

function requestOf(
  values: Values,
  command: readonly string[],
  held: Readonly<Record<string, string | undefined>>,
): SandboxRequest {
  const { workdir, run, net = [], class: wanted = 'sealed' } = values;
  const grants: Grants = {
    read: values.read ?? [],
    write: [...(values.write ?? []), ...(workdir === undefined ? [] : [workdir])],
    runWritten: values['run-written'] ?? false,
    ...(run === undefined ? {} : { run }),
    network: net,
    unixSockets: values['unix-sockets'] ?? false,
    env: Object.fromEntries((values.env ?? []).map((each) => variableOf(each, held))),
    limits: limitsOf(values),
  };
  return { command, grants, class: classOf(wanted), ...(workdir === undefined ? {} : { cwd: workdir }) };
}

function classOf(name: string): SandboxClass {
  const found = (['sealed', 'scoped', 'advisory'] as const).find((each) => each === name);
  if (found !== undefined) return found;
  throw new Misuse(`--class is ${quoted(name)}, which is no class`, 'give sealed, scoped or advisory');
}

function variableOf(text: string, held: Readonly<Record<string, string | undefined>>): [string, string] {
  const at = text.indexOf('=');
  if (at !== -1) return [text.slice(0, at), text.slice(at + 1)];
  const value = Object.hasOwn(held, text) ? held[text] : undefined;
  if (value !== undefined) return [text, value];
  throw new Misuse(
    `--env hands on ${quoted(text)}, which is not set here`,
    `set it, or give a value: --env NAME=value`,
  );
}

function limitsOf(values: Values): Limits {
  const time = amount('time', values.time, secondsOf, 'a number with s, m or h');
  return {
    ...some('memoryBytes', amount('memory', values.memory, bytesOf, 'a whole number with Ki, Mi or Gi')),
    ...some('timeMs', time === null ? null : Math.max(1, wholeMs(time))),
    ...some(
      'cpuSeconds',
      amount('cpu', values.cpu, (text) => ceiling(secondsOf(text)), 'a number with s, m or h'),
    ),
    ...some('processes', amount('processes', values.processes, wholeNumber, 'a whole number')),
    ...some('openFiles', amount('open-files', values['open-files'], wholeNumber, 'a whole number')),
    ...some('fileBytes', amount('file-size', values['file-size'], bytesOf, 'a whole number with Ki, Mi or Gi')),
    ...some('outputBytes', amount('output', values.output, bytesOf, 'a whole number with Ki, Mi or Gi')),
  };
}

function some(name: keyof Limits, most: number | null): Limits {
  return most === null ? {} : { [name]: most };
}

/** Returns null where the option is not given. */
function amount(
  name: string,
  text: string | undefined,
  read: (text: string) => number | null,
  wanted: string,
): number | null {
  if (text === undefined) return null;
  const found = read(text);
  if (found !== null && found > 0) return found;
  throw new Misuse(`--${name} is ${quoted(text)}, and must be ${wanted}, above 0`);
}

function wholeNumber(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

function ceiling(secs: number | null): number | null {
  return secs === null ? null : Math.ceil(secs);
}
