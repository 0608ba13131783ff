/** Makes a component of the script that esbuild makes of an author's sources, with the package componentize-qjs. */

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { BuildOptions } from 'esbuild';

/** What a component can be, by the name of its world in `wit/worlds.wit` of `@svc/guest`. */
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
  /** The folder `wit/` of the `@svc/guest` that the source is written against: it says in which versions interfaces are imported and exported. */
  readonly witRoot: string;
}

/** Versions of WASI: while a component is built, and as it is in the end. */
const buildVersion = '7.7.73';
const componentVersion = '0.2.11';

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
    const wasiVersion = declaredWasi(witRoot);
    writeWorld(directory, {
      witRoot,
      imports: importedInterfaces(source),
      exported: exportOf(world, witRoot),
      wasiVersion,
    });
    const { component } = await componentizer.componentize({
      witPath: directory,
      world: 'built',
      jsSource: respell(source, wasiVersion),
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
  readonly wasiVersion: string;
}

/** The interface that a world exports, with its version. */
function exportOf(world: World, witRoot: string): string {
  const worlds = readFileSync(join(witRoot, 'worlds.wit'), 'utf8');
  const [, exported] = new RegExp(`\\bworld ${world} \\{[^}]*\\bexport ([^;]+);`).exec(worlds) ?? [];
  if (exported === undefined) throw new Error(`${witRoot} has no world ${world} that exports an interface`);
  return exported;
}

/** The one version of WASI in the interfaces of a guest, as its sources spell it. */
function declaredWasi(witRoot: string): string {
  const io = readFileSync(join(witRoot, 'deps', 'wasi-io', 'io.wit'), 'utf8');
  const [, version] = /^package wasi:io@([0-9.]+);/m.exec(io) ?? [];
  if (version === undefined) throw new Error(`${witRoot} does not say which version of WASI it has`);
  return version;
}

/** What only servers of HTTP use, each with its comment. A component would carry all types of an interface, and no host would call these. */
const servingHttp =
  /(?:^ *(?:\/\/\/.*|@.*)\n)*^( *)(?:resource (?:incoming-request|outgoing-response|response-outparam)|interface incoming-handler|world proxy) \{\n[^]*?^\1\}\n/gm;

/** The packages of a guest with one world more: what this component imports, and what its kind exports. */
function writeWorld(directory: string, { witRoot, imports, exported, wasiVersion }: BuiltWorld): void {
  cpSync(witRoot, directory, { recursive: true });
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.wit')) continue;
    const path = join(directory, name);
    writeFileSync(path, respell(readFileSync(path, 'utf8').replaceAll(servingHttp, ''), wasiVersion));
  }
  const lines = [...imports.map((id) => `import ${respell(id, wasiVersion)};`), `export ${exported};`];
  writeFileSync(join(directory, 'built.wit'), `package svc:worlds@0.1.0;\nworld built {\n${lines.join('\n')}\n}\n`);
}

function importedInterfaces(source: string): string[] {
  const found = source.matchAll(/\bfrom\s*["']((?:wasi|svc):[a-z-]+\/[a-z-]+@[0-9.]+)["']/g);
  return [...new Set([...found].map(([, id = '']) => id))];
}

function respell(text: string, wasiVersion: string): string {
  return text.replaceAll(
    new RegExp(`(wasi:[a-z-]+(?:/[a-z-]+)?)@${wasiVersion.replaceAll('.', '\\.')}`, 'g'),
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

export interface GuestEntry {
  readonly entryPoint: string;
  /** The module that gives the guest `TextEncoder` and `TextDecoder`. */
  readonly textCodec: string;
}

/** How esbuild makes one script for the guest's engine, which has neither a module resolver nor the globals of a browser. */
export function guestBundle({ entryPoint, textCodec }: GuestEntry) {
  return {
    entryPoints: [entryPoint],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2023',
    minify: true,
    legalComments: 'none',
    external: ['svc:*', 'wasi:*'],
    inject: [textCodec],
  } satisfies BuildOptions;
}
