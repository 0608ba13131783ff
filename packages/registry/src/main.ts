/** The program `svc-registry`: reads flags and environment, and serves until a signal stops it. */

import { constants, hostname } from 'node:os';
import { parseArgs } from 'node:util';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { renderDiagnostic } from '@svc/kit/diagnostics/render.ts';
import type { BindAddress, BindOutcome } from '@svc/kit/http/listen.ts';
import type { Answered } from '@svc/kit/http/server-options.ts';
import { isCoded } from '@svc/kit/diagnostics/system-reason.ts';
import { homeDirectory } from '@svc/kit/files/home-directory.ts';
import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { renderAddress, readSettings, type Settings, type SettingSources } from './settings.ts';
import { FileStore } from './file-store.ts';
import type { ObjectStore } from './object-store.ts';
import { RegistryServer } from './registry-server.ts';
import { StagingArea } from './staging.ts';

const help = `Usage: svc-registry [options]
       svc-registry key new --id <id> [--read <names>] [--publish <names>] [--state <names>] [--expires <day>]

Stores artifacts and serves them to svc publish and svc install.

Options:
  --data <dir>        where the artifacts are kept (REGISTRY_DATA; default ~/.svc/registry)
  --store <address>   a bucket to keep them in instead: s3://bucket/prefix (REGISTRY_STORE)
  --max-bytes <size>  the largest archive that is taken (REGISTRY_MAX_BYTES; default 512Mi)
  --health <address>  where GET /healthz is answered without the key: 127.0.0.1:7801 (REGISTRY_HEALTH; default nowhere)
  --anonymous-read    whoever shows no key may read everything
  --version           print the version
  --help              print this

Environment:
  REGISTRY_API_KEY    the key that clients present, for everything; required without REGISTRY_KEYS
  REGISTRY_KEYS       a file of more keys, each for some names; read again when it changes
  REGISTRY_BIND       address to listen on (default 127.0.0.1:7800; [::1]:7800 for IPv6)
  S3_ENDPOINT         the S3 service (default Amazon's); AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
                      AWS_SESSION_TOKEN and AWS_REGION as everywhere
`;

const flags = {
  data: { type: 'string' },
  store: { type: 'string' },
  'max-bytes': { type: 'string' },
  health: { type: 'string' },
  'anonymous-read': { type: 'boolean' },
  version: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

const usageError = 2;
const bugInServer = 70;

/** Running transfers have this long to end after the first SIGTERM or SIGINT. */
const graceMs = 30_000;

const redactor = new Redactor();

/** `svc-registry`: reads flags and environment, serves until a signal stops it. The access log is standard output, all else standard error. */
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
  if (args[0] === 'key') {
    const { keyCommand } = await import('./new-key.ts');
    const { key, said } = await keyCommand(args.slice(1), process.env['REGISTRY_KEYS'] || null);
    process.stderr.write(said);
    process.stdout.write(`${key}\n`);
    return;
  }
  const asked = parseFlags(args);
  if (asked === null) return;
  const settings = readSettings({
    flags: asked,
    env: process.env,
    get home() {
      return homeDirectory(process.env['HOME']);
    },
    cwd: process.cwd(),
  });
  if (settings.key !== null) redactor.register(settings.key);
  registerCredentials(settings);
  if (redactor.knowsAny) await redactor.learnSpellings();
  settings.warnings.forEach(tell);
  await serve(settings);
}

function parseFlags(args: readonly string[]): SettingSources['flags'] | null {
  try {
    const { values } = parseArgs({ args: [...args], options: flags });
    const { data, store, health, 'max-bytes': maxBytes, 'anonymous-read': anonymousRead } = values;
    if (values.help !== true && values.version !== true) {
      return {
        ...(data === undefined ? {} : { data }),
        ...(store === undefined ? {} : { store }),
        ...(maxBytes === undefined ? {} : { maxBytes }),
        ...(health === undefined ? {} : { health }),
        ...(anonymousRead === undefined ? {} : { anonymousRead }),
      };
    }
    process.stdout.write(values.help === true ? help : `${packageJson.version}\n`);
  } catch (error) {
    if (!(error instanceof TypeError && isCoded(error))) throw error;
    process.stderr.write(`error: ${error.message}\nhint: svc-registry --help lists the options\n`);
    process.exitCode = usageError;
  }
  return null;
}

function registerCredentials({ s3 }: Settings): void {
  if (s3 === null) return;
  const { secretAccessKey, sessionToken } = s3.credentials;
  redactor.register(secretAccessKey);
  if (sessionToken !== null) redactor.register(sessionToken);
}

async function openStore({ data, s3 }: Settings): Promise<OpenedStore> {
  if (s3 === null) return { store: await FileStore.open(data), place: `data in ${data}` };
  const { S3Store } = await import('./s3/s3-store.ts');
  const store = await S3Store.open(s3, { now: () => new Date(), onFault: tell });
  return { store, place: `data in s3://${s3.bucket}/${s3.prefix}`, sweep: async () => await store.sweep() };
}

interface OpenedStore {
  readonly store: ObjectStore;
  /** Where objects are stored, in words for people. */
  readonly place: string;
  /** Removes what killed servers have left in the store, where that is a work of its own. */
  readonly sweep?: () => Promise<void>;
}

async function serve(settings: Settings): Promise<void> {
  const { data, key, keysFile, anonymousRead, maxBytes, bind, health } = settings;
  const { store, place, sweep } = await openStore(settings);
  const server = new RegistryServer({
    store,
    staging: await StagingArea.open(data),
    key,
    keysFile,
    anonymousRead,
    maxBytes,
    hostname: hostname(),
    onAnswered: (answered, keyId) => process.stdout.write(redactor.redact(accessLine(answered, keyId, new Date()))),
    onFault: tell,
    onBug: reportBug,
  });
  // Opens the health port first, so that a failure shows before clients connect.
  const healthy = health === null ? null : bound(health, await server.openHealth(health), '--health');
  const outcome = bound(bind, await server.open(bind), 'REGISTRY_BIND');
  stopOnSignals(server);
  const told = healthy === null ? '' : `, health on http://${renderAddress(healthy)}/healthz`;
  say(`svc-registry ${packageJson.version} listens on http://${renderAddress(outcome)}, ${place}${told}`);
  // Clients do not wait for it, and the next start tries again.
  for (const clean of [sweep, async () => await server.sweepSignatures()]) {
    await clean?.().catch((error: unknown) => {
      if (!(error instanceof Diagnostic)) throw error;
      tell(error);
    });
  }
}

/** What was bound; `E-REG-022` where it could not be, naming the setting that chooses another address. */
function bound(asked: BindAddress, outcome: BindOutcome, setting: string): BindAddress {
  if (outcome.kind === 'bound') return outcome;
  const reason = outcome.kind === 'port-taken' ? 'it is taken' : outcome.reason;
  throw new Diagnostic('E-REG-022', `cannot listen on ${renderAddress(asked)}: ${reason}`, {
    hint: `choose another address and port with ${setting}`,
  });
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

const maxTarget = 500;

/**
 * One line for one request: when it ended, what was asked, the status (`-` when the client left first), bytes sent and milliseconds; then the id of
 * the key, where it is one of the file.
 */
function accessLine({ method, target, status, sentBytes, ms }: Answered, keyId: string | null, at: Date): string {
  const shown = shortened(target, maxTarget);
  const key = keyId === null ? '' : ` key ${keyId}`;
  return `${at.toISOString()} ${method} ${printable(shown)} ${status ?? '-'} ${sentBytes} B ${Math.round(ms)} ms${key}\n`;
}
