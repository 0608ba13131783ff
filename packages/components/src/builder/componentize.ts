import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a component can be, by the name of its world in `packages/guest/wit/worlds.wit`. */
export type World = 'tool' | 'driver' | 'hook';

/** The part of the package componentize-qjs that is used. */
export interface Componentizer {
  componentize(options: {
    readonly witPath: string;
    readonly world: string;
    readonly jsSource: string;
    readonly sync?: boolean;
    readonly optSize?: boolean;
    readonly runtimeBytes?: Buffer;
  }): Promise<{ readonly component: Uint8Array }>;
}

export interface ComponentizeRequest {
  /** One ES module whose only imports are WIT interfaces (`wasi:http/types@0.2.12`, `svc:text/chunks@0.1.0`). */
  readonly source: string;
  readonly world: World;
  readonly componentizer: Componentizer;
  /** `guestEngine` of this version of componentize-qjs; null for the one that it has itself, with which no two builds are the same. */
  readonly engine: Buffer | null;
  /** The folder `packages/guest/wit/` of the package. */
  readonly witRoot: string;
}

/** As in `packages/guest/wit/deps`, and as sources spell it. */
const declaredVersion = '0.2.12';
const buildVersion = '7.7.73';
const componentVersion = '0.2.11';

const worldExports: Readonly<Record<World, string>> = {
  tool: 'svc:tool/run@0.1.0',
  driver: 'svc:driver/inference@0.1.0',
  hook: 'svc:hook/lifecycle@0.1.0',
};

/**
 * The bytes of `component.wasm` for a script, the same for the same request with an engine. The component imports the interfaces that the source names and no others, which keeps
 * what runs at start small. Rejects with the builder's message when the source or an interface is wrong.
 *
 * componentize-qjs runs the script once at build time with real WASI behind the imports of its own runtime and stubs behind
 * everything else. A world interface that shares a WASI resource with the runtime (`wasi:http` does, through its streams)
 * then has two owners and does not link. So the world is given WASI under a version the runtime does not use, and the
 * component gets a real one back once it is built: the two spellings have the same length, so no offset moves.
 */
export async function componentizeSource(request: ComponentizeRequest): Promise<Buffer> {
  const { source, world, componentizer, engine, witRoot } = request;
  const directory = mkdtempSync(join(tmpdir(), 'svc-wit-'));
  try {
    writeWorld(directory, { witRoot, imports: importedInterfaces(source), exported: worldExports[world] });
    const { component } = await componentizer.componentize({
      witPath: directory,
      world: 'built',
      jsSource: respell(source),
      ...(engine === null ? { sync: true, optSize: true } : { runtimeBytes: engine }),
    });
    return withComponentVersion(component);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

interface BuiltWorld {
  readonly witRoot: string;
  readonly imports: readonly string[];
  readonly exported: string;
}

/** The packages of `packages/guest/wit/` with one world more: what this component imports, and what its kind exports. */
function writeWorld(directory: string, { witRoot, imports, exported }: BuiltWorld): void {
  cpSync(witRoot, directory, { recursive: true });
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.wit')) continue;
    const path = join(directory, name);
    writeFileSync(path, respell(readFileSync(path, 'utf8')));
  }
  const lines = [...imports.map((id) => `import ${respell(id)};`), `export ${exported};`];
  writeFileSync(join(directory, 'built.wit'), `package svc:worlds@0.1.0;\nworld built {\n${lines.join('\n')}\n}\n`);
}

function importedInterfaces(source: string): string[] {
  const found = source.matchAll(/\bfrom\s*["']((?:wasi|svc):[a-z-]+\/[a-z-]+@[0-9.]+)["']/g);
  return [...new Set([...found].map(([, id = '']) => id))];
}

function respell(text: string): string {
  return text.replaceAll(
    new RegExp(`(wasi:[a-z-]+(?:/[a-z-]+)?)@${declaredVersion.replaceAll('.', '\\.')}`, 'g'),
    `$1@${buildVersion}`,
  );
}

function withComponentVersion(component: Uint8Array): Buffer {
  const bytes = Buffer.from(component);
  const needle = Buffer.from(`@${buildVersion}`);
  for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + needle.length)) {
    bytes.write(`@${componentVersion}`, at, 'latin1');
  }
  return bytes;
}
