import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, describe, expect, it, vi } from 'vitest';

import type { Component, ComponentCall, ComponentGrants } from '../src/component.ts';
import { answering, componentText, exporting, quoted } from './support/component-text.ts';
import { compileTimeoutMs, faultOf, noGrants, temporaryFolder, testHost, toolCall } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

vi.setConfig({ testTimeout: compileTimeoutMs });

const host = testHost(fixtureCache);
const folder = temporaryFolder();
const page = 65_536;

afterAll(async () => {
  await host.close();
  folder.remove();
});

async function component(text: string, grants: Partial<ComponentGrants> = {}): Promise<Component> {
  return host.open(await componentText(text), { ...noGrants, ...grants });
}

async function ask(component: Component, call: Partial<ComponentCall> = {}): Promise<unknown> {
  return component.call(toolCall({}, { export: 'probe:it/answer@1.0.0#ask', args: [], ...call }));
}

async function refusal(text: string, call: Partial<ComponentCall> = {}): Promise<{ kind: string; message: string }> {
  const { kind, message } = await faultOf(ask(await component(text), call));
  return { kind, message };
}

/** Imports a function of an interface into a core module, under the given module name there, and calls it. */
function importing(
  name: string,
  { member, module = 'env' }: { readonly member: string; readonly module?: string },
): string {
  return `
    (import "${name}" (instance $imported (export "${member}" (func))))
    (core func $lowered (canon lower (func $imported "${member}")))
    (core module $module
      (import ${quoted(module)} "f" (func $f))
      (func (export "ask") (result i32) call $f i32.const 1))
    (core instance $instance (instantiate $module (with ${quoted(module)} (instance (export "f" (func $lowered))))))
    ${exporting('$instance')}`;
}

describe('a component', () => {
  it('runs when it is harmless', async () => {
    expect(await ask(await component(answering('i32.const 7')))).toBe(7);
  });

  it('cannot become code of the host by the names in its modules', async () => {
    const mark = join(folder.path, 'was-run');
    const name = `a': process.getBuiltinModule("fs").writeFileSync("${mark}", ""), 'b`;
    const { kind, message } = await refusal(
      importing('wasi:cli/environment@0.2.0', { member: 'get-arguments', module: name }),
    );
    expect(existsSync(mark)).toBe(false);
    expect(kind).toBe('unavailable');
    expect(message).toMatch(/^the component of written-out cannot be used: a core module uses the name "a': process\./);
  });

  it('cannot have an interface that is not offered, and the error names it', async () => {
    expect(await refusal(importing('wasi:keyvalue/store@0.2.0', { member: 'open' }))).toEqual({
      kind: 'unavailable',
      message:
        'the component of written-out cannot be used: it imports wasi:keyvalue/store@0.2.0, which this svc does not offer (E-ART-016): ' +
        'build it without that: docs/authoring.md "What a component can import" lists what there is',
    });
  });

  it('cannot have a function that an offered interface lacks', async () => {
    expect(await refusal(importing('wasi:cli/environment@0.2.0', { member: 'no-such-thing' }))).toEqual({
      kind: 'unavailable',
      message: expect.stringContaining('noSuchThing'),
    });
  });

  it('ends when its start code does not return', async () => {
    const text = answering('i32.const 1', '(func $start (loop $again (br $again))) (start $start)');
    expect((await refusal(text, { deadlineMs: 300 })).kind).toBe('deadline');
  });

  it('fails as unavailable when its start code traps', async () => {
    const text = answering('i32.const 1', '(func $start unreachable) (start $start)');
    expect(await refusal(text)).toEqual({ kind: 'unavailable', message: 'the component cannot start: unreachable' });
  });

  it('grows its memory to the cap and not past it', async () => {
    const grow = '(loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) memory.size';
    const growing = await component(answering(grow, '(memory 1)'), { maxMemoryBytes: 100 * page });
    expect(await ask(growing)).toBe(100);
  });

  it('gets no second memory by making a module twice', async () => {
    const text = `
      (core module $module (memory 1) (func (export "ask") (result i32) i32.const 1))
      (core instance $one (instantiate $module))
      (core instance $two (instantiate $module))
      ${exporting('$two')}`;
    expect(await refusal(text)).toEqual({
      kind: 'unavailable',
      message: 'the component cannot start: it makes a module that has memory into more than one instance',
    });
  });

  it('traps when it reads outside its memory', async () => {
    const outside = await component(answering('i32.const 70000 i32.load', '(memory 1)'));
    expect((await faultOf(ask(outside))).kind).toBe('trap');
  });

  it('exports nothing along the prototype of its exports', async () => {
    const harmless = await component(answering('i32.const 7'));
    for (const name of ['constructor#name', '__proto__#toString', 'probe:it/answer@1.0.0#constructor', 'ask', '']) {
      expect((await faultOf(ask(harmless, { export: name }))).kind).toBe('unavailable');
    }
  });
});
