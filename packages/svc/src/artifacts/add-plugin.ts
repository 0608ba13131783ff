/** Takes what `svc` can use of a plugin into a project: its skills, and its MCP servers on the web. Nothing else of it is read or kept. */

import { existsSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { remoteServerOf } from '@svc/artifacts/manifest/artifact-place.ts';
import { fittedName } from '@svc/artifacts/manifest/names.ts';
import { skillsOn } from '@svc/artifacts/store/discovered-skills.ts';
import { standardSkillFile } from '@svc/artifacts/store/installed-artifact.ts';
import { readSkillFolder } from '@svc/artifacts/store/read-skill-folder.ts';
import { refuse } from '@svc/artifacts/store/resolve.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { firstNames, quoted, shortened } from '@svc/kit/diagnostics/printable.ts';
import { shellWord } from '@svc/kit/diagnostics/shell-word.ts';
import { readTextIfThere } from '@svc/kit/files/read-text.ts';
import { jsonFault } from '@svc/kit/json-fault.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { namesIfThere, unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';
import { asJsonObject, asStrings, type JsonObject, parseJsonObject, stringOr } from '@svc/protocol/json-object.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { say } from '@svc/terminal/screen/shown.ts';
import { addFolder, rowOf, skillOf } from './add-folder.ts';
import type { OpenedProject, PlannedChange } from './opened-project.ts';
import { addition, carryOut } from './project-change.ts';
import { planServer, useLogins } from './remote-change.ts';

const mostSkills = 128;
const mostServers = 16;
const mostNamed = 20;
const longest = 1000;

/** What neither does anything nor is left out by `svc`. */
const described: ReadonlySet<string> = new Set(
  '$schema name displayName version description author homepage repository license keywords extensions'.split(' '),
);

/** What some plugins say that is so anyway. */
const usual: ReadonlyMap<string, readonly unknown[]> = new Map([
  ['skills', ['./skills/', './skills', 'skills/', 'skills']],
  ['mcpServers', ['./.mcp.json', '.mcp.json']],
]);

/** What clients have beside skills and servers, at the root of a plugin. */
const ofClients: ReadonlySet<string> = new Set(
  'agents bin commands hooks hooks.json monitors output-styles rules settings.json themes workflows .lsp.json'.split(
    ' ',
  ),
);
/** Such a directory is a client's own (Agent Plugins 1.0.0, 8.2). */
const namespace = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;

interface FoundServer {
  readonly name: string;
  readonly from: string;
}

/** What a plugin has for `svc`, and a clause for each thing that it leaves. */
interface Plugin {
  readonly skills: readonly string[];
  readonly servers: readonly FoundServer[];
  readonly left: readonly string[];
}

/** `svc add ./<folder>`: a plugin, or an artifact. */
export async function addPlace(path: string, opened: OpenedProject, { cwd }: CommandContext): Promise<void> {
  const folder = resolve(cwd, path);
  const file = pluginFile(folder);
  await (file === null ? addFolder(folder, opened) : addPlugin(folder, file, opened));
}

/** The `plugin.json` below a folder that is a plugin and no artifact; null for any other. */
function pluginFile(folder: string): string | null {
  const isThere = (name: string): boolean => existsSync(join(folder, name));
  if (isThere('svc.yaml') || (isThere(standardSkillFile) && !isThere('skills'))) return null;
  return ['plugin.json', '.claude-plugin/plugin.json'].find(isThere) ?? null;
}

/**
 * `svc add` of a folder with `plugin.json` (https://agent-plugins.org/specification, 1.0.0) or `.claude-plugin/plugin.json`; `file` says which.
 * Writes all of it or nothing. `E-ART-004` for a file of the plugin that is not what it should be, `E-ART-002` for a link that leads out of it,
 * `E-ART-003` for more than 128 skills or 16 servers, `E-ART-008` for names that meet, and what is wrong with a skill or a server.
 */
async function addPlugin(folder: string, file: string, opened: OpenedProject): Promise<void> {
  const { skills, servers, left } = readPlugin(folder, file);
  const { stderr } = opened.context;
  if (skills.length + servers.length === 0) {
    throw new Diagnostic('E-ART-008', `the plugin in ${quoted(folder)} has nothing that svc can list`, {
      hint: left[0] === undefined ? 'a plugin has skills/<name>/SKILL.md, or MCP servers' : left.join('; '),
    });
  }
  const plan = await planOf(skills, servers, opened);
  await carryOut(plan, opened);
  await useLogins(plan, opened);
  for (const each of left.slice(0, mostNamed)) stderr.write(say`left out: ${each}\n`);
  if (left.length > mostNamed) stderr.write(say`left out: ${left.length - mostNamed} more\n`);
}

/** Every skill is read whole, and every server asked, before anything is written. Throws all that is wrong with them. */
async function planOf(
  skills: Plugin['skills'],
  servers: Plugin['servers'],
  opened: OpenedProject,
): Promise<readonly PlannedChange[]> {
  const faults: Diagnostic[] = [];
  const plan: PlannedChange[] = [];
  const taken = new Set(opened.listed.map(({ name }) => name));
  const take = (name: string, what: string): void => {
    if (taken.has(name)) {
      throw new Diagnostic('E-ART-008', `${what} would be listed as ${name}, a name that is there already`, {
        hint: opened.listed.some((entry) => entry.name === name)
          ? `nothing was written: svc remove ${name} first, or svc add each of the other parts by itself`
          : 'nothing was written: give one of them another name',
      });
    }
    taken.add(name);
  };
  const collect = async (change: () => Promise<PlannedChange>): Promise<void> => {
    try {
      plan.push(await change());
    } catch (error) {
      if (!(error instanceof Diagnostic || error instanceof DiagnosticList)) throw error;
      faults.push(...(error instanceof Diagnostic ? [error] : error.diagnostics));
    }
  };
  for (const folder of skills) {
    await collect(async () => {
      const found = skillOf(folder);
      take(found.name, quoted(folder));
      await readSkillFolder(folder, found);
      return addition(rowOf(found, folder, opened));
    });
  }
  // No server is asked for a plugin that is refused anyway.
  refuse(faults);
  for (const { name, from } of servers) {
    await collect(async () => {
      take(name, quoted(from));
      return await planServer(from, { authEnv: null, clientId: null }, opened, name);
    });
  }
  refuse(faults);
  return plan;
}

function readPlugin(folder: string, file: string): Plugin {
  const root = realpathSync(folder);
  const manifest = jsonAt(root, file);
  const isStandard = file === 'plugin.json';
  if (manifest === null || stringOr(manifest['name'], '') === '')
    throw unfit(root, file, 'is no JSON object with a name');
  if (isStandard) refuseOtherVersion(root, file, manifest);
  const inline = isStandard ? null : asJsonObject(manifest['mcpServers']);
  const listed = { ...serversAt(root, isStandard ? 'mcp.json' : '.mcp.json'), ...inline };
  const found = Object.entries(listed).map(([key, value]) => serverOf(key, value));
  const skills = skillsOn([{ directory: join(folder, 'skills'), within: null }]);
  for (const each of skills) refuseOutside(root, each);
  refuseMany(root, skills.length, mostSkills, 'skills');
  refuseMany(root, found.length, mostServers, 'servers');
  const isRead = (key: string): boolean =>
    described.has(key) || (key === 'mcpServers' && inline !== null) || usual.get(key)?.includes(manifest[key]) === true;
  const keys = Object.keys(manifest).filter((key) => !isRead(key));
  const files = namesIfThere(root, `cannot read ${root}`).filter(
    (name) =>
      ofClients.has(name) ||
      (namespace.test(name) && existsSync(`${root}/${name}/.`)) ||
      (isStandard && name === '.mcp.json'),
  );
  return {
    skills,
    servers: found.filter((each) => typeof each !== 'string'),
    left: [
      ...found.filter((each) => typeof each === 'string'),
      ...(keys.length === 0 ? [] : [`what ${file} says of ${firstNames(keys.map(quoted), mostNamed)}`]),
      ...(files.length === 0 ? [] : [`${firstNames(files.sort().map(quoted), mostNamed)}, which svc has no use for`]),
    ],
  };
}

/** A server that `svc` can list, or why it cannot. */
function serverOf(key: string, value: unknown): FoundServer | string {
  const { type, url, headers, command, args, ...others } = asJsonObject(value) ?? {};
  const who = `the server ${quoted(key)}`;
  if (typeof command === 'string' && (type === undefined || type === 'stdio')) {
    const words = [command, ...(asStrings(args ?? []) ?? [])];
    const wanted = words.join(' ').match(/\$\{[^}]*\}/g) ?? [];
    if (wanted.length > 0)
      return `${who}, a program that wants ${firstNames([...new Set(wanted)].map(quoted), mostNamed)}, which svc does not set`;
    const from = shellWord(shortened(`mcp:${words.map(shellWord).join(' ')}`, longest));
    const lost = Object.keys(others).map(quoted);
    const without = lost.length === 0 ? '' : `, without its ${firstNames(lost, mostNamed)}`;
    return `${who}, a program: svc add ${from} makes an artifact of it${without}`;
  }
  if (type !== 'http' && type !== 'streamable-http')
    return `${who}, whose type ${quoted(stringOr(type, 'unknown'))} svc does not speak`;
  const from = `mcp+${stringOr(url, '')}`;
  if (remoteServerOf(from) === null) return `${who}, whose address ${endpointFault(stringOr(url, '')) ?? 'is none'}`;
  const fields = Object.keys({ ...others, ...(headers === undefined ? {} : { headers }) });
  if (fields.length > 0) {
    const alone = headers === undefined ? '' : ' --auth-env NAME, with a token';
    return `${who}, which wants ${firstNames(fields.map(quoted), mostNamed)}: svc add ${shellWord(from)}${alone} lists it`;
  }
  const name = fittedName(key);
  return name === null
    ? `${who}, whose name has no letter or digit: svc add ${shellWord(from)} lists it`
    : { name, from };
}

