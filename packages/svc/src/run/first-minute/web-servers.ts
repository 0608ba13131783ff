/** Asks the MCP servers on the web that a command line names for their tools, which the task may call. */

import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { arch, platform } from 'node:process';

import { ofLogin } from '@svc/artifacts/manifest/names.ts';
import { pastedAddress, remoteServerOf } from '@svc/artifacts/manifest/artifact-place.ts';
import { platformOf } from '@svc/artifacts/store/artifact-ref.ts';
import { locate } from '@svc/artifacts/store/locate.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { hasLogin, useLogin } from '../../command/own-login.ts';
import { askServer, sourceOf } from '../../command/remote-source.ts';
import { nameOfHost, type WebServer } from './named-servers.ts';

interface WebServerPlace {
  /** The workspace whose store keeps what they list; null for a report, which asks nobody and writes nothing. */
  readonly root: string | null;
  /** Names that the model calls something else by. */
  readonly taken: readonly string[];
  readonly isOffline: boolean;
}

/** The servers of these words, each with the tools that it lists now: who names a server means those. */
export async function webServers(
  named: readonly (readonly string[])[],
  place: WebServerPlace,
  context: Pick<CommandContext, 'env' | 'home'>,
): Promise<readonly WebServer[]> {
  const names = new Set(place.taken);
  const servers: WebServer[] = [];
  for (const [address = '', , variable] of named) {
    const from = `mcp+${pastedAddress(address)}`;
    const url = remoteServerOf(from);
    if (url === null) throw new Error('the address of a server was not checked');
    const name = nameOfHost(url.hostname, names);
    names.add(name);
    const isLoggedIn = variable === undefined && hasLogin(url.href, context.home);
    const auth = isLoggedIn ? ofLogin : variable === undefined ? null : `\${${variable}}`;
    const version = await listedVersion({ name, from, auth }, place, context);
    if (isLoggedIn && place.root !== null) await useLogin(url.href, { home: context.home, folder: place.root });
    servers.push({ name, from, auth, version });
  }
  return servers;
}

/** Asks a server, and keeps what it lists in the store of the workspace. */
async function listedVersion(
  { name, from, auth }: Omit<WebServer, 'version'>,
  { root, isOffline }: WebServerPlace,
  { env, home }: Pick<CommandContext, 'env' | 'home'>,
): Promise<string> {
  if (root === null) return 'unasked';
  if (isOffline)
    throw new Diagnostic(
      'E-RUN-036',
      `the MCP server ${pastedAddress(from)} was not asked for its tools: --offline asks nobody`,
    );
  const asking = { name, auth: auth ?? undefined, manifestDir: root, networkAllow: [], isNamedHere: true };
  const asked = await askServer(from, asking, { env, home, signal: new AbortController().signal });
  const places = {
    manifestDir: root,
    userHome: home,
    packageRoot: findPackageRoot(import.meta.filename),
    platform: platformOf({ platform, arch }),
    sources: () => [sourceOf(from, async () => asked)],
  };
  await locate({ name, version: asked.version }, places);
  removeOlder(join(root, '.svc', 'artifacts', name), asked.version);
  return asked.version;
}

const mostKept = 16;
const youngMs = 24 * 60 * 60_000;

/** Each list of tools is a version of its own, and a server may change its list with every start. Sessions that go on have the young ones. */
export function removeOlder(shelf: string, version: string): void {
  const named = unlessRefused(() => readdirSync(shelf), []).filter((each) => pinned.test(each) && each !== version);
  const dated = named.flatMap((each) => {
    const path = join(shelf, each);
    const there = unlessRefused(() => lstatSync(path), null);
    return there === null ? [] : [{ path, atMs: there.mtimeMs }];
  });
  const old = dated.toSorted((one, other) => other.atMs - one.atMs).slice(mostKept - 1);
  for (const { path, atMs } of old) {
    if (systemClock.now() - atMs < youngMs) continue;
    unlessRefused(() => rmSync(path, { recursive: true, force: true }), undefined);
  }
}

const pinned = /^0\.0\.0-pin[0-9a-f]{16}$/;
