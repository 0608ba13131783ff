/** Plans how an MCP server on the web comes into a project, and how what it lists now takes the place of what it listed. */

import { ofLogin, runtimeTools } from '@svc/artifacts/manifest/names.ts';
import { remoteServerOf } from '@svc/artifacts/manifest/artifact-place.ts';
import type { ArtifactEntry, ServerAuth } from '@svc/artifacts/manifest/schema.ts';
import { toolsFile } from '@svc/artifacts/store/inspect-content.ts';
import { locate } from '@svc/artifacts/store/locate.ts';
import { inspectStored } from '@svc/artifacts/store/open-stored.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { proxyFor } from '@svc/kit/net/proxy.ts';
import { quoted, shortened } from '@svc/kit/diagnostics/printable.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import { canonicalJson, type PinnedTool, pinChange, pinnedTools } from '@svc/session/tools/mcp/pinned-tools.ts';
import { say } from '@svc/terminal/screen/shown.ts';
import { hasLogin, useLogin } from '../command/own-login.ts';
import { type AskedServer, askServer, sourceOf } from '../command/remote-source.ts';
import { nameOfHost } from '../run/first-minute/named-servers.ts';
import type { OpenedProject, PlannedChange } from './opened-project.ts';
import { carryOut } from './project-change.ts';

/** About so many characters are a token of a model. */
const perToken = 4;
const maxLine = 100;

interface NamedAuth {
  /** The variable with a bearer token, or with the secret of the client. */
  readonly authEnv: string | null;
  readonly clientId: string | null;
}

/** `svc add mcp+https://…`. The capsule may use a login that the user has at the server. */
export async function addRemote(from: string, named: NamedAuth, opened: OpenedProject): Promise<void> {
  const change = await planServer(from, named, opened);
  await carryOut([change], opened);
  await useLogins([change], opened);
}

/** The capsule may use the logins that these changes name, once they are made. */
export async function useLogins(
  changes: readonly PlannedChange[],
  { choice, options, request }: OpenedProject,
): Promise<void> {
  if (options.dryRun === true) return;
  for (const { wanted } of changes) {
    const url = wanted?.auth === ofLogin ? remoteServerOf(wanted.from) : null;
    if (url !== null) await useLogin(url.href, { home: choice.home, folder: request.manifestDir });
  }
}

/** Asks the server, and shows what it lists. Without `given`, its host names it. `E-ART-008` for one that the manifest lists already. */
export async function planServer(
  from: string,
  named: NamedAuth,
  opened: OpenedProject,
  given?: string,
): Promise<PlannedChange> {
  const { listed, loaded } = opened;
  const { authEnv } = named;
  const present = listed.find((entry) => entry.from === from);
  if (present !== undefined) {
    throw new Diagnostic('E-ART-008', `the manifest lists ${quoted(from)} already, as ${present.name}`, {
      hint: `svc update ${present.name} takes the tools that it lists now`,
    });
  }
  if (authEnv !== null && !/^[A-Z_][A-Z0-9_]*$/.test(authEnv)) {
    throw new Diagnostic('E-ART-008', '--auth-env wants the name of a variable, in capitals', {
      hint: 'put the token into that variable, or into the .env file beside the manifest',
    });
  }
  const commands = loaded.manifest.capabilities.shell?.allow ?? [];
  const taken = new Set([...listed.map((entry) => entry.name), ...commands, ...runtimeTools]);
  const url = remoteServerOf(from);
  const name = given ?? nameOfHost(url?.hostname ?? '', taken);
  const auth = url === null ? undefined : await authOf(url, named, opened);
  const asked = await askServer(from, { ...askingOf(opened), name, auth, isNamedHere: true }, opened.choice);
  showTools(asked, opened);
  const { version } = asked;
  const edit = { kind: 'add', row: { name, version, from, ...(auth === undefined ? {} : { auth }) } } as const;
  return planned({ name, from, auth, before: null, asked, edit });
}

/** `svc update`: asks the servers of these entries. One that lists the same tools as before has no change. */
export async function planUpdates(
  entries: readonly ArtifactEntry[],
  opened: OpenedProject,
): Promise<readonly PlannedChange[]> {
  const plan: PlannedChange[] = [];
  for (const { name, version: before, from = '', auth } of entries) {
    const asked = await askServer(from, { ...askingOf(opened), name, auth }, opened.choice);
    const { version } = asked;
    if (version === before) {
      opened.context.stderr.write(say`${name} stays at ${before}: its server lists the same tools\n`);
      continue;
    }
    showDifference(name, await acceptedTools({ name, version: before }, opened), { asked, opened });
    plan.push(planned({ name, from, auth, before, asked, edit: { kind: 'change', name, version } }));
  }
  return plan;
}