/** The servers of a file by their names, with or without `mcpServers` around them; none where it is not there. */
function serversAt(root: string, file: string): JsonObject | null {
  const value = jsonAt(root, file);
  if (value === null) return null;
  if (file === 'mcp.json') refuseOtherVersion(root, file, value);
  const { mcpServers } = value;
  if (mcpServers === undefined && file === '.mcp.json') return value;
  const servers = asJsonObject(mcpServers);
  if (servers === null) throw unfit(root, file, 'has no object mcpServers');
  return servers;
}

/** The object in a file of the plugin, which has at most 1 MiB; null where it is not there. */
function jsonAt(root: string, file: string): JsonObject | null {
  const path = join(root, file);
  const text = readTextIfThere(path);
  if (text === null) return null;
  refuseOutside(root, path);
  const json = text.replace(/^\uFEFF/, '');
  const value = parseJsonObject(json);
  if (value !== null) return value;
  const fault = jsonFault(json);
  if (fault === null) throw unfit(root, file, 'is no JSON object');
  throw new Diagnostic('E-ART-004', `${file} is no JSON from here on`, { location: { file: path, ...fault } });
}

function refuseOutside(root: string, path: string): void {
  const real = unlessRefused(() => realpathSync(path), null);
  if (real !== null && isBeneath(root, real)) return;
  throw new Diagnostic('E-ART-002', `${path} leads out of the plugin`, { hint: 'a plugin holds its own files' });
}

function refuseMany(root: string, found: number, most: number, what: string): void {
  if (found > most) throw new Diagnostic('E-ART-003', `the plugin in ${quoted(root)} has more than ${most} ${what}`);
}

/** A version of the format that changes what a file means has another address. */
function refuseOtherVersion(root: string, file: string, { $schema: schema = null }: JsonObject): void {
  const isOther = typeof schema === 'string' && /^https:\/\/agent-plugins\.org\/schemas\/(?!1\.0\.0\/)/.test(schema);
  if (isOther) throw unfit(root, file, `follows ${quoted(schema)}, and svc reads Agent Plugins 1.0.0`);
}

function unfit(root: string, file: string, why: string): Diagnostic {
  const hasSkills = existsSync(join(root, 'skills'));
  const details = hasSkills ? { hint: 'list its skills one by one, by their folders' } : {};
  return new Diagnostic('E-ART-004', `${join(root, file)} ${why}`, details);
}
