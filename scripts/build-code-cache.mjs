// Starts a capsule once, so that bin/svc.cjs keeps what V8 compiled on the way (dist/svc.cjs.<hash>.<node version>-<arch>.cache).
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../bin/svc.cjs', import.meta.url));

const manifest = `name: warm-up
version: 1.0.0
artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]
inference:
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
capabilities: { shell: { allow: [sh] } }
`;
const script = '- { content: [{ type: text, text: Done. }], stop_reason: end_turn }\n';

const caches = /^svc\.cjs\..*\.cache$/;

/** Caches are of one bundle: V8 would take that of another of the same length for its own. */
export function dropCodeCaches(dist) {
  for (const name of readdirSync(dist)) if (caches.test(name)) rmSync(join(dist, name), { force: true });
}

/** Writes the cache for this Node unless it is there. */
export function buildCodeCache(dist) {
  if (readdirSync(dist).some((name) => caches.test(name) && name.includes(`.${process.version}-`))) return;
  const folder = mkdtempSync(join(tmpdir(), 'svc-warm-up-'));
  try {
    writeFileSync(join(folder, 'svc.yaml'), manifest);
    writeFileSync(join(folder, 'script.yaml'), script);
    const env = { PATH: process.env.PATH, HOME: folder };
    execFileSync(process.execPath, [program, 'run', '--json', '--task', 'Say so.'], {
      cwd: folder,
      env,
      stdio: 'pipe',
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
