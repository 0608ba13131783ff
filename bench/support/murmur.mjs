// @ts-check
// Brings Murmur, and makes capsules that do the same in it and in svc.
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { cProgram } from './c-program.mjs';
import { createHome, createWorkspace, environment, ownNode, waits } from './capsule.mjs';
import { installDebianPackage } from './debian-package.mjs';
import { murmurDialect } from './dialects.mjs';
import { manifestOf } from './model.mjs';
import { cacheFolder, installCrate, run } from './outside-programs.mjs';

export const murmurVersion = '0.8.0';

const root = join(cacheFolder, `murmur-cli-${murmurVersion}`);
const mur = join(root, 'bin', 'mur');
/** The home of Murmur: artifacts are published there, and their compiled forms kept. */
const home = join(root, 'home');
const environmentOfMurmur = { ...environment, HOME: home, BENCH_KEY: 'a-key-of-the-bench' };
const echoSource = fileURLToPath(new URL('echo', import.meta.url));
const ownWorlds = fileURLToPath(new URL('../../packages/guest/wit', import.meta.url));
const echoOfSvc = join(root, 'echo-svc');

/** What both capsules have; with `hasTools` a component that answers with its arguments, and `bash`. */
/** @typedef {{ turns: number, isWaiting: boolean, hasTools: boolean }} Capsule */

/** @type {Promise<string> | null} */
let bringing = null;

/**
 * Builds Murmur and the component for both where they are missing, which takes many minutes; resolves to what `mur --version` says.
 * @returns {Promise<string>}
 */
export function bringMurmur() {
  bringing ??= bring();
  return bringing;
}

async function bring() {
  if (!existsSync('/usr/include/seccomp.h')) await installDebianPackage('libseccomp-dev');
  await installCrate({ crate: 'murmur-cli', version: murmurVersion, program: 'mur' });
  const made = join(root, 'made');
  if (!existsSync(made)) {
    await makeArtifacts();
    await writeFile(made, '');
  }
  return run(mur, ['--version'], { env: environmentOfMurmur });
}

async function makeArtifacts() {
  const driver = join(
    await crateSource('murmur-cli'),
    'tests/fixtures/drivers/openai/driver/murmur-driver-openai.wasm',
  );
  const worlds = join(await crateSource('capsule-runtime'), 'wit', 'guest');
  await publish(
    'driver',
    'runtime: driver\nupstream_auth: { header: authorization, value: "Bearer {key}" }\nmodels: { tireless: { max_output_tokens: 8192, context_window: 1000000 } }\n',
    driver,
  );
  await publish('tool', 'runtime: tool\n', await buildEcho('murmur', worlds));
  await mkdir(echoOfSvc, { recursive: true });
  await copyFile(await buildEcho('svc', ownWorlds), join(echoOfSvc, 'component.wasm'));
  await writeFile(
    join(echoOfSvc, 'svc.yaml'),
    'name: echo\nversion: 1.0.0\nruntime: tool\ndescription: Answers with its arguments.\ninput_schema: { type: object }\n',
  );
}

/**
 * Builds the component for one of the two; the next build takes its place.
 * @param {'svc' | 'murmur'} whose
 * @param {string} worlds
 */
async function buildEcho(whose, worlds) {
  const folder = join(root, `source-${whose}`);
  await rm(folder, { recursive: true, force: true });
  await cp(echoSource, folder, { recursive: true });
  await symlink(worlds, join(folder, 'wit'));
  const [target, targetFolder] = ['wasm32-wasip2', join(root, 'echo-target')];
  const features = whose === 'murmur' ? ['--features', 'murmur'] : [];
  const args = ['build', '--release', '--locked', '--target', target, '--target-dir', targetFolder, ...features];
  await run('cargo', args, { cwd: folder });
  return join(targetFolder, target, 'release', 'echo.wasm');
}

/**
 * @param {'driver' | 'tool'} kind
 * @param {string} manifest
 * @param {string} component
 */
