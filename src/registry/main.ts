import { constants, homedir, hostname } from 'node:os';
import { parseArgs } from 'node:util';

import packageJson from '../../package.json' with { type: 'json' };
import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { Redactor } from '../diagnostics/redactor.ts';
import { renderDiagnostic } from '../diagnostics/render.ts';
import { accessLine } from './access-log.ts';
import { renderAddress } from './bind-address.ts';
import { FileStore } from './file-store.ts';
import { RegistryServer } from './registry-server.ts';
import { readSettings, type Settings } from './settings.ts';
import { StagingArea } from './staging.ts';

const help = `Usage: svc-registry [options]

Stores artifacts and serves them to svc publish and svc install.

Options:
  --data <dir>        where the artifacts are kept (REGISTRY_DATA; default ~/.svc/registry)
  --max-bytes <size>  the largest archive that is taken (REGISTRY_MAX_BYTES; default 512Mi)
  --version           print the version
  --help              print this

Environment:
  REGISTRY_API_KEY    required: the key that clients present
  REGISTRY_BIND       address to listen on (default 127.0.0.1:7800; [::1]:7800 for IPv6)
`;

const flags = {
  data: { type: 'string' },
  'max-bytes': { type: 'string' },
  version: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

const usageError = 2;
const bugInServer = 70;

/** Running transfers have this long to end after the first SIGTERM or SIGINT. */
const graceMs = 30_000;

const redactor = new Redactor();

/** `svc-registry`: reads flags and environment, serves until it is told to stop. The access log is standard output, all else standard error. */
export async function main(args: readonly string[]): Promise<void> {
  // A reader of the log that went away is no reason to stop serving.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  process.on('uncaughtException', (error) => {
    reportBug(error);
    process.exit(bugInServer);
  });
  try {
    await start(args);
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    tell(error);
    process.exitCode = error.code === 'E-REG-020' || error.code === 'E-REG-021' ? usageError : 1;
  }
}

async function start(args: readonly string[]): Promise<void> {
  const asked = parseFlags(args);
  if (asked === null) return;
  const settings = readSettings({
    flags: asked,
    env: process.env,
    home: process.env['HOME'] ?? homedir(),
    cwd: process.cwd(),
  });
  redactor.register(settings.key);
  settings.warnings.forEach(tell);
  await serve(settings);
}

function parseFlags(args: readonly string[]): { readonly data?: string; readonly maxBytes?: string } | null {
  try {
    const { values } = parseArgs({ args: [...args], options: flags });
    const { data, 'max-bytes': maxBytes } = values;
    if (values.help !== true && values.version !== true) {
      return { ...(data === undefined ? {} : { data }), ...(maxBytes === undefined ? {} : { maxBytes }) };
    }
    process.stdout.write(values.help === true ? help : `${packageJson.version}\n`);
  } catch (error) {
    if (!(error instanceof TypeError) || !('code' in error)) throw error;
    process.stderr.write(`error: ${error.message}\nhint: svc-registry --help lists the options\n`);
    process.exitCode = usageError;
  }
  return null;
}

async function serve({ data, key, maxBytes, bind }: Settings): Promise<void> {
  const store = await FileStore.open(data);
  const server = new RegistryServer({
    store,
    staging: await StagingArea.open(data),
    key,
    maxBytes,
    hostname: hostname(),
    onAnswered: (answered) => process.stdout.write(redactor.redact(accessLine(answered, new Date()))),
    onFault: tell,
    onBug: reportBug,
  });
  const outcome = await server.open(bind);
  if (outcome.kind !== 'bound') {
    const reason = outcome.kind === 'port-taken' ? 'it is taken' : outcome.reason;
    throw new Diagnostic('E-REG-022', `cannot listen on ${renderAddress(bind)}: ${reason}`, {
      hint: 'choose another address and port with REGISTRY_BIND',
    });
  }
  stopOnSignals(server);
  say(`svc-registry ${packageJson.version} listens on http://${renderAddress(outcome)}, data in ${data}`);
}

/** The first signal lets running transfers end, the second ends the process at once. */
function stopOnSignals(server: RegistryServer): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(128 + constants.signals[signal]);
    stopping = true;
    say(`stopping: running transfers have ${graceMs / 1000} s to end`);
    void server.close(graceMs).then(() => say('stopped'));
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
}

function say(text: string): void {
  process.stderr.write(`${redactor.redact(text)}\n`);
}

function tell(diagnostic: Diagnostic): void {
  process.stderr.write(renderDiagnostic(diagnostic, { color: false, redactor }));
}

function reportBug(error: unknown): void {
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  say(`svc-registry: this is a bug in svc-registry ${packageJson.version}, please report it:\n${trace}`);
}
