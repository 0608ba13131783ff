/** The command `svc logout`: ends a login at an MCP server on the web. */

import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { proxyFor } from '@svc/kit/net/proxy.ts';
import { type KeptLogin, removeLogin } from '@svc/session/tools/mcp/login/kept-login.ts';
import { loginFetch } from '@svc/session/tools/mcp/login/login-fetch.ts';
import { ledByServer } from '@svc/session/tools/mcp/login/token-answer.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { ownLoginPlace } from '../../command/own-login.ts';
import { interruptible } from '../../command/stop-signals.ts';
import { namedServer } from './named-server.ts';

interface LogoutOptions {
  readonly manifest: string;
  readonly json?: boolean;
}

/** `svc logout <server>` (docs/mcp.md "A login"). */
export function logoutCommand(context: CommandContext): Command {
  return new Command('logout')
    .description('End a login at an MCP server on the web, and remove it from this machine.')
    .argument('<server>', 'its address, or the name of its artifact in svc.yaml')
    .option('--manifest <path>', 'the manifest whose artifact is named', './svc.yaml')
    .option('--json', 'write one JSON object')
    .action(async (what: string, options: LogoutOptions) => {
      const { server } = namedServer(what, options.manifest, context);
      await interruptible(context, async (signal) => {
        // First of all nobody here uses it any more.
        const removed = await removeLogin(ownLoginPlace(server.href, context.home));
        if (removed === null) {
          throw new Diagnostic('E-RUN-241', `there is no login at ${server.href}`, { hint: 'svc doctor lists them' });
        }
        const { login, fault } = removed;
        const why = login === null ? fault : await revoked(login, context, signal);
        if (options.json === true) context.stdout.write(jsonLine({ server: server.href, revoked: why === null }));
        else context.stderr.write(say`removed the login at ${server.href}\n`);
        if (why !== null) context.stderr.write(say`its tokens were not revoked, and end by themselves: ${why}\n`);
      });
    });
}

/** Asks that both tokens end (RFC 7009). Returns why they did not, as a clause. */
async function revoked(
  { server, address, issuer, client, endpoints, tokens }: KeptLogin,
  { env }: CommandContext,
  signal: AbortSignal,
): Promise<string | null> {
  const { revocation_endpoint: endpoint } = endpoints;
  if (endpoint === null) return `${new URL(issuer).host} does not offer that`;
  const ledBy = ledByServer(new URL(server), address);
  const fetchFn = loginFetch({ ledBy, proxyFor: (url) => proxyFor(url, env), signal });
  const { client_id: id, client_secret: secret } = client;
  const own = { token: tokens.refresh_token ?? tokens.access_token, client_id: id };
  // Servers of the official library for Python want the key, with an empty value where there is no secret (RFC 6749 §2.3.1).
  const forms = secret === null ? [own, { ...own, client_secret: '' }] : [{ ...own, client_secret: secret }];
  try {
    let last = 0;
    for (const form of forms) {
      const { ok, status } = await fetchFn(endpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
        body: new URLSearchParams(form),
      });
      if (ok) return null;
      last = status;
      if (status !== 400) break;
    }
    return `${new URL(issuer).host} answered with status ${last}`;
  } catch (error) {
    if (error instanceof Diagnostic) return error.message;
    throw error;
  }
}
