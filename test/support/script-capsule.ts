/** Makes a capsule whose model plays a script. */

import { makeWorkspace, type Workspace } from './workspace.ts';

export interface ScriptCapsule {
  /** Lines of the manifest beside name, version and inference, as YAML. */
  readonly manifest?: string;
  /** The script of the model, as YAML; by default it says `Done.` */
  readonly script?: string;
  readonly files?: Readonly<Record<string, string>>;
}

const saysDone = `- content: [{ type: text, text: Done. }]
  stop_reason: end_turn
`;

/** A folder with a capsule whose model plays a script: nothing is asked of the network. */
export function scriptCapsule({ manifest = '', script = saysDone, files = {} }: ScriptCapsule = {}): Workspace {
  return makeWorkspace({
    'svc.yaml': `name: demo
version: 1.2.3
inference:
  model: scripted
  driver:
    artifact: svc-driver-script
    config: { script: script.yaml }
${manifest}`,
    'script.yaml': script,
    ...files,
  });
}

/** A script that runs commands with sh, one a turn, and then says `Done.` */
export function runsCommand(...commands: readonly string[]): string {
  const turns = commands.map(
    (command) => `- content: [{ type: tool_call, id: call_1, name: sh, input: { command: ${JSON.stringify(command)} } }]
  stop_reason: tool_call
`,
  );
  return [...turns, saysDone].join('');
}
