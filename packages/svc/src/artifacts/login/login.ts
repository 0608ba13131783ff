/** The command `svc login`: logs in at an MCP server on the web, for the capsules of this user. */

import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as after } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';

import { loadUserConfig } from '@svc/artifacts/manifest/config.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { proxyFor } from '@svc/kit/net/proxy.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { type KeptLogin, readLogin, userOf, writeLogin } from '@svc/session/tools/mcp/login/kept-login.ts';
import type { LoginOffer } from '@svc/session/tools/mcp/login/login-offer.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { exactLine, jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { ownLoginPlace, useLogin } from '../../command/own-login.ts';
import { interruptible } from '../../command/stop-signals.ts';
import { openBrowser } from '../../look-back/open-browser.ts';
import { namedServer } from './named-server.ts';
import { clientFor, findCodeOffer, takeLogin } from './oauth-flow.ts';
import { RedirectDoor } from './redirect-door.ts';

interface LoginOptions {
  readonly manifest: string;
  readonly scope?: string;
  readonly clientId?: string;
  readonly port?: number;
  readonly json?: boolean;
}

const waitMs = 5 * 60_000;

/** `svc login <server>` (docs/mcp.md "A login"). */
export function loginCommand(context: CommandContext): Command {
  return new Command('login')
    .description('Log in at an MCP server on the web, and let the capsule here use the login.')
    .argument('<server>', 'its address, or the name of its artifact in svc.yaml')
    .option('--manifest <path>', 'the manifest that may use it, where it lists the server', './svc.yaml')
    .option('--scope <scopes>', 'what to ask for, in place of what the server names')
    .option('--client-id <id>', 'the client as which svc is known at the authorization server')
    .option('--port <number>', 'the port of 127.0.0.1 that the browser comes back to; else a free one', portOf)
    .option('--json', 'write one JSON object')
    .action(async (what: string, options: LoginOptions) => {
      const { server, folder } = namedServer(what, options.manifest, context);
      await interruptible(context, async (signal) => {
        const { home } = context;
        const kept = readLogin(ownLoginPlace(server.href, home));
        const isNew = folder === null || kept?.used_by.includes(userOf(folder)) === true;
        const asksMore = options.scope !== undefined || options.clientId !== undefined;
        const isShared = !isNew && !asksMore && (await useLogin(server.href, { home, folder }));
        const login = isShared ? kept : await loggedIn(server, { folder, options, context, signal });
        if (login === null) throw new Error('a login that is used is there');
        const { issuer, tokens } = login;
        if (options.json === true)
          context.stdout.write(jsonLine({ server: server.href, issuer, scope: tokens.scope, folder }));
        else context.stderr.write(say`${isShared ? 'there is a login' : 'logged in'} at ${server.href}\n`);
        if (folder !== null && options.json !== true) context.stderr.write(say`the capsule in ${folder} may use it\n`);
      });
    });
}

interface Wanted {
  readonly folder: string | null;
  readonly options: LoginOptions;
  readonly context: CommandContext;
  readonly signal: AbortSignal;
}

async function loggedIn(server: URL, { folder, options, context, signal }: Wanted): Promise<KeptLogin> {
  const place = ownLoginPlace(server.href, context.home);
  const before = readLogin(place);
  const asking = { proxyFor: (url: URL) => proxyFor(url, context.env), signal };
  const offer = await findCodeOffer(server, asking);
  const door = await RedirectDoor.open(options.port ?? 0);
  try {
    const scope = options.scope ?? offer.scope;
    // A client that a person named is named once.
    const isSame = before?.issuer === offer.metadata.issuer && before.client.is_given;
    const given = options.clientId ?? (isSame ? before.client.client_id : null);
    const { clientMetadata: document = null } = loadUserConfig(context);
    const client = await clientFor(offer, { redirect: door.url, scope, given, document }, asking);
    const { client_id: id } = client;
    const { startAuthorization } = await import('@modelcontextprotocol/client');
    const { authorizationUrl, codeVerifier: verifier } = await startAuthorization(offer.metadata.issuer, {
      metadata: offer.metadata,
      clientInformation: { client_id: id },
      redirectUrl: door.url,
      ...(scope === undefined ? {} : { scope }),
      state: door.state,
      resource: offer.resource,
    });
    showOffer(offer, { scope, url: authorizationUrl, context });
    const back = await comeBack(door, authorizationUrl, { context, signal });
    const now = systemClock.now();
    const taken = await takeLogin(offer, { client, redirect: door.url, verifier }, { given: back, nowMs: now, asking });
    return await keep(taken, folder, context);
  } finally {
    door.close();
  }
}

/** Folders that could use the login before can use this one. */
async function keep(
  taken: Omit<KeptLogin, 'used_by'>,
  folder: string | null,
  context: CommandContext,
): Promise<KeptLogin> {
  const place = ownLoginPlace(taken.server, context.home);
  await makeDirectory(dirname(place.path), 0o700);
  return await withGuard(place.path, async () => {
    const users = new Set([...(readLogin(place)?.used_by ?? []), ...(folder === null ? [] : [userOf(folder)])]);
    const login = { ...taken, used_by: [...users] };
    await writeLogin(place, login);
    return login;
  });
}

function showOffer(
  { server, metadata }: LoginOffer,
  { scope, url, context }: { readonly scope: string | undefined; readonly url: URL; readonly context: CommandContext },
): void {
  const { stderr } = context;
  const wants = scope === undefined ? '' : `, for: ${scope}`;
  const issuer = new URL(metadata.issuer);
  const by = issuer.host === url.host ? '' : ` (of ${issuer.host})`;
  stderr.write(say`${server.host} asks you to log in at ${url.host}${by}${wants}\n`);
  stderr.write(exactLine`${url.href}\n`);
  stderr.write(
    say`Open that address, or press Enter to open it in a browser here. From a browser elsewhere, paste the address that it lands on.\n`,
  );
}

/** By the door, or by an address that is pasted. `E-RUN-240` when nobody comes within five minutes. */
async function comeBack(
  door: RedirectDoor,
  url: URL,
  { context, signal }: Pick<Wanted, 'context' | 'signal'>,
): Promise<URLSearchParams> {
  const over = new AbortController();
  const leave = (): void => over.abort();
  signal.addEventListener('abort', leave);
  const isOver = new Promise<void>((resolve) => over.signal.addEventListener('abort', () => resolve(), { once: true }));
  const lines = createInterface({ input: process.stdin, terminal: false });
  const pages: Promise<void>[] = [];
  lines.on('line', (line) => {
    const text = line.trim();
    if (text !== '') {
      const isTaken = URL.canParse(text) && door.take(new URL(text));
      if (!isTaken) context.stderr.write(say`that is not the address that the browser lands on\n`);
      return;
    }
    const page = openBrowser(url.href, context, over.signal).then(
      async (remove) => {
        await isOver;
        remove();
      },
      (error: unknown) => {
        if (!(error instanceof Diagnostic)) throw error;
        context.stderr.write(render([error], context));
      },
    );
    pages.push(page);
  });
  try {
    const late = after(waitMs, null, { signal: over.signal }).catch(() => null);
    const given = await Promise.race([door.arrived, late]);
    if (given !== null) return given;
    const why = signal.aborted ? 'the login was left' : `nobody came back within ${waitMs / 60_000} minutes`;
    throw new Diagnostic('E-RUN-240', why, { hint: 'run svc login once more' });
  } finally {
    signal.removeEventListener('abort', leave);
    over.abort();
    lines.close();
    await Promise.all(pages);
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('It is a number from 0 to 65535.');
}
