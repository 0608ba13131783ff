/** The command `svc view`: shows sessions as a page, served on this machine or as a file. */

import { resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Command, InvalidArgumentError } from 'commander';

import { listenerTokenOf, sessionRedactor } from '@svc/capsule/launch/session-secrets.ts';
import { headerSecrets } from '@svc/capsule/launch/telemetry-secrets.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shownBytes } from '@svc/kit/shown-values.ts';
import { folderOfSession, locateSession, type WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { exactLine, jsonLine, say } from '@svc/terminal/screen/shown.ts';
import type { Added } from '@svc/view-server/export-page.ts';
import type { ViewedSessions } from '@svc/view-server/viewed-sessions.ts';
import { interruptible } from '../command/stop-signals.ts';
import { manifestFlag, manifestHelp } from '../command/session-arguments.ts';

interface ViewOptions extends WorkspaceOption {
  readonly port: number;
  readonly open?: boolean;
  readonly readOnly?: boolean;
  readonly export?: string;
  readonly bodies?: boolean;
  readonly files?: boolean;
  readonly json?: boolean;
}

/** A capsule that is gone is waited for so long by a page that listens to it. */
const resumeMs = 60_000;
const lastPort = 65_535;

/** `svc view [session]`: serves the page until Ctrl+C; with `--export` writes it into a file. */
export function viewCommand(context: CommandContext): Command {
  return new Command('view')
    .description('Show sessions as a page in the browser, live or ended.')
    .argument(
      '[session]',
      'session id, at least 4 of its last characters, or the path of a session folder, a trace.jsonl or an export; all sessions of the workspace when absent',
    )
    .option('--port <n>', 'the port of 127.0.0.1 that the page is served at; 0 is a free one', aPort, 0)
    .option('--open', 'start the browser')
    .option('--read-only', 'a page that can look, and neither send, cancel nor answer anything')
    .option(
      '--export <out.html>',
      'write the page with the session in it into one file; the newest session when none is named',
    )
    .option('--bodies', 'with --export: the texts of the journal too')
    .option('--files', 'with --export: the files that the session has made too')
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--json', 'write one JSON object')
    .action(async (wanted: string | undefined, options: ViewOptions, command: Command) => {
      const { export: output, bodies, files, open, readOnly } = options;
      if (output === undefined && (bodies === true || files === true)) {
        command.error('error: --bodies and --files go with --export');
      }
      if (output !== undefined && (open === true || readOnly === true || options.port !== 0)) {
        command.error('error: --port, --open and --read-only are for a page that is served, not for --export');
      }
      await interruptible(context, async (signal) => await view(wanted, options, { context, signal }));
    });
}

interface Run {
  readonly context: CommandContext;
  /** Aborted by Ctrl+C. */
  readonly signal: AbortSignal;
}

async function view(wanted: string | undefined, options: ViewOptions, run: Run): Promise<void> {
  const { context, signal } = run;
  const { openViewed } = await import('@svc/view-server/viewed-sessions.ts');
  const { export: output } = options;
  const named =
    output === undefined ? wanted : (wanted ?? locateSession(folderOfSession(context, options, undefined), undefined));
  const sessions = await openViewed(context, named, options);
  try {
    // An archive may have taken its time.
    if (signal.aborted) throw new Diagnostic('E-IO-001', 'svc view was interrupted');
    if (output === undefined) await serve(sessions, options, run);
    else await exportTo(resolve(context.cwd, output), sessions, { ...run, options });
  } finally {
    sessions.close();
  }
}

async function serve(sessions: ViewedSessions, options: ViewOptions, { context, signal }: Run): Promise<void> {
  const { readPage } = await import('@svc/view-server/page-document.ts');
  const { serveView } = await import('@svc/view-server/view-server.ts');
  const { port, readOnly = false, open = false } = options;
  // What streams by is garbage at once: the engine would add room for it bit by bit, and save nothing (docs/adr/terminal-and-viewer.md "A page for one
  // browser or a file").
  setFlagsFromString('--semi-space-growth-factor=1');
  const page = readPage();
  const server = await serveView({ user: context, sessions, page, readOnly, resumeMs, port, opens: open });
  signal.addEventListener('abort', () => void server.close(), { once: true });
  // It may have come while the server was being made.
  if (signal.aborted) await server.close();
  try {
    const about = { url: server.url, port: server.port, session: sessions.first, read_only: readOnly };
    context.stdout.write(options.json === true ? jsonLine(about) : exactLine`${server.url}\n`);
    if (context.stderr.isTerminal && !signal.aborted) context.stderr.write(say`Ctrl+C ends the page\n`);
    const closeFile = server.openUrl === null ? null : await opened(server.openUrl, context, signal);
    if (closeFile !== null) void server.opened.then(closeFile);
    await server.ended.finally(() => closeFile?.());
  } finally {
    await server.close();
  }
}

/** Returns null where no browser was started, which is said. */
async function opened(url: string, context: CommandContext, signal: AbortSignal): Promise<(() => void) | null> {
  const { openBrowser } = await import('./open-browser.ts');
  try {
    return await openBrowser(url, context, signal);
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    context.stderr.write(render([error], context));
    return null;
  }
}

async function exportTo(
  path: string,
  sessions: ViewedSessions,
  { options, context, signal }: Run & { readonly options: ViewOptions },
): Promise<void> {
  const { readPage } = await import('@svc/view-server/page-document.ts');
  const { exportPage } = await import('@svc/view-server/export-page.ts');
  const session = sessions.find(sessions.first ?? '');
  if (session === null) throw new Diagnostic('E-RUN-070', 'the session is not there any more');
  const { bodies = false, files = false } = options;
  const tell = ({ texts, files: count, bytes }: Added): void => {
    if (bodies || files)
      context.stderr.write(say`adds ${counted(texts, 'text')} and ${counted(count, 'file')}, ${shownBytes(bytes)}\n`);
  };
  // An exported page is for others: no variable of today with a secret may show in it.
  const { env } = context;
  const grants = { envAllow: Object.keys(env) };
  const headers = headerSecrets(env);
  const given = { grants, references: [], env, headers };
  const redactor = await sessionRedactor({ apiKey: null, listenerToken: listenerTokenOf(env), ...given });
  const added = await exportPage({ session, page: readPage(), path, bodies, files, redactor, tell, signal });
  const about = { path, session: session.id, texts: added.texts, files: added.files, added_bytes: added.bytes };
  context.stdout.write(options.json === true ? jsonLine(about) : exactLine`${path}\n`);
}

function aPort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= lastPort) return port;
  throw new InvalidArgumentError('it is no whole number from 0 to 65535.');
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
