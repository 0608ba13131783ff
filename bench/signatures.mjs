// @ts-check
// Measures what signatures of artifacts cost.
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { loadSubject } from './support/bundle.mjs';
import { createHome, program } from './support/capsule.mjs';
import { key, startSvcRegistry } from './support/registry-servers.mjs';
import { alternate } from './support/rounds.mjs';

const run = promisify(execFile);

/** What the mock authority needs where it is installed, and what only tests use of it. */
const external = ['vitest', '@sigstore/mock'];

/** @returns {Promise<typeof import('./support/signature-subject.ts')>} */
async function subjects() {
  return /** @type {typeof import('./support/signature-subject.ts')} */ (
    await loadSubject('signature-subject.ts', external)
  );
}

/** Verifying a CI job's statement about an archive of a megabyte, and a key's signature of its bytes, against the hash that is taken anyway. */
/** @type {import('./support/row.mjs').Row} */
export const signatureVerify = {
  name: 'signature-verify',
  goal: { atMost: 25 },
  unit: 'ms',
  async measure() {
    const { signedMegabyte } = await subjects();
    const megabyte = await signedMegabyte();
    const { subject, floor } = await alternate({
      rounds: 51,
      subject: () => megabyte.verify(),
      floor: async () => megabyte.hash(),
    });
    return {
      subject: `two signatures of 1 MB ${subject.toFixed(1)} ms`,
      floor: `its hash ${floor.toFixed(1)} ms`,
      figure: subject,
    };
  },
};

const count = 10;

/** What a rule adds to an install of ten signed artifacts from a registry, the verifier's own loading included. */
/** @type {import('./support/row.mjs').Row} */
export const signedInstall = {
  name: 'signed-install',
  goal: { atMost: 250 },
  unit: 'ms',
  async measure() {
    const { folder, remove } = await createHome();
    const registry = await startSvcRegistry();
    try {
      const { signedFolder, issuer } = await subjects();
      const { names, archive } = await signedFolder(join(folder, 'archives'), count);
      const env = { SVC_REGISTRY_URL: `http://127.0.0.1:${registry.port}`, REGISTRY_API_KEY: key };
      for (const name of names) await svc(['publish', archive(name)], { cwd: folder, home: folder, env });
      const rule = `{ names: ["*"], signed_by: { issuer: "${issuer}", identity: "https://github.com/acme/*/.github/workflows/*@refs/tags/*" } }`;
      const trust = `trust: { root: "${join(folder, 'archives', 'root.json')}", rules: [${rule}] }\n`;
      let installs = 0;
      /** @param {string} config */
      const install = async (config) => {
        installs += 1;
        const project = join(folder, `project-${installs}`);
        const home = join(project, 'home');
        await mkdir(join(home, '.svc'), { recursive: true });
        await writeFile(join(home, '.svc', 'config.yaml'), config);
        await writeFile(join(project, 'svc.yaml'), manifest(names));
        const startedMs = performance.now();
        await svc(['install'], { cwd: project, home, env });
        const tookMs = performance.now() - startedMs;
        await rm(project, { recursive: true });
        return tookMs;
      };
      const { subject, floor } = await alternate({
        rounds: 11,
        subject: () => install(trust),
        floor: () => install('{}\n'),
      });
      return {
        subject: `${count} under a rule ${subject.toFixed(0)} ms`,
        floor: `without one ${floor.toFixed(0)} ms`,
        figure: subject - floor,
      };
    } finally {
      await registry.stop();
      await remove();
    }
  },
};

/** @param {readonly string[]} names */
function manifest(names) {
  const artifacts = names.map((name) => `  - { name: ${name}, version: 1.0.0, runtime: skill }\n`).join('');
  return `name: bench\nversion: 1.0.0\ninference:\n  model: script\n  driver: { artifact: svc-driver-script }\nartifacts:\n${artifacts}`;
}

/**
 * @param {readonly string[]} args
 * @param {{ cwd: string, home: string, env: Readonly<Record<string, string>> }} place
 */
async function svc(args, { cwd, home, env }) {
  await run(process.execPath, [program, ...args], { cwd, env: { PATH: process.env['PATH'], HOME: home, ...env } });
}
