/** The command `svc new`: makes a folder to begin a capsule or an artifact in. */

import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { Argument, Command, Option } from 'commander';
import * as z from 'zod/mini';

import { artifactName } from '@svc/artifacts/manifest/name-schemas.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { exactLine, joined, jsonLine, say, type Shown } from '@svc/terminal/screen/shown.ts';

/** `svc new <kind> <name>`: a folder that can be built, or run, as it is; its path is what stdout gets (docs/cli.md "svc new"). */
export function newCommand(context: CommandContext): Command {
  return new Command('new')
    .description('Make a folder to begin a capsule, tool, hook, driver or skill in.')
    .addArgument(new Argument('<kind>', 'what it is to be').choices(newKinds))
    .argument('<name>', 'its name: lowercase letters, digits and inner hyphens')
    .option('--dir <dir>', 'the folder, instead of ./<name>')
    .addOption(new Option('--lang <language>', 'what a tool is written in').choices(languages).default('typescript'))
    .option('--from <session>', 'make the capsule that a task without a manifest came to')
    .option('--json', 'write one JSON object')
    .action(async (kind: NewKind, name: string, options: NewOptions, command: Command) => {
      if (options.from !== undefined && kind !== 'capsule') command.error('error: --from makes a capsule');
      const language = options.lang;
      if (language !== 'typescript' && kind !== 'tool') command.error(`error: --lang ${language} makes a tool`);
      checkName(kind, name);
      const directory = resolve(context.cwd, options.dir ?? name);
      const files =
        options.from === undefined
          ? folderFiles({ kind, name, language, packageRoot: findPackageRoot(import.meta.filename) })
          : await filesOfSession(context, options.from, { name, directory });
      writeFolder(directory, files);
      if (options.json === true) {
        context.stdout.write(jsonLine({ path: directory, name, kind, files: [...files.keys()] }));
        return;
      }
      const place = relative(context.cwd, directory) || '.';
      context.stderr.write(options.from === undefined ? nextSteps(kind, place, language) : nextOfSession(place, files));
      context.stdout.write(exactLine`${directory}\n`);
    });
}

interface NewOptions {
  readonly dir?: string;
  readonly lang: Language;
  readonly from?: string;
  readonly json?: boolean;
}

async function filesOfSession(
  context: CommandContext,
  session: string,
  place: { readonly name: string; readonly directory: string },
): Promise<ReadonlyMap<string, string>> {
  const { capsuleOfSession } = await import('../run/first-minute/capsule-of-session.ts');
  const { text, path } = capsuleOfSession(context, session, place);
  // A capsule that works where it lies leaves nothing there for git to ignore.
  return new Map([['svc.yaml', text], ...(path === null ? [['.gitignore', capsuleIgnored] as const] : [])]);
}

function checkName(kind: NewKind, name: string): void {
  const checked = artifactName.safeParse(name);
  if (checked.success) return;
  const [issue] = checked.error.issues;
  const last = basename(name);
  const isPath = last !== name && artifactName.safeParse(last).success;
  throw new Diagnostic('E-MAN-003', `the name ${quoted(name)} ${issue?.message ?? 'is not allowed'}`, {
    hint: isPath
      ? `--dir names the folder: svc new ${kind} ${last} --dir ${quoted(name)}`
      : 'a name has at most 100 characters of a-z, 0-9 and "-", and no "-" at either end',
  });
}

/** Writes nothing when one of the files is there already; what it has written is removed again where the rest cannot be. */
function writeFolder(directory: string, files: ReadonlyMap<string, string | Uint8Array>): void {
  const taken = [...files.keys()].find((file) => existsSync(join(directory, file)));
  if (taken !== undefined) {
    throw new Diagnostic('E-IO-001', `${join(directory, taken)} is there already, and nothing was written`, {
      hint: 'name another folder with --dir',
    });
  }
  const made: string[] = [];
  for (const [file, content] of files) {
    const path = join(directory, file);
    try {
      made.push(...missingFrom(dirname(path)));
      makeDirectories(dirname(path));
      const descriptor = openSync(path, 'wx');
      made.push(path);
      writeWhole(descriptor, content);
    } catch (error) {
      removeMade(made);
      throw ioFault(error, `cannot write ${path}`);
    }
  }
}

function writeWhole(descriptor: number, content: string | Uint8Array): void {
  try {
    writeFileSync(descriptor, content);
  } finally {
    closeSync(descriptor);
  }
}

/** The folder and those above it, the highest first, as far as they are not there. */
function missingFrom(folder: string): readonly string[] {
  return existsSync(folder) ? [] : [...missingFrom(dirname(folder)), folder];
}

/** What was made last goes first. A folder that somebody else has put something into meanwhile stays. */
function removeMade(paths: readonly string[]): void {
  for (const path of paths.toReversed()) {
    unlessRefused(() => (lstatSync(path).isDirectory() ? rmdirSync(path) : unlinkSync(path)), undefined);
  }
}

