/** The command `svc add`: takes an artifact into a project. */

import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { shellWord } from '@svc/kit/diagnostics/shell-word.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';
import type { ArtifactEdit } from '@svc/artifacts/manifest/edit-artifacts.ts';
import { parseArtifactPlace, remoteServerOf, type RepositoryFolder } from '@svc/artifacts/manifest/artifact-place.ts';
import { isArtifactName, isExactVersion, isReservedVersion } from '@svc/artifacts/manifest/names.ts';
import type { ArtifactEntry } from '@svc/artifacts/manifest/schema.ts';
import { ociPrefix, type OciReference, parseOciReference } from '@svc/artifacts/manifest/oci-reference.ts';
import { isVersionRange } from '@svc/artifacts/manifest/version-range.ts';
import { type ArtifactRef, type ReleaseRef, spell } from '@svc/artifacts/store/artifact-ref.ts';
import {
  type Candidate,
  type Candidates,
  chooseVersion,
  heldToList,
  listedBy,
  listsNoVersions,
  noArtifact,
  noVersion,
  storedHere,
} from '@svc/artifacts/store/choose-version.ts';
import { archivesOfRelease, type GithubApi } from '@svc/artifacts/store/sources/github-source.ts';
import { githubApiOf } from '@svc/artifacts/store/sources/registry-in-use.ts';
import { copiesOfCandidate } from '@svc/artifacts/store/taken-copies.ts';
import { compatibleRange } from '@svc/artifacts/store/version-ranges.ts';
import { judgeState, strictRules } from '@svc/artifacts/store/version-state-rules.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { interruptible } from '../command/stop-signals.ts';
import { packedComponent } from './plain-component.ts';
import { editTo, planPlace, presentEntry } from './place-change.ts';
import { carryOut, openForChange } from './project-change.ts';
import type { ChangeOptions, OpenedProject, PlannedChange } from './opened-project.ts';

interface AddOptions extends ChangeOptions {
  readonly exact?: boolean;
  readonly all?: boolean;
  readonly artifactManifest?: string;
  readonly authEnv?: string;
  readonly clientId?: string;
}

const serverPrefix = 'mcp:';

/** What the argument asks for. */
type Wish =
  | { readonly kind: 'registry'; readonly name: string; readonly wanted: string | null }
  | { readonly kind: 'release'; readonly release: ReleaseRef; readonly from: string }
  /** A skill in a folder of a repository. */
  | { readonly kind: 'skill'; readonly at: RepositoryFolder; readonly from: string }
  | { readonly kind: 'oci'; readonly ref: ArtifactRef; readonly from: string }
  /** A component alone, and the path of the `svc.yaml` that it is packed with. */
  | { readonly kind: 'component'; readonly reference: OciReference; readonly manifest: string }
  | { readonly kind: 'folder'; readonly path: string }
  /** An MCP server, by its command. */
  | { readonly kind: 'server'; readonly command: string }
  /** An MCP server on the web. */
  | { readonly kind: 'remote'; readonly from: string };

