// Starts a capsule and a contained command once, so that bin/svc.cjs keeps what V8 compiled on the way
// (dist/<program>.cjs.<hash>.<node version>-<arch>.cache).
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const program = (name) => fileURLToPath(new URL(`../bin/${name}.cjs`, import.meta.url));

const manifest = `name: warm-up
version: 1.0.0
artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]
inference:
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
capabilities: { shell: { allow: [sh] } }
`;
const script = '- { content: [{ type: text, text: Done. }], stop_reason: end_turn }\n';

/** Whether a file is a cache of this program. */
const isCacheOf = (program, file) => file.startsWith(`${program}.cjs.`) && file.endsWith('.cache');

/** Caches are of one bundle: V8 would take that of another of the same length for its own. */
export function dropCodeCaches(dist, name) {
  for (const file of readdirSync(dist)) if (isCacheOf(name, file)) rmSync(join(dist, file), { force: true });
}

/** Writes the caches for this Node unless they are there. */
export function buildCodeCaches(dist) {
  const files = readdirSync(dist);
  const isMissing = (name) => !files.some((file) => isCacheOf(name, file) && file.includes(`.${process.version}-`));
  const folder = mkdtempSync(join(tmpdir(), 'svc-warm-up-'));
  const surroundings = { cwd: folder, env: { PATH: process.env.PATH, HOME: folder }, stdio: 'pipe' };
  try {
    if (isMissing('svc')) startCapsule(folder, surroundings);
    if (isMissing('svc-sandbox')) startContained(surroundings);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function startCapsule(folder, surroundings) {
  writeFileSync(join(folder, 'svc.yaml'), manifest);
  writeFileSync(join(folder, 'script.yaml'), script);
  execFileSync(process.execPath, [program('svc'), 'run', '--json', '--task', 'Say so.'], surroundings);
}

/** In the strongest class of this machine: where it has none, the first start elsewhere makes the cache. */
function startContained(surroundings) {
  const end = (wanted) =>
    spawnSync(process.execPath, [program('svc-sandbox'), '--class', wanted, '--', 'true'], surroundings);
  ['sealed', 'scoped', 'advisory'].some((wanted) => end(wanted).status === 0);
}
