/** Reports what a launch would be granted, for people and as JSON. */

import { arch, platform } from 'node:process';
import { existsSync } from 'node:fs';
import { delimiter, isAbsolute } from 'node:path';

import { flagKeys } from '@svc/artifacts/grants/flag-grants.ts';
import { type ListFields, listKeys } from '@svc/artifacts/grants/list-grants.ts';
import type { PreopenLine, ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import { decidesPrograms } from '@svc/artifacts/manifest/decided-inside.ts';
import { ofLogin } from '@svc/artifacts/manifest/names.ts';
import { platformOf } from '@svc/artifacts/store/artifact-ref.ts';
import { type LaunchScope, scopeOfLaunch, type ScopeRequest } from '@svc/capsule/launch/scope-of-launch.ts';
import { type CommandQuestion, searchPath } from '@svc/capsule/launch/launch-warnings.ts';
import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import { realPath } from '@svc/kit/files/resolve-beneath.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { redactedTexts } from '@svc/record/trace/file-trace.ts';
import { neededFiles } from '@svc/sandbox/closure/needed-files.ts';
import { systemFiles } from '@svc/sandbox/closure/file-collection.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';
import { notStopped } from '@svc/view-server/not-stopped.ts';

/** A field and its value, a line for each text. */
type Field = readonly [name: string, lines: readonly string[]];

/** The text block of `svc run --explain-scope`: D1's two sections, then limits and what is not stopped (D1 "Scope report"). */
export function renderScopeReport(scope: ScopeObject): string {
  const sentences = notStopped(scope).map((sentence) => `  - ${printable(sentence)}\n`);
  return [
    `Containment\n${renderFields(containmentFields(scope))}`,
    renderGrants(scope),
    `Limits\n${renderFields(limitFields(scope))}`,
    `Not stopped\n${sentences.join('')}`,
  ].join('\n');
}

/** The section of what the capsule may do. */
export function renderGrants(scope: ScopeObject): string {
  return `Effective grants\n${renderFields(grantFields(scope))}`;
}

/** The last line of a report on a launch that would be refused, with every reason (D1 "Command line"). */
export function renderReportOnly(refusals: readonly Diagnostic[]): string {
  const reasons = refusals.map(({ code, message }) => `${code}, ${printable(message)}`);
  return `this is a report only: svc run would be refused (${reasons.join('; ')})\n`;
}

function containmentFields({ containment }: ScopeObject): readonly Field[] {
  return [
    ['declared', [containment.declared]],
    ['achieved', [containment.achieved]],
    ['floor met', [yesOrNo(containment.floor_met)]],
    ['mechanism', [containment.mechanism]],
    ['userns grant', [containment.userns_grant]],
  ];
}

function grantFields(scope: ScopeObject): readonly Field[] {
  return [
    ['filesystem scope', [scope.filesystem_scope ?? wholeWorkdir]],
    ...flags(scope, 'filesystem'),
    ['read_only', [yesOrNo(scope.read_only)]],
    ['preopens', preopenLines(scope.preopens)],
    ...commandReads(scope),
    ...toolVariables(scope),
    ...renamedTools(scope),
    ...discoveredSkills(scope),
    ...projectFolder(scope),
    ...projectText(scope),
    ...lists(scope, (key) => key === 'network_allow'),
    ...boundHosts(scope),
    ...credentials(scope),
    ...proxied(scope),
    ...remoteServers(scope),
    ...flags(scope, 'network'),
    ...lists(scope, (key) => key !== 'network_allow'),
    ['plan submit', [yesOrNo(scope.plan_submit)]],
    ...approvals(scope),
    ...(scope.notified === undefined
      ? []
      : [['notifications', [`${scope.notified} hears of questions, ends and serious refusals`]] as const]),
    ['interpreter runtime', [listed(scope.interpreter_runtime)]],
    ['staged runtime', [listed(scope.staged_runtime)]],
  ];
}

function lists(scope: ScopeObject, isWanted: (key: keyof ListFields) => boolean): readonly Field[] {
  return listKeys.filter(isWanted).flatMap((key) => {
    const names = scope[key];
    return names === undefined ? [] : [[key.replaceAll('_', ' '), [listed(names)]]];
  });
}

function flags(scope: ScopeObject, section: 'filesystem' | 'network'): readonly Field[] {
  return flagKeys(section).map((key) => [key.replaceAll('_', ' '), [yesOrNo(scope[key])]]);
}

/** Fields for a driver that is a program, and whose command names a file. */
function commandReads({ command_reads: reads = [] }: ScopeObject): readonly Field[] {
  return reads.length === 0 ? [] : [['command reads', reads]];
}

/** Fields where hosts are granted with more than their names. */
function boundHosts({ bound_hosts: hosts = [] }: ScopeObject): readonly Field[] {
  const lines = hosts.map(({ host, rules, credential, foreign }) => {
    const held =
      credential === undefined
        ? []
        : [`with the credential ${credential}${foreign === undefined ? ' and no other' : ' or any other'}`];
    return `${host} ${[...held, ...(rules === undefined ? [] : [`for ${rules.join(', ')}`])].join(', ')}`;
  });
  return lines.length === 0 ? [] : [['requests held', lines]];
}

function credentials({ credentials: held = [] }: ScopeObject): readonly Field[] {
  const lines = held.map(({ name, for: subjects, header, scheme, region, service, token_endpoint: endpoint, env }) => {
    const shown = env === undefined ? '' : `, a placeholder in ${env}`;
    const scope = service === undefined ? '' : ` for ${service} in ${region}`;
    const from = endpoint === undefined ? '' : ` from ${endpoint}`;
    return `${name} for ${subjects.join(', ')}: ${scheme}${scope}${from} in ${header}${shown}`;
  });
  return lines.length === 0 ? [] : [['credentials', lines]];
}

/** Fields for a manifest with `approvals`: a line for each of its rules, and how far those about commands reach. */
function approvals({ approvals: settings, containment: { achieved } }: ScopeObject): readonly Field[] {
  if (settings === undefined) return [];
  const { default: otherwise, opaque, rules } = settings;
  const lines = rules.flatMap((rule) =>
    Object.entries(rule).map(([verdict, matched]) => `${verdict} ${JSON.stringify(matched)}`),
  );
  const reach =
    achieved === 'advisory'
      ? 'programs that commands start cannot be judged in this class: a capsule that has programs does not start'
      : 'ask and deny of commands are also about programs that commands start';
  return [
    [
      'approvals',
      [
        `${otherwise} by default, ${opaque} for lines that cannot be read for sure`,
        ...lines,
        ...(decidesPrograms(settings) ? [reach] : []),
      ],
    ],
  ];
}

/** Fields where the environment names a proxy for a host that is granted. */
function proxied({ proxied: places = [] }: ScopeObject): readonly Field[] {
  if (places.length === 0) return [];
  return [['through a proxy', places.map(({ host, proxy }) => `${host} by ${proxy}, judged by its name`)]];
}

/** Fields for MCP servers on the web. */
function remoteServers({ mcp_servers: servers = [] }: ScopeObject): readonly Field[] {
  if (servers.length === 0) return [];
  return [['mcp servers', servers.map(({ artifact, url, auth }) => `${artifact} ${url} (${shownTo(auth)})`)]];
}

function shownTo(auth: string | null): string {
  if (auth === null) return 'shown nothing';
  if (auth === ofLogin) return 'login of this user';
  return auth.startsWith('client ') ? auth : `shown ${auth}`;
}

/** Fields for entries of artifacts that set variables. */
function toolVariables({ tool_variables: set = {} }: ScopeObject): readonly Field[] {
  const lines = Object.entries(set).map(([artifact, names]) => `${artifact}: ${names.join(' ')}`);
  return lines.length === 0 ? [] : [['variables set', lines]];
}

/** Fields for tools of MCP servers that have another name here. */
function renamedTools({ renamed_tools: renamed = {} }: ScopeObject): readonly Field[] {
  const lines = Object.entries(renamed).map(([name, tool]) => `${name}: ${tool} of its server`);
  return lines.length === 0 ? [] : [['tools renamed', lines]];
}

/** Fields where `skills.discover` finds some. */
function discoveredSkills({ discovered_skills: found = {} }: ScopeObject): readonly Field[] {
  const lines = Object.entries(found).map(([name, folder]) => `${name} of ${folder}`);
  return lines.length === 0 ? [] : [['skills found', lines]];
}

/** Fields for a task without a manifest, and for a workdir that was named. */
function projectFolder({ project_folder: folder }: ScopeObject): readonly Field[] {
  if (folder === undefined) return [];
  const { path, is_workdir: isWorkdir = false, keeps_git: keepsGit = false } = folder;
  const access = folder.writable ? 'read and write' : 'read only';
  return [
    [
      isWorkdir ? 'workdir' : 'project folder',
      [
        isWorkdir ? `${path}, ${access}` : `${path}, as project/, ${access}`,
        ...folder.masked.map((masked) => `masked: ${masked}`),
        ...gitLines(folder),
        ...(keepsGit ? ['kept as it is: what git runs and obeys (--write-git opens it)'] : []),
      ],
    ],
  ];
}

/** Fields for a file that a session begins with. */
function projectText({ project_text: text }: ScopeObject): readonly Field[] {
  if (text === undefined) return [];
  const { path, bytes, truncated, sha256 } = text;
  const cut = truncated ? ', of which the model gets the first 32 KiB' : '';
  return [['project text', [`${path}, ${bytes} bytes${cut}, sha256 ${sha256}`]]];
}

function gitLines({ git, closed_git: closed }: NonNullable<ScopeObject['project_folder']>): readonly string[] {
  if (closed !== undefined) return [`git does not work: ${closed.path} ${closed.why}`];
  if (git === undefined) return [];
  const data = `its repository: ${git.path}, ${git.writable ? 'read and write' : 'read only'}`;
  return git.around === null ? [data] : [data, `names of files in ${git.around}, and not their content`];
}

function limitFields({ limits }: ScopeObject): readonly Field[] {
  return limits.map(({ resource, of, max, held_by: heldBy }) => {
    const most = max === null ? 'no limit' : `${max}${resource === 'memory' ? ' bytes' : ''}, held by ${heldBy}`;
    return [`${resource} of a ${of}`, [most]];
  });
}

const wholeWorkdir = '(the whole workdir)';
const nothing = '(none)';

function preopenLines(preopens: readonly PreopenLine[]): readonly string[] {
  if (preopens.length === 0) return [nothing];
  const owners = preopens.map(({ artifact, runtime }) => `${artifact} (${runtime})`);
  const width = widest(owners);
  return preopens.map((preopen, index) => `${(owners[index] ?? '').padEnd(width)}  ${reachOf(preopen)}`);
}

function reachOf({ path, writable, state = [], runs = [] }: PreopenLine): string {
  const reach =
    path === null ? [] : [`${path === '.' ? wholeWorkdir : path}, ${writable ? 'read and write' : 'read only'}`];
  const stores = state.map((store) => `the state store ${store}, read and write`);
  const programs = runs.length === 0 ? [] : [`runs ${runs.join(', ')}, which the model does not`];
  return [...reach, ...stores, ...programs].join('; ') || nothing;
}

function renderFields(fields: readonly Field[]): string {
  const width = widest(fields.map(([name]) => name)) + 1;
  return fields
    .flatMap(([name, lines]) =>
      lines.map((line, index) => `  ${(index === 0 ? `${name}:` : '').padEnd(width)}  ${printable(line)}\n`),
    )
    .join('');
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? nothing : names.join(', ');
}

function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no';
}

