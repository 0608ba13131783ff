// Installs what the folder of a tool, driver or hook is built with, as its author would, without a registry.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../../node_modules/', import.meta.url));
/** What `svc new` writes into `devDependencies`. */
const tools = ['componentize-qjs', 'esbuild', 'typescript'];

/**
 * `npm install` where there is no network: npm installs @svc/guest from what lies in the folder, and finds the other packages linked from this
 * checkout, which has them in the versions that package.json names.
 */
export const installCommand: string = [
  'mkdir -p node_modules',
  `ln -sfn ${tools.map((name) => `"${packages}${name}"`).join(' ')} node_modules/`,
  'npm install --silent --offline --ignore-scripts',
].join(' && ');

/** Does so in a folder. Throws what npm says when it fails. */
export function installAuthorPackages(folder: string): void {
  const home = mkdtempSync(join(tmpdir(), 'svc-author-'));
  try {
    const env = { PATH: process.env['PATH'], HOME: home, NPM_CONFIG_UPDATE_NOTIFIER: 'false' };
    execFileSync('bash', ['-c', installCommand.replace('--silent ', '')], { cwd: folder, env, stdio: 'pipe' });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
