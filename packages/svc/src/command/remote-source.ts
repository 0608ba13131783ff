/** Makes an artifact of what an MCP server on the web lists. */

import { remoteServerOf } from '@svc/artifacts/manifest/artifact-place.ts';
import { loadEnvironment } from '@svc/artifacts/manifest/env-file.ts';
import { ofLogin } from '@svc/artifacts/manifest/names.ts';
import { authClient, authHeaders } from '@svc/artifacts/manifest/server-headers.ts';
import { hashOfArchive, packArchive, type PackedFile } from '@svc/artifacts/store/archive-writer.ts';
import { type ArtifactRef, spell } from '@svc/artifacts/store/artifact-ref.ts';
import { toolsFile } from '@svc/artifacts/store/inspect-content.ts';
import { type ArtifactSource, manifestFile } from '@svc/artifacts/store/installed-artifact.ts';
import type { RegistryChoice } from '@svc/artifacts/store/sources/registry-in-use.ts';
import type { AskingServer } from '@svc/artifacts/store/store-places.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shellWord } from '@svc/kit/diagnostics/shell-word.ts';
import { proxyFor } from '@svc/kit/net/proxy.ts';
import { version } from '@svc/kit/version.ts';
import { canonicalJson, type PinnedTool, pinnedTools, pinOf } from '@svc/session/tools/mcp/pinned-tools.ts';
import { listedAt } from '@svc/session/tools/mcp/remote-server.ts';
import { clientTokens, loginTokens } from './own-login.ts';

const askMs = 60_000;

/** A server whose tools were asked for. */
export interface AskedServer {
  readonly url: URL;
  readonly tools: readonly PinnedTool[];
  /** The version of an artifact that has just these tools of this server. */
  readonly version: string;
}

interface AskedFor extends AskingServer {
  readonly name: string;
  /** Whether a person names the server now, which takes any login of theirs. */
  readonly isNamedHere?: boolean;
}

/** Asks the server that `from` names. `E-RUN-036` when it does not list a tool. */
export async function askServer(
  from: string,
  { auth, manifestDir, networkAllow, name, isNamedHere = false }: AskedFor,
  { env: process, home, signal }: Pick<RegistryChoice, 'env' | 'home' | 'signal'>,
): Promise<AskedServer> {
  const url = remoteServerOf(from);
  if (url === null) throw new Error('the place of an artifact was not checked');
  const env = loadEnvironment({ directory: manifestDir, process, useFile: true });
  const client = authClient({ name, auth }, env);
  const server = {
    url,
    allow: networkAllow,
    proxyFor: (asked: URL) => proxyFor(asked, process),
    headers: authHeaders({ name, auth }, env),
    ...(auth === ofLogin
      ? { tokens: loginTokens(url, { home, folder: isNamedHere ? null : manifestDir, env: process }) }
      : {}),
    ...(client === null ? {} : { tokens: await clientTokens(url, client, process) }),
  };
  const answer = await listedAt(server, { version, timeoutMs: askMs, signal });
  if (signal.aborted) throw new Diagnostic('E-IO-003', 'the command was interrupted');
  if (answer.kind === 'failed') throw silent(url, { reason: answer.reason, auth });
  const tools = pinnedTools(answer.value.tools);
  if (tools.length === 0) throw silent(url, { reason: answer.value.absent ?? 'lists none', auth });
  return { url, tools, version: `0.0.0-pin${pinOf(url, tools).slice(0, 16)}` };
}

interface Silence extends Pick<AskingServer, 'auth'> {
  readonly reason: string;
}

function silent(url: URL, { reason, auth }: Silence): Diagnostic {
  return new Diagnostic('E-RUN-036', `the MCP server ${url.href} did not list its tools: it ${reason}`, {
    hint: hintOf(url, { reason, auth }),
  });
}

function hintOf(url: URL, { reason, auth }: Silence): string {
  const login = `svc login ${shellWord(url.href)}`;
  if (/^answered with status 40[13]\b/.test(reason)) {
    if (auth === undefined)
      return `log in first: ${login}; or name the variable of a token with --auth-env NAME, or auth of its entry`;
    return auth === ofLogin
      ? `log in anew: ${login}`
      : 'look at what the variable of --auth-env, or of auth of its entry, holds: the server does not take that';
  }
  if (reason.startsWith('could not be asked') || reason.startsWith('did not answer'))
    return 'check address and port, and that the server runs';
  return 'the address is the one that the maker of the server prints for clients of the Model Context Protocol';
}

/** A source of one artifact: the tools that the server of `from` lists now, under the version that names them. */
export function remoteSource(from: string, asking: AskingServer, choice: RegistryChoice): ArtifactSource {
  return sourceOf(from, async (name) => await askServer(from, { ...asking, name }, choice));
}

/** The same of what `ask` answers for an artifact of a name. */
export function sourceOf(from: string, ask: (name: string) => Promise<AskedServer>): ArtifactSource {
  const name = `the MCP server ${from.slice('mcp+'.length)}`;
  return {
    name,
    fetch: async (ref) => {
      const asked = await ask(ref.name);
      if (asked.version !== ref.version) throw listsOthers(ref, { name, asked });
      const files = archiveOf(ref, asked);
      const sha256 = await hashOfArchive(files);
      return { platform: null, sha256, size: null, bytes: packArchive(files), discard: () => {} };
    },
  };
}

function listsOthers(
  ref: ArtifactRef,
  { name, asked }: { readonly name: string; readonly asked: AskedServer },
): Diagnostic {
  return new Diagnostic(
    'E-REG-005',
    `${name} lists other tools than those of ${spell(ref)}: they would be ${asked.version}`,
    {
      hint: `svc update ${ref.name} --dry-run shows them, and svc update ${ref.name} takes them`,
    },
  );
}

/** JSON is YAML. */
function archiveOf({ name, version: own }: ArtifactRef, { url, tools }: AskedServer): readonly PackedFile[] {
  const manifest = { name, version: own, runtime: 'tool', implementation: 'mcp', url: url.href };
  return [
    { name: manifestFile, data: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`) },
    { name: toolsFile, data: Buffer.from(`${canonicalJson(tools)}\n`) },
  ];
}