function nextOfSession(directory: string, files: ReadonlyMap<string, string | Uint8Array>): Shown {
  const named = / project: \{ write/.test(String(files.get('svc.yaml'))) ? ' --project <dir>' : '';
  const before = directory === '.' ? say`svc sessions --all lists what this folder did without it\n` : say``;
  return joined([say`next: svc run --manifest ${join(directory, 'svc.yaml')}${named} --task "<task>"\n`, before]);
}

function nextSteps(kind: NewKind, directory: string, language: Language): Shown {
  const there = directory === '.' ? '' : `cd ${directory} && `;
  if (language !== 'typescript') {
    const { source } = foreign[language];
    return say`next: ${there}sh build.sh && svc build, after every change of ${source}\n`;
  }
  switch (kind) {
    case 'capsule':
      return say`next: ${there}svc run --task "Say hello"\n`;
    case 'skill':
      return say`next: write ${join(directory, 'skill.md')}, then svc build ${directory}\n`;
    case 'tool':
    case 'hook':
    case 'driver':
      return say`next: ${there}npm install && svc build, after every change of component.ts\n`;
  }
}

const newKinds = ['capsule', 'tool', 'hook', 'driver', 'skill'] as const;
type NewKind = (typeof newKinds)[number];

/** Languages whose own tools make the component: `build.sh` of their template runs them. Of each, the source, and what its tools leave beside it. */
const foreign = {
  rust: { source: 'src/lib.rs', leaves: 'target/\n' },
  python: { source: 'app.py', leaves: '__pycache__/\n' },
  c: { source: 'tool.c', leaves: 'bindings/\n' },
} as const;
const languages = ['typescript', ...(Object.keys(foreign) as (keyof typeof foreign)[])] as const;
type Language = (typeof languages)[number];

const components: ReadonlySet<NewKind> = new Set(['tool', 'hook', 'driver']);

/** What runs leave beside a capsule, and its secrets; `svc.lock`, `tests/` and `.svc/config.yaml` are for git. */
const capsuleIgnored = '.svc/*\n!.svc/config.yaml\nworkdir/\n.env\n';

/** What a component is built and checked with. */
const tools = ['componentize-qjs', 'esbuild', 'typescript'] as const;
const packageFacts = z.object({ version: z.string(), devDependencies: z.record(z.string(), z.string()) });

interface FolderRequest {
  readonly kind: NewKind;
  readonly name: string;
  readonly language: Language;
  /** The folder of the installed `svc`, with the templates and the tarball of `@svc/guest` in it. */
  readonly packageRoot: string;
}

/** The files that `svc new` writes: path below the folder, with forward slashes, to what is in it. */
function folderFiles({ kind, name, language, packageRoot }: FolderRequest): ReadonlyMap<string, string | Uint8Array> {
  const templates = join(packageRoot, 'packages', 'svc', 'templates');
  if (language !== 'typescript') {
    return new Map([
      ...filesBelow(join(templates, `${kind}-${language}`), name),
      ['svc.yaml', namedAs(join(templates, kind, 'svc.yaml'), name)],
      ...filesBelow(join(packageRoot, 'packages', 'guest', 'wit'), name, 'wit/'),
      ['.gitignore', `${foreign[language].leaves}component.wasm\n*.zip\n`],
    ]);
  }
  const files = new Map<string, string | Uint8Array>(filesBelow(join(templates, kind), name));
  // Not among the templates: npm takes a .gitignore of a package for its own, and leaves it out.
  if (kind === 'capsule') files.set('.gitignore', capsuleIgnored);
  if (!components.has(kind)) return files;
  const { version, devDependencies } = packageFacts.parse(
    JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')),
  );
  // No registry has the guest yet, so its tarball goes along: npm installs it without asking anybody (docs/adr/components.md "Authors depend on the guest
  // package").
  const tarball = `svc-guest-${version}.tgz`;
  const manifest = {
    name,
    private: true,
    type: 'module',
    scripts: { check: 'tsc', build: 'svc build' },
    dependencies: { '@svc/guest': `file:vendor/${tarball}` },
    // The versions that the bundled artifacts are built with.
    devDependencies: Object.fromEntries(tools.map((tool) => [tool, devDependencies[tool]])),
  };
  files.set('package.json', `${JSON.stringify(manifest, null, 2)}\n`);
  files.set('tsconfig.json', readFileSync(join(templates, 'component', 'tsconfig.json'), 'utf8'));
  files.set('.gitignore', 'node_modules/\ncomponent.wasm\n*.zip\n');
  files.set(`vendor/${tarball}`, readFileSync(join(packageRoot, 'dist', 'guest', tarball)));
  return files;
}

/** The files of a folder and below it: path, with forward slashes, to what is in it. */
function filesBelow(folder: string, name: string, at = ''): readonly (readonly [string, string])[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => [`${at}${relative(folder, path)}`, namedAs(path, name)] as const);
}

function namedAs(template: string, name: string): string {
  return readFileSync(template, 'utf8').replaceAll('{{name}}', name);
}
