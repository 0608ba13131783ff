/** Calls a bundled tool, through the runtime and without it. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { compiledFileName } from '@svc/components/compiler/compiler.ts';
import { readTranspiled } from '@svc/components/compiler/read-transpiled.ts';
import type { TranspiledComponent } from '@svc/components/compiler/transpiled-component.ts';
import { createComponentHost } from '@svc/components/component-host.ts';
import { compileModules, linkInstance } from '@svc/components/guest/linked-instance.ts';
import { Mailbox } from '@svc/components/guest/mailbox.ts';
import { offeredImports } from '@svc/components/guest/offered-imports.ts';
import { OutputTail } from '@svc/components/guest/streams.ts';
import type { ToolCallContext } from '@svc/session/tools/tool.ts';
import { createWasmTool } from '@svc/session/tools/wasm-tool.ts';

const maxMemoryBytes = 512 * 1024 * 1024;
/** Refused by the tool itself: the shortest way through its code, and no file is touched. */
const args = { command: 'read' };

/** A bundled tool, ready to be called; both take milliseconds a call, as a mean over `calls` made one after another. */
export interface WarmTool {
  /** As the session calls it. */
  throughRuntime(calls: number): Promise<number>;
  /** The same compiled component in this process, called directly: its own time. */
  componentAlone(calls: number): number;
  close(): Promise<void>;
}

export async function openWarmTool(packageRoot: string): Promise<WarmTool> {
  const precompiledDir = join(packageRoot, 'dist', 'bundled', 'svc-tool-editor', '1.0.0', 'compiled');
  const transpiled = readTranspiled(join(precompiledDir, compiledFileName), null);
  if (transpiled === null) throw new Error('the bundled editor is not built');
  const cacheDir = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const host = createComponentHost({ cacheDir, packageRoot });
  const { componentSha256: sha256 } = transpiled;
  const component = host.open(
    { name: 'svc-tool-editor', wasm: new Uint8Array(), sha256, precompiledDir },
    { preopens: [], env: {}, mayReach: () => false, maxMemoryBytes },
  );
  const settings = { name: 'svc-tool-editor', description: '', inputSchema: {}, component, deadlineMs: 10_000 };
  const tool = createWasmTool(settings);
  const alone = linkHere(transpiled);
  return {
    async throughRuntime(calls) {
      const began = performance.now();
      for (let call = 0; call < calls; call += 1) await tool.call(args, context);
      return (performance.now() - began) / calls;
    },
    componentAlone(calls) {
      const began = performance.now();
      for (let call = 0; call < calls; call += 1) alone({ arguments: JSON.stringify(args), callId: 'call_1' });
      return (performance.now() - began) / calls;
    },
    async close() {
      await host.close();
      rmSync(cacheDir, { recursive: true });
    },
  };
}

const context: ToolCallContext = {
  taskId: 'tsk_1',
  place: 'tsk_1/1/m1/t1',
  settle: (look) => look(),
  callId: 'call_1',
  signal: new AbortController().signal,
  emitText: () => {},
  emitThinking: () => {},
  requestInput: async () => ({ kind: 'timed-out' }),
  tools: {
    kindOf: () => undefined,
    dispatch: () => Promise.reject(new Error('there is no other tool')),
  },
  judge: async () => ({ kind: 'proceed' }),
  record: () => true,
};

type Run = (input: { readonly arguments: string; readonly callId: string }) => unknown;

function linkHere(transpiled: TranspiledComponent): Run {
  const { glue } = transpiled;
  const modules = compileModules(transpiled.modules, maxMemoryBytes);
  const offered = offeredImports(new Mailbox(), { directories: [], env: {}, seed: [0n, 0n], output: new OutputTail() });
  const load = { glue, codeCache: null, modules, maxMemoryBytes };
  const { exports } = linkInstance(load, offered);
  return (exports['svc:tool/run@0.1.0'] as { readonly run: Run }).run;
}
