// Builds the component of an author's folder with the packages that are installed there.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { componentSource } from '@svc/artifacts/store/inspect-content.ts';
import { type Componentizer, componentizeSource, guestBundle, type World } from './componentize.ts';
import { readGuestEngine } from './guest-engine.ts';
import { interfacesOf } from '../compiler/interface-names.ts';
import { refusedVersions } from '../refused-interfaces.ts';

const packages = { guest: '@svc/guest', bundler: 'esbuild', componentizer: 'componentize-qjs' } as const;
/** What a source exports: the interface of its world. */
const exportedBy: Readonly<Record<World, string>> = { tool: 'run', driver: 'inference', hook: 'lifecycle' };
const maxProblems = 20;

type Esbuild = Pick<typeof import('esbuild'), 'build'>;

interface BuildComponentRequest {
  /** Holds `component.ts`. */
  readonly directory: string;
  readonly world: World;
  /** The folder of the installed `svc`, with the engine of guests in it. */
  readonly packageRoot: string;
}

export interface BuiltComponent {
  readonly component: Buffer;
  /** `W-ART-002` when another build of the same source would give other bytes. */
  readonly warnings: readonly Diagnostic[];
}

/**
 * Builds `component.ts` into the bytes of a component, with the library and the interfaces of `@svc/guest`, and with esbuild and componentize-qjs, as
 * the folder has them installed: running this is running the latter two. `E-ART-011` for whatever keeps it from being built, every problem of the
 * source at once.
 */
export async function buildComponent({
  directory,
  world,
  packageRoot,
}: BuildComponentRequest): Promise<BuiltComponent> {
  const { guest, esbuild, componentizer, componentizerVersion } = loadPackages(directory);
  const engine = readGuestEngine(packageRoot);
  const isRepeatable = engine.componentizerVersion === componentizerVersion;
  const source = await bundle(directory, esbuild, world, join(guest, 'dist', 'text-codec.js'));
  try {
    const component = await componentizeSource({
      source,
      world,
      componentizer,
      engine: isRepeatable ? engine.bytes : null,
      witRoot: join(guest, 'wit'),
    });
    const refusal = refusedVersions(interfacesOf(component));
    if (refusal !== null) {
      throw new Diagnostic('E-ART-016', `${join(directory, componentSource)}: ${refusal.reason}`, {
        hint: refusal.hint,
      });
    }
    return {
      component,
      warnings: isRepeatable ? [] : [notRepeatable(componentizerVersion, engine.componentizerVersion)],
    };
  } catch (error) {
    if (!(error instanceof Error) || error instanceof Diagnostic) throw error;
    throw new Diagnostic('E-ART-011', `${join(directory, componentSource)}: ${reasonIn(error.message)}`, {
      cause: error,
    });
  }
}

function notRepeatable(installed: string, wanted: string): Diagnostic {
  const message = `componentize-qjs ${installed} builds a component with other bytes each time`;
  return new Diagnostic('W-ART-002', message, { hint: `with componentize-qjs ${wanted}, every build gives the same` });
}

interface AuthorsPackages {
  /** The folder that `@svc/guest` is installed in. */
  readonly guest: string;
  readonly esbuild: Esbuild;
  readonly componentizer: Componentizer;
  readonly componentizerVersion: string;
}

function loadPackages(directory: string): AuthorsPackages {
  const requireFrom = createRequire(join(directory, 'package.json'));
  const missing = Object.values(packages).filter((name) => !isInstalled(requireFrom, name));
  if (missing.length > 0) {
    const needs = `${componentSource} is built with ${listed(missing)}, not installed in ${directory}`;
    throw new Diagnostic('E-ART-011', needs, {
      hint: 'run npm install there; svc new writes a package.json that names the versions that svc is tested with',
    });
  }
  // Packages of the author: what they export is taken on trust, as by any build script.
  return {
    guest: dirname(requireFrom.resolve(`${packages.guest}/package.json`)),
    esbuild: requireFrom(packages.bundler) as Esbuild,
    componentizer: requireFrom(packages.componentizer) as Componentizer,
    componentizerVersion: (requireFrom(`${packages.componentizer}/package.json`) as { readonly version: string })
      .version,
  };
}

/** `a`, `a and b`, `a, b and c`. */
function listed(names: readonly string[]): string {
  const [last = '', ...others] = names.toReversed();
  return others.length === 0 ? last : `${others.toReversed().join(', ')} and ${last}`;
}

function isInstalled(requireFrom: NodeJS.Require, name: string): boolean {
  try {
    requireFrom.resolve(`${name}/package.json`);
    return true;
  } catch (error) {
    // Absent, or with a package.json that Node cannot read: installing it anew mends both.
    if (errorCode(error) !== undefined || error instanceof SyntaxError) return false;
    throw error;
  }
}

async function bundle(directory: string, esbuild: Esbuild, world: World, textCodec: string): Promise<string> {
  const entryPoint = join(directory, componentSource);
  const built = await esbuild
    .build({
      ...guestBundle({ entryPoint, textCodec }),
      absWorkingDir: directory,
      metafile: true,
      logLevel: 'silent',
    })
    .catch((error: unknown) => {
      throw isBuildFailure(error) ? problemsOf(error, directory) : error;
    });
  const exported = Object.values(built.metafile.outputs).flatMap((output) => output.exports);
  const wanted = exportedBy[world];
  if (!exported.includes(wanted)) {
    throw new Diagnostic('E-ART-011', `${entryPoint} does not export ${wanted}, which every ${world} exports`, {
      hint: exported.length === 0 ? 'it exports nothing' : `it exports ${exported.join(', ')}`,
    });
  }
  return built.outputFiles.map(({ text }) => text).join('');
}

interface BuildFailure {
  readonly errors: readonly {
    readonly text: string;
    readonly location: { readonly file: string; readonly line: number; readonly column: number } | null;
  }[];
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors) && error.errors.length > 0;
}

function problemsOf({ errors }: BuildFailure, directory: string): DiagnosticList {
  const problems = errors.slice(0, maxProblems).map(({ text, location }) => {
    if (location === null) return new Diagnostic('E-ART-011', text);
    const { file, line, column } = location;
    return new Diagnostic('E-ART-011', text, { location: { file: join(directory, file), line, column: column + 1 } });
  });
  return new DiagnosticList(problems);
}

/** What componentize-qjs says, without its temporary folder, the layers that it went through and places in the bundle. */
function reasonIn(message: string): string {
  return message
    .replace(/\n {4}at [^]*$/, '')
    .replace(/^failed to resolve directory while parsing WIT for path \[[^\]]*\]: /, '')
    .replace(/^: Failed to evaluate user JavaScript module: Failed to finish JavaScript module evaluation: /, '')
    .trim();
}
