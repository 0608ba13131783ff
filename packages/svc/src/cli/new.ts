import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { Argument, Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { artifactName } from '@svc/artifacts/manifest/names.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import type { CommandContext } from './command-context.ts';
import { folderFiles, newKinds, type NewKind } from './new/folder-files.ts';
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