/** `svc add <what>`: chooses a version, brings it, and writes it into `svc.lock` and `svc.yaml` (docs/cli.md "svc add"). */
export function addCommand(context: CommandContext): Command {
  return new Command('add')
    .description('Add an artifact to svc.yaml and svc.lock, or move one to another version.')
    .argument(
      '<what>',
      '<name>, <name>@<version>, <name>@<range>, github:<owner>/<repo>@<tag>, github:<owner>/<repo>@<tag>#<folder>, oci://<host>/<path>/<name>:<version>, ./<folder>, mcp:<command>, or mcp+https://<host>/<path>',
    )
    .option('--manifest <path>', 'the manifest of the project', './svc.yaml')
    .option('--registry <which>', 'the address of a registry, the name of a configured source, or local')
    .option('--exact', 'write no range: svc update leaves the version as it is')
    .option('--all', 'take all skills of the repository that github:<owner>/<repo>@<tag> names')
    .option('--artifact-manifest <svc.yaml>', 'the svc.yaml to pack with a bare component from an OCI registry')
    .option('--auth-env <name>', 'the variable with the bearer token that an MCP server on the web wants')
    .option(
      '--client-id <id>',
      'the client whose secret that variable has, where the server wants one, and nobody logs in',
    )
    .option('--allow-yanked', 'take a version that was yanked')
    .option('--accept-signer', 'record who signs an artifact now in place of the one in svc.lock')
    .option('--accept-tools', 'record the list of a skill that lets more through than the one in svc.lock')
    .option('--dry-run', 'say what would change, and change nothing')
    .option('--json', 'write one JSON object for each artifact')
    .action(async (what: string, options: AddOptions, command: Command) => {
      if (options.artifactManifest !== undefined && !what.startsWith(ociPrefix)) {
        command.error('error: --artifact-manifest is for a component that oci://… names');
      }
      const wish = parseWish(what, options);
      if (options.all === true && wish.kind !== 'release') {
        command.error('error: --all is for the skills of a repository that github:<owner>/<repo>@<tag> names');
      }
      if ((options.authEnv ?? options.clientId) !== undefined && wish.kind !== 'remote') {
        command.error('error: --auth-env and --client-id are for an MCP server that mcp+https://… names');
      }
      if (options.clientId !== undefined && options.authEnv === undefined) {
        command.error('error: --client-id needs --auth-env, the variable that has its secret');
      }
      await interruptible(context, async (signal) => {
        const opened = openForChange(context, options, signal);
        if (wish.kind === 'folder') return await (await import('./add-plugin.ts')).addPlace(wish.path, opened, context);
        if (wish.kind === 'server') return await (await import('./add-server.ts')).addServer(wish.command, opened);
        if (wish.kind === 'remote') {
          const { addRemote } = await import('./remote-change.ts');
          const { authEnv = null, clientId = null } = options;
          return await addRemote(wish.from, { authEnv, clientId }, opened);
        }
        await carryOut(await planOf(wish, options, opened), opened);
      });
    });
}

async function planOf(
  wish: Exclude<Wish, { kind: 'server' | 'folder' | 'remote' }>,
  options: AddOptions,
  opened: OpenedProject,
): Promise<readonly PlannedChange[]> {
  switch (wish.kind) {
    case 'registry':
      return [await planOne(wish, options, opened)];
    case 'release':
      return options.all === true
        ? await (await import('./add-repository.ts')).planAllSkills(wish.release, opened)
        : await planRelease(wish, opened);
    case 'skill':
      return [await (await import('./add-repository.ts')).planSkill(wish.at, opened)];
    case 'oci':
      return [planPlace(wish.ref, wish.from, opened)];
    case 'component':
      return [planComponent(wish, opened)];
  }
}

/** `E-ART-008` for what names nothing, `E-REG-004` for a reserved version. */
function parseWish(what: string, { artifactManifest: manifest }: AddOptions): Wish {
  if (what.startsWith(ociPrefix)) {
    return manifest === undefined
      ? parseOciWish(what)
      : { kind: 'component', reference: parseOciReference(what), manifest };
  }
  if (/^mcp\+|^(?:mcp:)?https?:/.test(what)) return parseRemoteWish(what.replace(/^mcp:/, ''));
  if (what.startsWith(serverPrefix)) return { kind: 'server', command: what.slice(serverPrefix.length) };
  if (what.startsWith('github:')) {
    const place = parseArtifactPlace(what);
    if (place?.kind === 'folder') return { kind: 'skill', at: place.at, from: what };
    if (place?.kind === 'github') return { kind: 'release', release: place, from: what };
    throw new Diagnostic('E-ART-008', `${quoted(what)} does not name an artifact`, {
      hint: 'write github:<owner>/<repo>@<tag>, with a branch or a commit in place of the tag for skills, and maybe #<folder> behind it',
    });
  }
  if (/^\.{0,2}\/|^\.{1,2}$/.test(what)) return { kind: 'folder', path: what };
  const at = what.indexOf('@');
  const name = at === -1 ? what : what.slice(0, at);
  const wanted = at === -1 ? null : what.slice(at + 1);
  if (wanted !== null && isReservedVersion(wanted)) {
    throw new Diagnostic('E-REG-004', `the reserved artifact version ${wanted} is not allowed`, {
      hint: `svc add ${isArtifactName(name) ? name : '<name>'} takes the highest version`,
    });
  }
  if (isArtifactName(name) && (wanted === null || isVersionRange(wanted))) return { kind: 'registry', name, wanted };
  const isPath = /^[^:@]+\/[^:@]*$/.test(what);
  throw new Diagnostic('E-ART-008', `${JSON.stringify(what)} does not name an artifact`, {
    hint: isPath
      ? `a folder begins with ./ or /: svc add ${shellWord(`./${what}`)}`
      : 'write <name>, <name>@<version>, <name>@<range> such as echo@^1.2.0, github:<owner>/<repo>@<tag>, or ./<folder>',
  });
}