function widest(texts: readonly string[]): number {
  return Math.max(...texts.map((text) => text.length));
}

/** What a launch would be granted, without the launch (D1 "Scope report"). */
interface ScopeExplanation {
  readonly scope: ScopeObject;
  /** The scope as JSON: the bytes that the trace of a session has as `effective_grants`. */
  readonly json: string;
  /** Why a launch would be refused; empty when manifest, configuration and host allow it. */
  readonly refusals: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  /** Takes the secrets of the capsule out of a text. */
  readonly redact: (text: string) => string;
}

/**
 * Determines the scope from manifest, configuration and host alone: looks no host or artifact up, compiles nothing, makes no directory
 * and binds no port (D1 "Command line"). Throws a Diagnostic or a DiagnosticList where it cannot determine the scope.
 */
export async function explainScope(request: ScopeRequest): Promise<ScopeExplanation> {
  const packageRoot = findPackageRoot(import.meta.filename);
  const launch = await scopeOfLaunch(
    { ...request, isReport: true },
    {
      userHome: request.home,
      packageRoot,
      platform: platformOf({ platform, arch }),
      // A report contacts no registry.
      sources: () => [],
    },
  );
  const { redactor } = launch;
  const { scope, refusals } = await withNamedWorkdir(request, launch, packageRoot);
  // Where nothing is kept from files, what a command needs is there or not as for any other program.
  const problems = scope.containment.achieved === 'advisory' ? [] : commandProblems(launch);
  const warnings = [...launch.warnings, ...problems];
  const redact = (text: string): string => redactor.redact(text);
  return { scope, json: JSON.stringify(redactedTexts(scope, redact)), refusals, warnings, redact };
}

