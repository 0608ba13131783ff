// Installs a package of this checkout as a stranger gets it: packed, and its tarball installed into an empty folder.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { scope } from '../../scripts/own-names.mjs';

const run = promisify(execFile);
const checkout = fileURLToPath(new URL('../../', import.meta.url));
const programOf = (name: string): string => join(checkout, 'node_modules', '.bin', name);

/** An empty folder with one package installed in it, and nothing of this checkout on its path; gone after `remove`. */
export class InstalledPackage {
  readonly #root: string;
  /** `npm pack` of the package. */
  readonly tarball: string;
  /** Has a `package.json` and `node_modules/`. */
  readonly folder: string;

  private constructor(root: string, tarball: string) {
    this.#root = root;
    this.tarball = tarball;
    this.folder = join(root, 'empty');
  }

  /**
   * Packs and installs packages by their folders below `packages/`; the first is the one that is asked about. They have been built. No registry is asked: own
   * packages that they depend on are packed too, others are linked from this checkout.
   */
  static async install(name: string, ...more: readonly string[]): Promise<InstalledPackage> {
    const root = mkdtempSync(join(tmpdir(), 'svc-installed-'));
    const tarballs = new Map<string, string>();
    const links = new Map<string, string>();
    for (const each of [name, ...more]) await collect(each, { root, tarballs, links });
    const { [name]: tarball = '', ...others } = Object.fromEntries(tarballs);
    const installed = new InstalledPackage(root, tarball);
    const needed = Object.entries(others).filter(([other]) => !more.includes(other));
    const overrides = [...needed.map(([other, file]) => [`${scope}${other}`, file] as const), ...links];
    installed.write('package.json', {
      private: true,
      type: 'module',
      dependencies: Object.fromEntries(
        [name, ...more].map((each) => [`${scope}${each}`, `file:${tarballs.get(each)}`]),
      ),
      overrides: Object.fromEntries(overrides.map(([dependency, place]) => [dependency, `file:${place}`])),
    });
    await npm(root, installed.folder, ['install', '--offline', '--ignore-scripts']);
    return installed;
  }

  /** What publint and "are the types wrong" say about the tarball; '' when both find nothing. */
  async problems(): Promise<string> {
    const checks: [program: string, args: string[]][] = [
      ['publint', ['--strict']],
      ['attw', ['--profile', 'esm-only', '--format', 'ascii']],
    ];
    const found = await Promise.all(
      checks.map(async ([program, args]) => {
        const ended = run(programOf(program), [...args, this.tarball]);
        return await ended.then(() => '', printed);
      }),
    );
    return found.join('');
  }

  /** What the compiler says about `main.ts` with this text, as strict as it can be, declarations of the package included; '' for nothing. */
  async typeProblems(program: string, compilerOptions: Readonly<Record<string, unknown>> = {}): Promise<string> {
    this.write('main.ts', program);
    this.write('tsconfig.json', {
      compilerOptions: {
        target: 'es2023',
        lib: ['es2023', 'esnext.disposable'],
        module: 'nodenext',
        types: [join(checkout, 'node_modules', '@types', 'node')],
        strict: true,
        exactOptionalPropertyTypes: true,
        ...compilerOptions,
      },
      files: ['main.ts'],
    });
    return await run(programOf('tsc'), ['-p', this.folder]).then(() => '', printed);
  }

  /** Compiles `main.ts` with this text and runs it with Node; what it printed. Rejects when one of the two fails. */
  async printedBy(
    program: string,
    args: readonly string[] = [],
    env: NodeJS.ProcessEnv = process.env,
  ): Promise<string> {
    const problems = await this.typeProblems(program);
    if (problems !== '') throw new Error(problems);
    const { stdout } = await run(process.execPath, ['main.js', ...args], { cwd: this.folder, env });
    return stdout;
  }

  /** Writes a file below the folder; what is no text is written as JSON. */
  write(path: string, content: unknown): void {
    const target = join(this.folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}

interface Collected {
  readonly root: string;
  /** Own packages by their folder below `packages/`. */
  readonly tarballs: Map<string, string>;
  /** Other packages by their name. */
  readonly links: Map<string, string>;
}

/** Packs a package and the own ones that it depends on, and notes where the others are installed in this checkout. */
async function collect(name: string, collected: Collected): Promise<void> {
  if (collected.tarballs.has(name)) return;
  // The program `svc` is the whole checkout.
  const folder = name === 'svc' ? checkout : join(checkout, 'packages', name);
  const { stdout } = await npm(collected.root, folder, [
    'pack',
    '--ignore-scripts',
    '--pack-destination',
    collected.root,
  ]);
  collected.tarballs.set(name, join(collected.root, stdout.trim()));
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly dependencies?: Readonly<Record<string, string>>;
  };
  for (const dependency of Object.keys(dependencies)) {
    const own = dependency.startsWith(scope) ? dependency.slice(scope.length) : null;
    if (own === null) collected.links.set(dependency, join(checkout, 'node_modules', dependency));
    else await collect(own, collected);
  }
}

/** Runs npm with a home of its own, and what it says of updates and audits left out. */
export async function npm(home: string, cwd: string, args: readonly string[]): Promise<{ readonly stdout: string }> {
  const env = { PATH: process.env['PATH'], HOME: home, NPM_CONFIG_UPDATE_NOTIFIER: 'false', NPM_CONFIG_AUDIT: 'false' };
  return await run('npm', args, { cwd, env });
}

/** What a program printed before it failed. */
function printed(failure: unknown): string {
  const { stdout = '', stderr = '' } = failure as { readonly stdout?: string; readonly stderr?: string };
  return `${stdout}${stderr}` || String(failure);
}