function askingOf({ request }: OpenedProject): {
  readonly manifestDir: string;
  readonly networkAllow: NonNullable<OpenedProject['request']['networkAllow']>;
} {
  return { manifestDir: request.manifestDir, networkAllow: request.networkAllow ?? [] };
}

interface Planned extends Pick<ArtifactEntry, 'name' | 'auth'> {
  readonly from: string;
  readonly before: string | null;
  readonly asked: AskedServer;
  readonly edit: PlannedChange['expectedEdit'];
}

async function authOf(
  url: URL,
  { authEnv, clientId }: NamedAuth,
  { choice: { home, env, signal } }: OpenedProject,
): Promise<ServerAuth | undefined> {
  if (authEnv === null) return hasLogin(url.href, home) ? ofLogin : undefined;
  const variable = `\${${authEnv}}`;
  if (clientId === null) return variable;
  const { findOffer } = await import('@svc/session/tools/mcp/login/login-offer.ts');
  const { issuer } = await findOffer(url, { proxyFor: (asked) => proxyFor(asked, env), signal });
  return { client_id: clientId, client_secret: variable, issuer };
}

/** What the server was just asked is what comes: it is not asked again. */
function planned({ name, from, auth, before, asked, edit }: Planned): PlannedChange {
  return {
    name,
    before,
    after: asked.version,
    range: null,
    candidate: null,
    wanted: { name, version: asked.version, from, auth },
    source: sourceOf(from, async () => asked),
    expectedEdit: edit,
    edit: () => edit,
  };
}

/** The tools of a version that is on this machine; null where it is not. */
async function acceptedTools(
  ref: { readonly name: string; readonly version: string },
  { request }: OpenedProject,
): Promise<readonly PinnedTool[] | null> {
  try {
    const location = await locate(ref, { ...request, sources: () => [] });
    const { artifact } = await inspectStored(location, '');
    const tools = artifact === null ? null : parseJson((await artifact.read(toolsFile)).toString('utf8'));
    return Array.isArray(tools) ? pinnedTools(tools as readonly unknown[]) : null;
  } catch (error) {
    // Nothing of it is here to compare with.
    if (error instanceof Diagnostic) return null;
    throw error;
  }
}

function showTools({ url, tools }: AskedServer, { context }: OpenedProject): void {
  const tokens = Math.ceil(canonicalJson(tools).length / perToken);
  context.stderr.write(
    say`${url.href} lists ${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}, about ${tokens} tokens with each turn:\n`,
  );
  for (const tool of tools) context.stderr.write(say`  ${lineOf(tool)}\n`);
}

function showDifference(
  name: string,
  accepted: readonly PinnedTool[] | null,
  { asked, opened }: { readonly asked: AskedServer; readonly opened: OpenedProject },
): void {
  if (accepted === null) return showTools(asked, opened);
  const { stderr } = opened.context;
  const { change } = pinChange(accepted, asked.tools);
  const what = change === null ? 'the same tools in another form or at another address' : `other tools: ${change}`;
  stderr.write(say`${name} lists ${what}\n`);
  const now = new Map(asked.tools.map((tool) => [tool.name, tool]));
  for (const tool of accepted) {
    const other = now.get(tool.name);
    now.delete(tool.name);
    if (other !== undefined && canonicalJson(other) === canonicalJson(tool)) continue;
    stderr.write(say`- ${lineOf(tool)}\n`);
    if (other !== undefined) stderr.write(say`+ ${lineOf(other)}\n`);
  }
  for (const tool of now.values()) stderr.write(say`+ ${lineOf(tool)}\n`);
}

/** Its name, its arguments and the beginning of what it says of itself, as text of a stranger. */
function lineOf({ name, description, inputSchema }: PinnedTool): string {
  const { properties } = inputSchema;
  const args = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  const [first = ''] = description.trim().split('\n', 1);
  return `${shortened(name, maxLine)}(${shortened(args.join(', '), maxLine)}) ${shortened(first, maxLine)}`.trimEnd();
}