/** The address of a server may stand there as people paste it. */
function parseRemoteWish(what: string): Wish {
  const from = what.startsWith('mcp+') ? what : `mcp+${what}`;
  if (remoteServerOf(from) !== null) return { kind: 'remote', from };
  throw new Diagnostic(
    'E-ART-008',
    `${quoted(what)} does not name an MCP server on the web: it ${endpointFault(from.slice('mcp+'.length))}`,
    {
      hint: 'write mcp+https://<host>/<path>, without a user, a query or a fragment',
    },
  );
}

/** The last part of the repository is the name, and the tag the version, as `svc publish` writes them: what is fetched has to be that. */
function parseOciWish(what: string): Wish {
  const { host, repository, tag, digest } = parseOciReference(what);
  const name = repository.slice(repository.lastIndexOf('/') + 1);
  const version = tag?.replaceAll('_', '+');
  if (digest === null && isArtifactName(name) && isExactVersion(version)) {
    return { kind: 'oci', ref: { name, version }, from: `${ociPrefix}${host}/${repository}` };
  }
  throw new Diagnostic('E-ART-008', `${quoted(what)} does not name an artifact by its name and version`, {
    hint: 'write oci://<host>/<path>/<name>:<version>; svc.lock keeps the hash, so that no digest is needed',
  });
}

async function planOne(
  { name, wanted }: Extract<Wish, { kind: 'registry' }>,
  options: AddOptions,
  opened: OpenedProject,
): Promise<PlannedChange> {
  const present = presentEntry(name, opened);
  const { candidate, isExact, source } = await chosen(name, wanted, opened);
  const { version } = candidate;
  const range = isExact || options.exact === true ? null : (wanted ?? compatibleRange(version));
  const edit = (runtime: ArtifactEntry['runtime'] | null): ArtifactEdit =>
    editTo({ name, version, range, from: null }, runtime, present);
  return {
    name,
    before: present?.version ?? null,
    after: version,
    range,
    candidate,
    wanted: { name, version },
    ...(source === undefined ? {} : { source }),
    ...(opened.registry().kind === 'local' ? {} : { mayTake: copiesOfCandidate(candidate, opened.request.platform) }),
    expectedEdit: edit(candidate.listed?.artifact_runtime ?? present?.runtime ?? 'tool'),
    edit,
  };
}

interface Chosen {
  readonly candidate: Candidate;
  readonly isExact: boolean;
  readonly source?: ReturnType<typeof heldToList>;
}

async function chosen(name: string, wanted: string | null, opened: OpenedProject): Promise<Chosen> {
  const registry = opened.registry();
  const { platform } = opened.request;
  switch (registry.kind) {
    case 'registry': {
      const listed = await listedBy(registry.client, name);
      const index = async (): Promise<readonly { readonly name: string }[]> => await registry.client.index();
      const among = { candidates: listed, where: registry.client.name, platform, index };
      const found = await choose(name, wanted, among, opened);
      judgeChosen(name, found.candidate, opened, registry.client.name);
      return { ...found, source: heldToList(registry.client, found.candidate) };
    }
    case 'local':
      return await choose(
        name,
        wanted,
        { candidates: storedHere(opened.request, name), where: 'this machine', platform, index: async () => [] },
        opened,
      );
    case 'github':
    case 'oci':
      if (wanted !== null && isWhole(wanted)) return { candidate: { version: wanted, listed: null }, isExact: true };
      throw listsNoVersions(registry.source, name);
  }
}

interface Choosing {
  /** It is null where the registry has no such list. */
  readonly candidates: Candidates | null;
  readonly where: string;
  readonly platform: string;
  /** Everything that the registry has. */
  readonly index: () => Promise<readonly { readonly name: string }[]>;
}

