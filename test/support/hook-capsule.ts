/** Makes capsules with hooks that follow orders. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { fixtureComponent } from '../../packages/components/test/support/fixture-component.ts';
import { scriptCapsule, type ScriptCapsule } from './script-capsule.ts';
import type { Workspace } from './workspace.ts';

export interface HookCapsule extends Omit<ScriptCapsule, 'manifest'> {
  /** Names to the lines of their manifests, as YAML: binding, mode and policy. Each is a hook that follows orders. */
  readonly hooks: Readonly<Record<string, string>>;
  /** Further entries of `artifacts`, each a flow mapping. */
  readonly artifacts?: readonly string[];
  /** The orders for hooks in the variable HOOK_ORDERS. */
  readonly orders?: string;
  /** The deadline of each hook. */
  readonly deadlineSecs?: number;
  readonly memory?: string;
  /** What the entries of hooks ask for beside limits, as entries of a flow mapping; HOOK_ORDERS when absent. */
  readonly asks?: string;
  /** Lines of the capsule's manifest beside artifacts and the variables. */
  readonly manifest?: string;
  /** Entries of `capabilities` beside `env`, as YAML lines. */
  readonly capabilities?: string;
}

/** A capsule whose model plays a script and whose hooks are the component `told-hook`. */
export async function hookCapsule(options: HookCapsule): Promise<Workspace> {
  const {
    hooks,
    artifacts = [],
    orders = '',
    deadlineSecs = 20,
    memory = '512Mi',
    asks = 'env: { allow: [HOOK_ORDERS] }, ',
    manifest = '',
    capabilities = '',
    ...rest
  } = options;
  const limits = `limits: { deadline: ${deadlineSecs}, memory: ${memory} }`;
  const entries = Object.keys(hooks).map(
    (name) => `{ name: ${name}, version: 1.0.0, runtime: hook, source: ./${name}, capabilities: { ${asks}${limits} } }`,
  );
  const workspace = scriptCapsule({
    ...rest,
    manifest: `artifacts:
${[...entries, ...artifacts].map((entry) => `  - ${entry}\n`).join('')}capabilities:
  env: { allow: [HOOK_ORDERS] }
${capabilities}${manifest}`,
  });
  workspace.write('.env', `HOOK_ORDERS='${orders}'\n`);
  const { wasm } = await fixtureComponent('told-hook');
  if (!(wasm instanceof Uint8Array)) throw new Error('a fixture is its bytes');
  for (const [name, declared] of Object.entries(hooks)) addHook(workspace, name, { declared, wasm });
  return workspace;
}

function addHook(
  workspace: Workspace,
  name: string,
  { declared, wasm }: { readonly declared: string; readonly wasm: Uint8Array },
): void {
  const folder = join(workspace.folder, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'svc.yaml'), `name: ${name}\nversion: 1.0.0\nruntime: hook\n${declared}\n`);
  writeFileSync(join(folder, 'component.wasm'), wasm);
}
