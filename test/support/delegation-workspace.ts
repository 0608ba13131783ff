import { svc } from './svc-process.ts';
import { makeWorkspace, type Workspace } from './workspace.ts';

/** A capsule whose model plays a script: lines of its manifest beside name, version and inference, and the script, both YAML. */
export interface PublishedScript {
  readonly manifest: string;
  readonly script: string;
}

/** A workspace with these capsules, by their names, each in a folder of its own and published in version 1.0.0 to the user's store. */
export async function delegationWorkspace(capsules: Readonly<Record<string, PublishedScript>>): Promise<Workspace> {
  const workspace = makeWorkspace({});
  for (const [name, { manifest, script }] of Object.entries(capsules)) {
    workspace.write(`${name}/svc.yaml`, manifestOf(name, manifest));
    workspace.write(`${name}/script.yaml`, script);
    const published = await svc(workspace, ['publish', name, '--registry', 'local']);
    if (published.code !== 0) throw new Error(`${name} could not be published: ${published.stderr}`);
  }
  return workspace;
}

/** A capsule that delegates stays up to hear of it. */
export const hearsOfEnds = 'lifecycle: { task_acceptance: queue, queue_depth: 8, after_task: sleep }\n';

function manifestOf(name: string, lines: string): string {
  return `name: ${name}
version: 1.0.0
inference:
  model: scripted
  driver:
    artifact: svc-driver-script
    config: { script: script.yaml }
${lines}`;
}
