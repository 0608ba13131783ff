import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod/mini';

export const newKinds = ['capsule', 'tool', 'hook', 'driver', 'skill'] as const;
export type NewKind = (typeof newKinds)[number];

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

export interface FolderRequest {
  readonly kind: NewKind;
  readonly name: string;
  /** The package, with `packages/svc/templates/` and the library in it. */
  readonly packageRoot: string;
}

/** The files that `svc new` writes: path below the folder, with forward slashes, to text. */
export function folderFiles({ kind, name, packageRoot }: FolderRequest): ReadonlyMap<string, string> {
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
