import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { readLock } from '@svc/artifacts/store/lockfile.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { Output } from '@svc/terminal/screen/output.ts';
import { temporaryDirectory, writeFiles } from '../../../artifacts/test/store/artifacts.ts';
import { canMount, mountSmall } from '../../../artifacts/test/store/small-file-system.ts';
import { bookTool, RemoteMcpServer } from '../../../../test/support/remote-server.ts';
import { writtenText } from '../../../../test/support/written-text.ts';
import { addCommand } from '../../src/artifacts/add.ts';

const manifest = 'name: worker\nversion: 1.0.0\ninference: { transport: process, command: [cat] }\nartifacts: []\n';
const $schema = 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json';
const mcpSchema = 'https://agent-plugins.org/schemas/1.0.0/mcp.schema.json';
const skill = (words = ''): string => `---\ndescription: Fills forms.\n${words}---\nFill it.\n`;

let root: string;
beforeEach(async () => {
  root = temporaryDirectory();
  await writeFiles(join(root, 'project'), { 'svc.yaml': manifest });
});
const servers: RemoteMcpServer[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});
async function started(): Promise<RemoteMcpServer> {
  const server = await RemoteMcpServer.start();
  servers.push(server);
  return server;
}

/** Makes the plugin anew. */
async function plugin(files: Readonly<Record<string, unknown>>): Promise<void> {
  rmSync(join(root, 'plugin'), { recursive: true, force: true });
  const texts = Object.entries(files).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  await writeFiles(join(root, 'plugin'), Object.fromEntries(texts) as Record<string, string>);
}

interface Added {
  readonly stdout: string;
  readonly stderr: string;
  readonly faults: readonly string[];
}

async function add(...args: readonly string[]): Promise<Added> {
  return await addOf(['../plugin', ...args]);
}

async function addOf(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Added> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const out = { stdout: new Output(() => stdout), stderr: new Output(() => stderr, null) };
  const context = { cwd: join(root, 'project'), home: join(root, 'home'), env, ...out };
  const faults: string[] = [];
  try {
    await addCommand(context)
      .exitOverride()
      .parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (!(error instanceof Diagnostic || error instanceof DiagnosticList)) throw error;
    const all = error instanceof Diagnostic ? [error] : error.diagnostics;
    for (const { code, message, hint = '', location } of all) {
      const place = location === undefined ? '' : ` at ${location.file}:${location.line}:${location.column}`;
      faults.push(`${code} ${message} | ${hint}${place}`);
    }
  }
  return { stdout: writtenText(stdout), stderr: writtenText(stderr), faults };
}

const listed = (): string => readFileSync(join(root, 'project/svc.yaml'), 'utf8');

