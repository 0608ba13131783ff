/** Adds a component to a workspace as a tool. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { ComponentSource } from '@svc/components/compiler/compile-cache.ts';
import type { Workspace } from './workspace.ts';

/** Puts a component into a folder of the workspace that the manifest can name as `source: ./<name>`, as a tool of that name. */
export function addComponentTool(workspace: Workspace, name: string, { wasm }: ComponentSource): void {
  if (!(wasm instanceof Uint8Array)) throw new Error('a fixture is its bytes');
  const folder = join(workspace.folder, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'svc.yaml'), `name: ${name}\nversion: 1.0.0\nruntime: tool\nimplementation: wasm\n`);
  writeFileSync(join(folder, 'component.wasm'), wasm);
}
