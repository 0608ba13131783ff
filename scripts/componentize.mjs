// Builds a component from JavaScript: `componentizeSource({ source, world })` gives the bytes of `component.wasm`.
//
// componentize-qjs runs the script once at build time with real WASI behind the imports of its own runtime and stubs behind
// everything else. A world interface that shares a WASI resource with the runtime (`wasi:http` does, through its streams)
// then has two owners and does not link. So the world is given WASI under a version the runtime does not use, and the
// component gets a real one back once it is built: the two spellings have the same length, so no offset moves.
import { componentize } from 'componentize-qjs';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const witRoot = fileURLToPath(new URL('../wit', import.meta.url));

/** As in `wit/deps`, and as sources spell it. */
const declaredVersion = '0.2.12';
const buildVersion = '7.7.73';
const componentVersion = '0.2.11';

const worldExports = {
  tool: ['svc:tool/run@0.1.0'],
  driver: ['svc:driver/inference@0.1.0'],
  hook: ['svc:hook/lifecycle@0.1.0'],
};

/**
 * `source` is one ES module whose only imports are WIT interfaces (`wasi:http/types@0.2.12`, `svc:text/chunks@0.1.0`);
 * `world` is `tool`, `driver` or `hook`. The component imports the interfaces the source names and no others, which keeps
 * what runs at start small. Rejects with the builder's message when the source or an interface is wrong.
 */
export async function componentizeSource({ source, world }) {
  const directory = mkdtempSync(join(tmpdir(), 'svc-wit-'));
  try {
    writeWorld(directory, { imports: importedInterfaces(source), exports: worldExports[world] });
    const { component } = await componentize({
      witPath: directory,
      world: 'built',
      jsSource: respell(source),
      sync: true,
      optSize: true,
    });
    return withComponentVersion(component);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The packages of `wit/` with one world more: what this component imports, and what its kind exports. */
function writeWorld(directory, { imports, exports }) {
  cpSync(witRoot, directory, { recursive: true });
  for (const name of readdirSync(directory, { recursive: true })) {
    if (!name.endsWith('.wit')) continue;
    const path = join(directory, name);
    writeFileSync(path, respell(readFileSync(path, 'utf8')));
  }
  const lines = [...imports.map((id) => `import ${respell(id)};`), ...exports.map((id) => `export ${id};`)];
  writeFileSync(join(directory, 'built.wit'), `package svc:worlds@0.1.0;\nworld built {\n${lines.join('\n')}\n}\n`);
}

function importedInterfaces(source) {
  const found = source.matchAll(/\bfrom\s*["']((?:wasi|svc):[a-z-]+\/[a-z-]+@[0-9.]+)["']/g);
  return [...new Set([...found].map((match) => match[1]))];
}

function respell(text) {
  return text.replaceAll(
    new RegExp(`(wasi:[a-z-]+(?:/[a-z-]+)?)@${declaredVersion.replaceAll('.', '\\.')}`, 'g'),
    `$1@${buildVersion}`,
  );
}

function withComponentVersion(component) {
  const bytes = Buffer.from(component);
  const needle = Buffer.from(`@${buildVersion}`);
  for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + needle.length)) {
    bytes.write(`@${componentVersion}`, at, 'latin1');
  }
  return bytes;
}