describe('svc add of a plugin', () => {
  it('lists its skills and its servers on the web, and says what it leaves', async () => {
    const [one, two] = [await started(), await started()];
    await plugin({
      'plugin.json': { $schema, name: 'acme', version: '2.0.0', hooks: './h.json', extensions: { 'com.example': {} } },
      'mcp.json': {
        $schema: mcpSchema,
        mcpServers: {
          'Issue Tracker': { type: 'streamable-http', url: one.url },
          db: { type: 'stdio', command: 'npx', args: ['-y', 'db server'], env: { DB: 'x' } },
          own: { command: 'node', args: ['${CLAUDE_PLUGIN_ROOT}/own.js'] },
          old: { type: 'sse', url: two.url },
          keyed: { type: 'streamable-http', url: two.url, headers: { 'x-tenant': 'one' } },
          far: { type: 'streamable-http', url: 'http://mcp.example.com/mcp' },
        },
      },
      'skills/pdf/SKILL.md': skill('allowed-tools: Read\n'),
      'skills/Crm_Notes/SKILL.md': skill('version: 1.2.0\n'),
      'skills/notes.txt': 'no skill',
      'commands/go.md': 'Go.',
      'com.example.client/hooks/x': '',
      '.mcp.json': {},
      'package.json': {},
    });
    const planned = await add('--dry-run');
    expect(planned).toMatchObject({ faults: [], stdout: expect.stringContaining('would change') as string });
    expect(listed()).toBe(manifest);

    const { faults, stderr, stdout } = await add();
    expect(faults).toEqual([]);
    expect(stdout).toMatch(/^NAME .*\ncrm-notes .*1\.2\.0.*\npdf .*0\.0\.0.*\nissue-tracker .*pin/);
    expect(listed()).toMatch(
      new RegExp(
        'artifacts: \\[' +
          '\\{ name: crm-notes, version: 1.2.0, runtime: skill, source: "../plugin/skills/Crm_Notes" \\}, ' +
          '\\{ name: pdf, version: 0.0.0, runtime: skill, source: "../plugin/skills/pdf" \\}, ' +
          '\\{ name: issue-tracker, version: 0.0.0-pin[0-9a-f]{16}, from: "mcp\\+http://127.0.0.1:\\d+/mcp" \\}\\]\n$',
      ),
    );
    expect(readLock(join(root, 'project'))?.map(({ name }) => name)).toEqual(['crm-notes', 'issue-tracker', 'pdf']);
    expect(stderr).toContain('the skill pdf@0.0.0 asks for\n  + Read\n');
    expect(stderr.split('\n').filter((line) => line.startsWith('left out:'))).toEqual([
      `left out: the server "db", a program: svc add 'mcp:npx -y '\\''db server'\\''' makes an artifact of it, without its "env"`,
      'left out: the server "own", a program that wants "${CLAUDE_PLUGIN_ROOT}", which svc does not set',
      'left out: the server "old", whose type "sse" svc does not speak',
      `left out: the server "keyed", which wants "headers": svc add mcp+${two.url} --auth-env NAME, with a token lists it`,
      expect.stringMatching(/^left out: the server "far", whose address /),
      'left out: what plugin.json says of "hooks"',
      'left out: ".mcp.json", "com.example.client", "commands", which svc has no use for',
    ]);
    expect(one.methods).toEqual(['server/discover', 'tools/list', 'server/discover', 'tools/list']);
    expect(two.seen).toEqual([]);

    // A list that asks for more than the recorded one: the server is not recorded either.
    await writeFiles(join(root, 'project'), { 'svc.yaml': manifest });
    await writeFiles(join(root, 'plugin'), { 'skills/pdf/SKILL.md': skill('allowed-tools: Bash\n') });
    one.ways.tools = [bookTool];
    const before = readLock(join(root, 'project'));
    expect((await add()).faults).toEqual([expect.stringMatching(/^E-REG-016 the skill pdf@0\.0\.0 lets more through/)]);
    expect(listed()).toBe(manifest);
    expect(readLock(join(root, 'project'))).toEqual(before);
    expect((await add('--accept-tools')).faults).toEqual([]);
  });

  it('reads those of Claude Code, whose servers stand in .mcp.json or in the manifest', async () => {
    const [one, two] = [await started(), await started()];
    await plugin({
      '.claude-plugin/plugin.json': {
        name: 'acme',
        skills: './skills/',
        agents: ['./agents/a.md'],
        mcpServers: { inline: { type: 'http', url: one.url } },
      },
      '.mcp.json': { flat: { type: 'http', url: two.url }, local: { command: '${CLAUDE_PLUGIN_ROOT}/server' } },
      'mcp.json': 'not read',
      'skills/pdf/SKILL.md': skill(),
    });
    const { faults, stderr } = await add();
    expect(faults).toEqual([]);
    expect(listed()).toMatch(/name: pdf.*name: flat.*name: inline/);
    expect(stderr).toContain('left out: the server "local", a program');
    expect(stderr).toContain('left out: what .claude-plugin/plugin.json says of "agents"\n');
  });

  it('writes nothing where a part of it cannot be listed, and asks no server if a skill is bad', async () => {
    const remote = await started();
    const mcp = (...names: readonly string[]): object => ({
      mcpServers: Object.fromEntries(names.map((name) => [name, { type: 'streamable-http', url: remote.url }])),
    });
    const good = { 'plugin.json': { $schema, name: 'acme' }, 'skills/pdf/SKILL.md': skill() };
    const refused = async (files: Readonly<Record<string, unknown>>, ...faults: readonly string[]): Promise<void> => {
      await plugin(files);
      expect((await add()).faults).toEqual(faults.map((each) => expect.stringMatching(each) as string));
      expect(listed()).toBe(manifest);
      expect(readLock(join(root, 'project'))).toBe(null);
    };
    await refused(
      { ...good, 'plugin.json': '{\n"name": ' },
      '^E-ART-004 plugin.json is no JSON from here on .*/plugin.json:2:9$',
    );
    await refused({ ...good, 'plugin.json': '[]' }, '^E-ART-004 .*is no JSON object .* list its skills one by one');
    await refused({ 'plugin.json': '[]' }, '^E-ART-004 .*is no JSON object \\| $');
    await refused({ ...good, 'plugin.json': {} }, '^E-ART-004 .*is no JSON object with a name');
    const later = 'https://agent-plugins.org/schemas/2.0.0/plugin.schema.json';
    await refused(
      { ...good, 'plugin.json': { $schema: later, name: 'x' } },
      '^E-ART-004 .*svc reads Agent Plugins 1.0.0',
    );
    await refused(
      { ...good, 'plugin.json': `{"name":"x${' '.repeat(1024 * 1024)}"}` },
      '^E-IO-001 .*larger than 1 MiB',
    );
    await refused({ ...good, 'mcp.json': { mcpServers: [] } }, '^E-ART-004 .*mcp.json has no object mcpServers');
    await refused(
      { ...good, 'mcp.json': '['.repeat(1000) },
      '^E-ART-004 mcp.json is no JSON from here on .*/mcp.json:1:1001$',
    );
    await refused({ 'plugin.json': good['plugin.json'], 'commands/a.md': '' }, '^E-ART-008 .*has nothing .*"commands"');
    await refused(
      { ...good, 'mcp.json': mcp('tracker'), 'skills/bad/SKILL.md': 'no head', 'skills/Pdf/SKILL.md': skill() },
      '^E-ART-004 .*bad/SKILL.md does not begin with a head',
      '^E-ART-008 .*skills/pdf" would be listed as pdf.* give one of them another name',
    );
    await refused({ ...good, 'skills/日本/SKILL.md': skill() }, '^E-ART-008 .*has no name that an artifact may have');
    expect(remote.seen).toEqual([]);
    await refused({ ...good, 'mcp.json': mcp('pdf') }, '^E-ART-008 .*/mcp" would be listed as pdf');
    await refused({ ...good, 'mcp.json': mcp('submit-plan') }, '^E-CAP-013 ');
    const many = Object.fromEntries(Array.from({ length: 129 }, (_, at) => [`skills/s${at}/SKILL.md`, skill()]));
    await refused({ ...good, ...many }, '^E-ART-003 .*more than 128 skills');
    const names = Array.from({ length: 17 }, (_, at) => `s${at}`);
    await refused({ ...good, 'mcp.json': mcp(...names) }, '^E-ART-003 .*more than 16 servers');
    remote.ways.authorization = 'Bearer of-somebody';
    await refused({ ...good, 'mcp.json': mcp('tracker') }, '^E-RUN-036 .*status 401.*svc login http');
  });

  it('refuses links that lead out of it, and what is there under the same name', async () => {
    await plugin({ 'plugin.json': { $schema, name: 'acme' }, 'skills/pdf/SKILL.md': skill() });
    await writeFiles(join(root, 'outside'), { 'SKILL.md': skill(), 'mcp.json': '{"mcpServers":{}}' });
    const link = join(root, 'plugin/skills/out');
    symlinkSync('../../outside', link);
    expect((await add()).faults).toEqual([expect.stringMatching(/^E-ART-002 .*skills\/out leads out of the plugin/)]);
    rmSync(link);
    symlinkSync('../outside/mcp.json', join(root, 'plugin/mcp.json'));
    expect((await add()).faults).toEqual([expect.stringMatching(/^E-ART-002 .*mcp\.json leads out of the plugin/)]);
    rmSync(join(root, 'plugin/mcp.json'));
    mkdirSync(join(root, 'plugin/skills/pdf/more'));
    symlinkSync('/etc/hostname', join(root, 'plugin/skills/pdf/more/file'));
    expect((await add()).faults).toEqual([expect.stringMatching(/^E-ART-002 /)]);
    expect(listed()).toBe(manifest);
    rmSync(join(root, 'plugin/skills/pdf/more'), { recursive: true });
    expect((await add()).faults).toEqual([]);
    const once = listed();
    expect((await add()).faults).toEqual([
      expect.stringMatching(/^E-ART-008 .*would be listed as pdf.* svc remove pdf first, or svc add/),
    ]);
    expect(listed()).toBe(once);
    // A folder that is a skill itself, or an artifact, is that.
    writeFileSync(join(root, 'project/svc.yaml'), manifest);
    await plugin({ 'plugin.json': { name: 'acme' }, 'SKILL.md': skill('name: whole\n') });
    expect((await add()).faults).toEqual([]);
    expect(listed()).toContain('name: whole');
  });
});

