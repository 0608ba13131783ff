import { afterAll, describe, expect, it, vi } from 'vitest';

import type { ComponentSource } from '../src/compiler/compile-cache.ts';
import { hasUnusualFunctions } from '../src/compiler/interface-names.ts';
import { MalformedWasm } from '../src/core-module.ts';
import { fixtureComponent } from './support/fixture-component.ts';
import { answering, componentText, exporting } from './support/component-text.ts';
import { compileTimeoutMs, faultOf, noGrants, testHost, toolCall } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

vi.setConfig({ testTimeout: compileTimeoutMs });

const host = testHost(fixtureCache);
afterAll(async () => {
  await host.close();
});

async function ask(source: ComponentSource): Promise<unknown> {
  return await host.open(source, noGrants).call(toolCall({}, { export: 'probe:it/answer@1.0.0#ask' }));
}

/** A component whose `ask` answers with what a function of an interface returns, as 32 bits. */
function calling(name: string, { member, type, core, answer }: Readonly<Record<string, string>>): string {
  return `
    (import "${name}" (instance $from (export "${member}" (func ${type}))))
    (core func $lowered (canon lower (func $from "${member}")))
    (core module $module (import "host" "f" (func $f ${core})) (func (export "ask") (result i32) ${answer}))
    (core instance $instance (instantiate $module (with "host" (instance (export "f" (func $lowered))))))
    ${exporting('$instance')}`;
}

describe('a component that is built for WASI 0.3', () => {
  it.each([
    ['wasi:random/random', 'get-random-u64'],
    ['wasi:clocks/monotonic-clock', 'now'],
    ['wasi:clocks/monotonic-clock', 'get-resolution'],
    ['wasi:clocks/system-clock', 'get-resolution'],
  ])('gets from the host what is the same: %s#%s', async (name, member) => {
    const parts = { member, type: '(result u64)', core: '(result i64)', answer: '(i64.ne (call $f) (i64.const 0))' };
    expect(await ask(await componentText(calling(`${name}@0.3.0`, parts)))).toBe(1);
  });

  it.each([
    [
      'an async function of the host',
      calling('wasi:clocks/monotonic-clock@0.3.0', {
        member: 'wait-for',
        type: 'async (param "how-long" u64)',
        core: '(param i64)',
        answer: '(call $f (i64.const 1)) i32.const 1',
      }),
    ],
    [
      'an async function of its own',
      answering('i32.const 1').replace('(func $ask (result u32)', '(func $ask async (result u32)'),
    ],
    [
      'a function of its own that is async and was declared as one that blocks',
      answering('i32.const 1').replace('"ask")))', '"ask") async))'),
    ],
  ])('fails with one sentence when it has %s', async (_, text) => {
    const { kind, message } = await faultOf(ask(await componentText(text)));
    expect({ kind, message }).toEqual({
      kind: 'unavailable',
      message:
        'the component of written-out cannot be used: it has async functions, which are of WASI 0.3, and this svc has WASI 0.2 (E-ART-016): ' +
        'build it for WASI 0.2, which in Rust is the target wasm32-wasip2',
    });
  });

  it('goes to the compiler where its functions show that they are async, and one of WASI 0.2 does not', async () => {
    const plain = answering('i32.const 1');
    const bytes = async (text: string): Promise<Uint8Array> => (await componentText(text)).wasm as Uint8Array;
    const { wasm } = await fixtureComponent('probe-tool');
    expect(hasUnusualFunctions(wasm as Uint8Array)).toBe(false);
    expect(hasUnusualFunctions(await bytes(plain))).toBe(false);
    expect(hasUnusualFunctions(await bytes(plain.replace('"ask")))', '"ask") async))')))).toBe(true);
    expect(hasUnusualFunctions(await bytes(`${plain} (core func (canon waitable-set.new))`))).toBe(true);
    const whole = await bytes(plain);
    expect(() => hasUnusualFunctions(whole.subarray(0, whole.length - 3))).toThrow(MalformedWasm);
  });

  it('fails with the name of an interface that the host does not have, before anything compiles it', async () => {
    const parts = { member: 'f', type: 'async (result u64)', core: '(result i64)', answer: 'i32.const 1' };
    const { message } = await faultOf(ask(await componentText(calling('wasi:http/client@0.3.0', parts))));
    expect(message).toBe(
      'the component of written-out cannot be used: it is built for wasi:http/client@0.3.0, and this svc has WASI 0.2 (E-ART-016): ' +
        'build it for WASI 0.2, which in Rust is the target wasm32-wasip2',
    );
  });
});
