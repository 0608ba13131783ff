import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { Argument, Command } from 'commander';
import * as z from 'zod/mini';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { artifactName } from '@svc/artifacts/manifest/names.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import type { CommandContext } from './command-context.ts';
import { exactLine, jsonLine, say, type Shown } from './terminal/shown.ts';

interface NewOptions {
  readonly dir?: string;
  readonly json?: boolean;
}

/** `svc new <kind> <name>`: a folder that can be built, or run, as it is; its path is what stdout gets (docs/cli.md "svc new"). */
export function newCommand(context: CommandContext): Command {
  return new Command('new')
    .description('Make a folder to begin a capsule, tool, hook, driver or skill in.')
    .addArgument(new Argument('<kind>', 'what it is to be').choices(newKinds))
    .argument('<name>', 'its name: lowercase letters, digits and inner hyphens')
    .option('--dir <dir>', 'the folder, instead of ./<name>')
    .option('--json', 'write one JSON object')
    .action(async (kind: NewKind, name: string, options: NewOptions) => {
      checkName(name);
      const directory = resolve(context.cwd, options.dir ?? name);
      const files = folderFiles({ kind, name, packageRoot: findPackageRoot(import.meta.filename) });
      await writeFolder(directory, files);
      if (options.json === true) {
        context.stdout.write(jsonLine({ path: directory, name, kind, files: [...files.keys()] }));
        return;
      }
      context.stderr.write(nextSteps(kind, relative(context.cwd, directory) || '.'));
      context.stdout.write(exactLine`${directory}\n`);
    });
}

function checkName(name: string): void {
  const checked = artifactName.safeParse(name);
  if (checked.success) return;
  const [issue] = checked.error.issues;
  throw new Diagnostic('E-MAN-003', `the name ${quoted(name)} ${issue?.message ?? 'is not allowed'}`, {
    hint: 'a name has at most 100 characters of a-z, 0-9 and "-", and no "-" at either end',
  });
}

/** Writes nothing when one of the files is there already. */
async function writeFolder(directory: string, files: ReadonlyMap<string, string>): Promise<void> {
  const taken = [...files.keys()].find((file) => existsSync(join(directory, file)));
  if (taken !== undefined) {
    throw new Diagnostic('E-IO-001', `${join(directory, taken)} is there already, and nothing was written`, {
      hint: 'name another folder with --dir',
    });
  }
  for (const [file, text] of files) {
    const path = join(directory, file);
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text, { flag: 'wx' });
    } catch (error) {
      throw ioFault(error, `cannot write ${path}`);
    }
  }
}

function nextSteps(kind: NewKind, directory: string): Shown {
  switch (kind) {
    case 'capsule':
      return say`next: cd ${directory} && svc run --task "Say hello"\n`;
    case 'skill':
      return say`next: write ${join(directory, 'skill.md')}, then svc build ${directory}\n`;
    case 'tool':
    case 'hook':
    case 'driver':
      return say`next: cd ${directory} && npm install && svc build, after every change of component.ts\n`;
  }
}

const newKinds = ['capsule', 'tool', 'hook', 'driver', 'skill'] as const;
type NewKind = (typeof newKinds)[number];

const components: ReadonlySet<NewKind> = new Set(['tool', 'hook', 'driver']);

/** What a component written in TypeScript shares with the bundled ones: the types of the worlds, HTTP, a clock, a log, sound text. */
const guestLibrary = [
  'connection-failure.ts',
  'driver-export.ts',
  'driver.ts',
  'guest-ports.ts',
  'guest-sink.ts',
  'hook.ts',
  'log.ts',
  'provider-failure.ts',
  'tool.ts',
  'untrusted-json.ts',
  'wasi-clock.ts',
  'wasi-http.ts',
  'well-formed.ts',
  'wit-error.ts',
  'wit.d.ts',
] as const;

const tools = ['componentize-qjs', 'esbuild', 'typescript'] as const;
const pins = z.object({ devDependencies: z.record(z.string(), z.string()) });

interface FolderRequest {
  readonly kind: NewKind;
  readonly name: string;
  /** The package, with `packages/svc/templates/` and the library in it. */
  readonly packageRoot: string;
}

/** The files that `svc new` writes: path below the folder, with forward slashes, to text. */
function folderFiles({ kind, name, packageRoot }: FolderRequest): ReadonlyMap<string, string> {
  const templates = join(packageRoot, 'packages', 'svc', 'templates');
  const files = new Map<string, string>();
  for (const file of readdirSync(join(templates, kind)).sort()) {
    files.set(file, readFileSync(join(templates, kind, file), 'utf8').replaceAll('{{name}}', name));
  }
  if (!components.has(kind)) return files;
  files.set('package.json', packageJson(name, packageRoot));
  files.set('tsconfig.json', readFileSync(join(templates, 'component', 'tsconfig.json'), 'utf8'));
  files.set('.gitignore', 'node_modules/\ncomponent.wasm\n*.zip\n');
  files.set('svc/globals.d.ts', readFileSync(join(packageRoot, 'packages', 'guest', 'globals.d.ts'), 'utf8'));
  for (const file of guestLibrary) {
    files.set(`svc/${file}`, readFileSync(join(packageRoot, 'packages', 'guest', 'src', file), 'utf8'));
  }
  return files;
}

/** The versions are those that the bundled artifacts are built with. */
function packageJson(name: string, packageRoot: string): string {
  const { devDependencies } = pins.parse(JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')));
  const manifest = {
    name,
    private: true,
    type: 'module',
    scripts: { check: 'tsc', build: 'svc build' },
    devDependencies: Object.fromEntries(tools.map((tool) => [tool, devDependencies[tool]])),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
