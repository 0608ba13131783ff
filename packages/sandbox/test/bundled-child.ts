import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { helperPath } from './native/support/helper.ts';

/** How a program is called. */
export interface ChildCall {
  readonly args: readonly string[];
  readonly options: {
    readonly uid?: number;
    readonly gid?: number;
    readonly cwd: string;
    readonly env: NodeJS.ProcessEnv;
  };
}

/** A program beside the tests with a copy of the helper, which any user can start. */
export class BundledChild {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-apart-'));
  readonly #program: string;

  constructor(name: string) {
    chmodSync(this.folder, 0o755);
    this.#program = join(this.folder, 'package', name.replace(/ts$/, 'mjs'));
  }

  static async of(name: string): Promise<BundledChild> {
    const child = new BundledChild(name);
    const copies = join(child.folder, 'package', 'dist', 'native', `linux-${process.arch}`);
    mkdirSync(copies, { recursive: true });
    copyFileSync(helperPath(), join(copies, 'svc-launch'));
    await build({
      entryPoints: [fileURLToPath(new URL(name, import.meta.url))],
      outfile: child.#program,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20.19',
      logLevel: 'warning',
      banner: { js: "import { createRequire as from } from 'node:module'; const require = from(import.meta.url);" },
    });
    return child;
  }

  /** As a user, the one of the tests when absent. Its words are the folder of the package, a directory of its own, and `more`. */
  callAs(user: number | undefined, ...more: readonly string[]): ChildCall {
    const directory = mkdtempSync(join(this.folder, 'run-'));
    if (user !== undefined) chownSync(directory, user, user);
    const who = user === undefined ? {} : { uid: user, gid: user };
    const args = [this.#program, join(this.folder, 'package'), directory, ...more];
    return { args, options: { ...who, cwd: '/', env: { HOME: directory, PATH: '/usr/bin:/bin' } } };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