/** A version that is there is meant by itself, whatever else its text could be a range of. */
async function choose(
  name: string,
  wanted: string | null,
  { candidates, where, platform, index }: Choosing,
  { request }: OpenedProject,
): Promise<Chosen> {
  const named = candidates?.all.find(({ version }) => version === wanted);
  if (named !== undefined) return { candidate: named, isExact: true };
  // A registry without lists can still have the version.
  if (candidates === null && wanted !== null && isWhole(wanted)) {
    return { candidate: { version: wanted, listed: null }, isExact: true };
  }
  const among = candidates ?? { where, all: [] };
  const range = wanted ?? '*';
  const candidate = chooseVersion(among, range, platform);
  if (candidate !== null) return { candidate, isExact: false };
  if (among.all.length === 0) throw await noArtifact(name, among, request, index);
  throw noVersion(name, range, among, platform);
}

/** Whether a wish can only mean one version. */
function isWhole(wanted: string): boolean {
  return isExactVersion(wanted) && (compatibleRange(wanted) !== null || !/^[\dxX.]+$/.test(wanted));
}

/** A fetch judges and reports the same; a plan that nothing is fetched for has to do it here. */
function judgeChosen(
  name: string,
  { version, listed }: Candidate,
  { request, options }: OpenedProject,
  by: string,
): void {
  if (listed === null) return;
  const rules = request.fetching?.states ?? strictRules;
  const warning = judgeState({ name, version }, listed, { by, isLocked: false }, rules);
  if (warning !== null && options.dryRun === true) request.onWarning(warning);
}

/** The archives of a release. A repository that has no such release may have skills, which are shown. */
async function releaseOrSkills(
  release: ReleaseRef,
  api: GithubApi,
  opened: OpenedProject,
): ReturnType<typeof archivesOfRelease> {
  try {
    return await archivesOfRelease(api, release, opened.request.platform);
  } catch (error) {
    if (!(error instanceof Diagnostic) || error.code !== 'E-REG-001') throw error;
    return await (await import('./add-repository.ts')).showSkills(release, error, opened);
  }
}

/** Every archive of the release, by the names of its files: what is fetched again later is found by them. */
async function planRelease(
  { release, from }: Extract<Wish, { kind: 'release' }>,
  opened: OpenedProject,
): Promise<readonly PlannedChange[]> {
  const { choice } = opened;
  const api = githubApiOf(`${release.owner}/${release.repo}`, choice);
  const { archives, faults } = await releaseOrSkills(release, api, opened);
  const [fault] = faults;
  if (fault !== undefined) throw fault;
  return archives.map(({ asset, platform }) => planPlace(refOfFile(asset.name, platform), from, opened));
}

/** What its `svc.yaml` says that it is, whatever repository and tag are called. */
function planComponent(
  { reference, manifest }: Extract<Wish, { kind: 'component' }>,
  opened: OpenedProject,
): PlannedChange {
  const { choice, context } = opened;
  const source = packedComponent(reference, manifest, { choice, cwd: context.cwd });
  const { host, repository } = reference;
  // The svc.yaml that it is packed with may be another one by now.
  return { ...planPlace(source.ref, `${ociPrefix}${host}/${repository}`, opened), source, mayTake: () => false };
}

/** `E-ART-008` for a file that is not named `<name>-<version>.zip`. */
function refOfFile(file: string, platform: string | null): { readonly name: string; readonly version: string } {
  const stem = file.slice(0, file.length - '.zip'.length - (platform === null ? 0 : platform.length + 1));
  // A version begins with a digit here, and a name has no dot.
  const [, name, version] = /^([a-z0-9-]+?)-v?(\d[0-9A-Za-z.+-]*)$/.exec(stem) ?? [];
  if (isArtifactName(name) && isExactVersion(version) && stem === `${name}-${version}`) return { name, version };
  throw new Diagnostic(
    'E-ART-008',
    `${JSON.stringify(file)} in the release does not name an artifact and its version`,
    {
      hint: `svc add takes releases whose files are named as svc build names them, such as ${spell({ name: 'echo', version: '1.0.0' }).replace('@', '-')}.zip`,
    },
  );
}
