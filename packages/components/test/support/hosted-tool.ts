import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { type Component, type ComponentCall, ComponentFault, type ComponentGrants } from '../../src/component.ts';
import { type ComponentHost, createComponentHost } from '../../src/component-host.ts';

/** Compiling a fixture takes a second or so of a machine that does nothing else. */
export const compileTimeoutMs = 120_000;

export const packageRoot = fileURLToPath(new URL('../../../../', import.meta.url));

export const noGrants: ComponentGrants = {
  preopens: [],
  env: {},
  mayReach: () => false,
  maxMemoryBytes: 256 * 1024 * 1024,
};

/** A folder of its own, removed by `remove`. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'svc-components-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A host that keeps what it compiled in the given folder. */
export function testHost(cacheDir: string): ComponentHost {
  return createComponentHost({ cacheDir, packageRoot });
}

/** What the tool answers to an order; a fault of the component rejects. */
export async function order(component: Component, what: unknown, call: Partial<ComponentCall> = {}): Promise<string> {
  const answer = (await component.call(toolCall(what, call))) as { readonly content: string };
  return answer.content;
}

export function toolCall(what: unknown, call: Partial<ComponentCall> = {}): ComponentCall {
  return {
    export: 'svc:tool/run@0.1.0#run',
    args: [{ arguments: JSON.stringify(what), callId: undefined }],
    host: {},
    deadlineMs: 20_000,
    signal: new AbortController().signal,
    ...call,
  };
}

/** The fault a call ends with. */
export async function faultOf(call: Promise<unknown>): Promise<ComponentFault> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ComponentFault) return error;
    throw error;
  }
  throw new Error('the call returned');
}