describe('svc add says what to do next', () => {
  const hintOf = async (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string> =>
    (await addOf(args, env)).faults.join().replace(/^.* \| /, '');

  it('about a server that is down, and about a token that it does not take', async () => {
    const server = await started();
    server.ways.authorization = 'Bearer right-token';
    const asked = `mcp:${server.url}`;
    expect(await hintOf([asked])).toContain(`log in first: svc login ${server.url}; or name`);
    expect(await hintOf([asked, '--auth-env', 'TOKEN'], { TOKEN: 'wrong-token' })).toContain(
      'look at what the variable',
    );
    server.close();
    expect(await hintOf([asked])).toBe('check address and port, and that the server runs');
    expect(listed()).toBe(manifest);
  });

  it('about a folder without ./', async () => {
    expect(await hintOf(['skills/count words'])).toBe("a folder begins with ./ or /: svc add './skills/count words'");
  });

  it.skipIf(!canMount)('where the disk was full, and then does it (skipped without the right to mount)', async () => {
    const disk = mountSmall(64);
    rmSync(join(root, 'project'), { recursive: true });
    symlinkSync(disk, join(root, 'project'));
    writeFileSync(join(disk, 'svc.yaml'), manifest);
    const space = Buffer.alloc(1024);
    const filler = openSync(join(disk, 'filler'), 'w');
    expect(() => {
      for (;;) writeSync(filler, space);
    }).toThrow('ENOSPC');
    closeSync(filler);
    const { faults } = await addOf(['mcp:npx -y acme-notes']);
    expect(faults.join()).toMatch(
      /^E-IO-001 .*no space left on the device \| free some space and run the command again$/,
    );
    expect(readdirSync(disk).toSorted()).toEqual(['filler', 'svc.yaml']);
    rmSync(join(disk, 'filler'));
    expect((await addOf(['mcp:npx -y acme-notes'])).faults).toEqual([]);
    expect(listed()).toContain('./mcp/acme-notes');
  });
});