/** As the launch would find the workdir; one that is not there yet is made, and holds nothing. What artifacts would run is not known here. */
async function withNamedWorkdir(
  request: ScopeRequest,
  launch: LaunchScope,
  packageRoot: string,
): Promise<Pick<LaunchScope, 'scope' | 'refusals'>> {
  const { scope, refusals } = launch;
  if (request.workdir === null || launch.project !== null || !existsSync(request.workdir)) return { scope, refusals };
  const { openNamedWorkdir, refuseClosedFolder } = await import('@svc/capsule/stage/named-workdir.ts');
  let found: Pick<ScopeObject, 'project_folder'> = {};
  const refusal = diagnosticOf(() => {
    const workdir = realPath(request.workdir ?? '');
    refuseClosedFolder(workdir);
    found = openNamedWorkdir({ request, launch, packageRoot, bringsPrograms: false, workdir, isReport: true }).scope;
  });
  return { scope: { ...scope, ...found }, refusals: refusal === null ? refusals : [...refusals, refusal] };
}

/**
 * `W-RUN-003` for what listed commands need and the host does not have. Reads all files that they need, which takes too long for a
 * launch; there the call that fails reports it.
 */
function commandProblems(question: CommandQuestion): readonly Diagnostic[] {
  const names = question.loaded.manifest.capabilities.shell?.allow ?? [];
  if (names.length === 0) return [];
  const path = searchPath(question);
  const programs = names.map((name) => findProgram(name, path));
  const { problems } = neededFiles(
    programs.flatMap((program) => (program.kind === 'found' ? [program.path] : [])),
    systemFiles,
    path.split(delimiter).filter(isAbsolute),
  );
  const location = question.loaded.locate(['capabilities', 'shell', 'allow'], 'key');
  return problems.map((problem) => new Diagnostic('W-RUN-003', `capabilities.shell.allow: ${problem}`, { location }));
}
