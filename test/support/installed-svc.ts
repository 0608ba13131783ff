// Installs svc as a stranger gets it: the tarball of this checkout in an empty folder, with an empty home and no compiler on the path.
import { execFile, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { npm } from './installed-package.ts';
import { type ProgramEnd, ProgramProcess } from './program-process.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** What `npm pack --json` says of a tarball. */
export interface Packed {
  readonly path: string;
  /** Bytes of the tarball, and of what is in it. */
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number; readonly mode: number }[];
}

/** `npm pack` of the checkout into a folder. It has been built. */
export async function packSvc(folder: string): Promise<Packed> {
  mkdirSync(folder, { recursive: true });
  const { stdout } = await npm(folder, checkout, ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]);
  const [packed] = JSON.parse(stdout) as readonly (Packed & { readonly filename: string })[];
  if (packed === undefined) throw new Error('npm packed nothing');
  return { ...packed, path: join(folder, packed.filename) };
}

/** Programs that a path has which is to have no compiler. */
const usual = ['sh', 'env', 'cat', 'wc', 'cp', 'mkdir', 'ls', 'git', 'test', 'sort', 'uniq', 'grep', 'date', 'tar'];

export class InstalledSvc {
  readonly #root: string;
  /** The installed package. */
  readonly folder: string;
  /** Empty at first. */
  readonly home: string;
  /** Empty at first; programs run in it. */
  readonly project: string;
  readonly #path: string;

  private constructor(root: string) {
    this.#root = root;
    this.folder = join(root, 'empty', 'node_modules', 'svc');
    this.home = join(root, 'home');
    this.project = join(root, 'project');
    this.#path = join(root, 'path');
  }

  /** Installs a tarball without scripts and optional dependencies, asking no registry. */
  static async install(tarball: string): Promise<InstalledSvc> {
    const root = mkdtempSync(join(tmpdir(), 'svc-stranger-'));
    // Another user than root looks in here too.
    chmodSync(root, 0o755);
    const installed = new InstalledSvc(root);
    for (const folder of [installed.home, installed.project, installed.#path, join(root, 'empty')]) mkdirSync(folder);
    symlinkSync(process.execPath, join(installed.#path, 'node'));
    for (const program of usual) linkProgram(installed.#path, program);
    const npmHome = join(root, 'npm');
    mkdirSync(npmHome);
    const args = ['install', '--offline', '--ignore-scripts', '--omit=optional', tarball];
    writeFileSync(join(root, 'empty', 'package.json'), '{ "private": true }');
    await npm(npmHome, join(root, 'empty'), args);
    return installed;
  }

  /** What lies beside it in `node_modules`, hidden files left out. */
  get neighbours(): readonly string[] {
    return readdirSync(dirname(this.folder)).filter((name) => !name.startsWith('.') && name !== 'svc');
  }

  get env(): NodeJS.ProcessEnv {
    return { PATH: this.#path, HOME: this.home };
  }

  /** The path of one of its programs, as npm linked it. */
  program(name: string): string {
    return join(dirname(this.folder), '.bin', name);
  }

  /** Runs `svc` to its end, through the link and the first line of its file. Rejects when it fails. */
  async svc(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    const options = { cwd: this.project, env: { ...this.env, ...env } };
    return (await run(this.program('svc'), args, options)).stdout;
  }

  /** Starts a program; the caller ends it. */
  start(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ProgramProcess {
    return new ProgramProcess(this.program(name), args, { cwd: this.project, env: { ...this.env, ...env } });
  }

  /** Takes from everybody the right to write to it, and gives home and project to a user whom that binds. Returns null if there is no such user. */
  makeReadOnly(): { readonly uid: number } | null {
    const uid = process.getuid?.();
    if (uid === undefined) return null;
    const other = uid === 0 ? 54_321 : uid;
    for (const folder of [this.home, this.project]) spawnSync('chown', ['-R', `${other}:${other}`, folder]);
    spawnSync('chmod', ['-R', 'a-w', this.folder]);
    return { uid: other };
  }

  /** Runs `svc` to its end as a user. */
  async svcAs(uid: number, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<ProgramEnd> {
    return await new ProgramProcess(join(this.folder, 'bin', 'svc.cjs'), args, {
      cwd: this.project,
      env: { ...this.env, ...env },
      ...(uid === process.getuid?.() ? {} : { uid, gid: uid }),
    }).ended;
  }

  remove(): void {
    spawnSync('chmod', ['-R', 'u+w', this.#root]);
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** A link to a program of this machine, where it has it. */
function linkProgram(folder: string, program: string): void {
  const place = ['/usr/bin', '/bin'].map((directory) => join(directory, program)).find((path) => existsSync(path));
  if (place !== undefined && statSync(place).isFile()) symlinkSync(place, join(folder, program));
}