async function publish(kind, manifest, component) {
  const folder = join(root, kind);
  await mkdir(folder, { recursive: true });
  await mkdir(home, { recursive: true });
  await writeFile(
    join(folder, 'murmur.yaml'),
    `name: ${nameOf[kind]}\nversion: 1.0.0\nrequires_files: [tool.wasm]\n${manifest}`,
  );
  await copyFile(component, join(folder, 'tool.wasm'));
  await run(mur, ['build', folder, '--output', `${folder}.mur.zip`], { env: environmentOfMurmur });
  await run(mur, ['publish', `${folder}.mur.zip`], { env: environmentOfMurmur });
}

const nameOf = { driver: 'murmur-driver-openai', tool: 'echo' };

/**
 * Where Cargo keeps the source of a crate of Murmur: its driver and its worlds stand in there.
 * @param {string} name
 */
async function crateSource(name) {
  const registries = join(process.env['CARGO_HOME'] ?? join(homedir(), '.cargo'), 'registry', 'src');
  for (const registry of await readdir(registries)) {
    const folder = join(registries, registry, `${name}-${murmurVersion}`);
    if (existsSync(folder)) return folder;
  }
  throw new Error(
    `Cargo has not kept the source of ${name} ${murmurVersion} in ${registries}; remove ${root} and run it again`,
  );
}

/**
 * A capsule of svc. It runs in a copy of Node.
 * @param {Capsule} capsule
 */
export const svcCapsule =
  ({ turns, isWaiting, hasTools }) =>
  async (/** @type {number} */ port) => {
    const tools = `artifacts: [{ name: echo, version: 1.0.0, source: ${echoOfSvc} }]\ncapabilities: { shell: { allow: [bash] } }\n`;
    const manifest = `${manifestOf(port, turns)}${hasTools ? tools : ''}${isWaiting ? waits : ''}`;
    const workspace = await createWorkspace({ manifest });
    return { ...workspace, command: [await ownNode(workspace.folder), ...workspace.command.slice(1)] };
  };

/**
 * The same of Murmur.
 * @param {Capsule} capsule
 */
export const murmurCapsule =
  ({ turns, isWaiting, hasTools }) =>
  async (/** @type {number} */ port) => {
    const workspace = await createHome();
    const tool = `  - { name: local/${nameOf.tool}, version: 1.0.0, runtime: tool }\n`;
    const manifest = `name: bench
version: 1.0.0
artifacts:
  - name: local/${nameOf.driver}
    version: 1.0.0
    runtime: driver
    gateway: { endpoint: "http://127.0.0.1:${port}", api_key: "\${BENCH_KEY}" }
${hasTools ? `${tool}capabilities: { shell: { allow: [bash] }, containment: sealed }\n` : ''}inference:
  transport: http
  model: tireless
  max_turns: ${turns}
  driver: { artifact: local/${nameOf.driver} }
${isWaiting ? waits : ''}`;
    await writeFile(join(workspace.folder, 'murmur.yaml'), manifest);
    const stoodIn =
      hasTools && !(await hasControlGroup())
        ? { LD_PRELOAD: await cProgram('control-group', ['-shared', '-fPIC']) }
        : {};
    return {
      ...workspace,
      env: { ...environmentOfMurmur, ...stoodIn },
      command: [mur, 'run', '--json'],
      dialect: murmurDialect,
    };
  };

/** Whether this process may make control groups of version 2 with limits, without which Murmur runs no command. */
export async function hasControlGroup() {
  const mounts = await readFile('/proc/mounts', 'utf8');
  const mount = /^\S+ (\S+) cgroup2 /m.exec(mounts)?.[1] ?? '/sys/fs/cgroup';
  const own = /^0::(.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8'))?.[1] ?? '/';
  const controllers = await readFile(join(mount, own, 'cgroup.controllers'), 'utf8').catch(() => '');
  return ['cpu', 'memory', 'pids'].every((name) => controllers.split(/\s/).includes(name));
}
