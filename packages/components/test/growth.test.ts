import { afterAll, describe, expect, it, vi } from 'vitest';

import type { Component, ComponentGrants } from '../src/component.ts';
import { answering, componentText, exporting } from './support/component-text.ts';
import { compileTimeoutMs, faultOf, noGrants, testHost, toolCall } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

vi.setConfig({ testTimeout: compileTimeoutMs });

const host = testHost(fixtureCache);
const megabyte = 1024 * 1024;

afterAll(() => host.close());

async function component(text: string, grants: Partial<ComponentGrants> = {}): Promise<Component> {
  return host.open(await componentText(text), { ...noGrants, maxMemoryBytes: 32 * megabyte, ...grants });
}

async function ask(component: Component): Promise<unknown> {
  return component.call(toolCall({}, { export: 'probe:it/answer@1.0.0#ask', args: [] }));
}

async function refusal(text: string): Promise<{ kind: string; message: string }> {
  const { kind, message } = await faultOf(ask(await component(text)));
  return { kind, message };
}

function repeated(count: number, of: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => of(index)).join(' ');
}

/** Grows each of the tables as far as it goes and gives how many entries they have together. */
function growing(tables: number): string {
  const grow = (index: number): string =>
    `(loop $l${index} (br_if $l${index} (i32.ne (table.grow $t${index} (ref.null func) (i32.const 1000)) (i32.const -1))))`;
  return `${repeated(tables, grow)} i32.const 0 ${repeated(tables, (index) => `table.size $t${index} i32.add`)}`;
}

describe('the memory cap', () => {
  it('counts all entries of tables together as memory', async () => {
    const tables = repeated(8, (index) => `(table $t${index} 0 10000000 funcref)`);
    const entries = (await ask(await component(answering(growing(8), tables)))) as number;
    expect(entries).toBeGreaterThan(0);
    expect(entries * 64).toBeLessThan((32 * megabyte) / 8);
  });

  it('counts a table by its elements, up to its declared size', async () => {
    const fields = `(table $t 1 funcref) (elem $e funcref ${'(ref.null func) '.repeat(1000)})`;
    const overflow = 'i32.const 0 i32.const 0 i32.const 1000 table.init $t $e i32.const 1';
    expect((await faultOf(ask(await component(answering(overflow, fields))))).kind).toBe('trap');
  });

  it('stops a component that declares tables of more entries than its memory holds', async () => {
    expect(
      await refusal(
        answering(
          'i32.const 1',
          repeated(8, () => '(table 10000000 funcref)'),
        ),
      ),
    ).toEqual({
      kind: 'unavailable',
      message: 'the component cannot start: it needs 5000000 KiB of memory and may have 32768 KiB',
    });
  });

  it('stops a component whose tables and memories are too much together only', async () => {
    expect(await refusal(answering('i32.const 1', '(memory 300) (table 300000 funcref)'))).toEqual({
      kind: 'unavailable',
      message: 'the component cannot start: it needs 37950 KiB of memory and may have 32768 KiB',
    });
  });

  it('counts a table of a module that is made twice once', async () => {
    const text = `
      (core module $module (table 10 funcref) (func (export "ask") (result i32) i32.const 1))
      (core instance $one (instantiate $module))
      (core instance $two (instantiate $module))
      ${exporting('$two')}`;
    expect((await refusal(text)).message).toContain('into more than one instance');
  });

  it('leaves the number of its instances alone', async () => {
    const text = `
      (component $many
        (core module $module (func (export "ask") (result i32) i32.const 1))
        ${repeated(600, (index) => `(core instance $i${index} (instantiate $module))`)}
        ${exporting('$i7')})
      (instance $one (instantiate $many))
      (instance $two (instantiate $many))
      (export "probe:it/answer@1.0.0" (instance $two "probe:it/answer@1.0.0"))`;
    expect(await refusal(text)).toEqual({
      kind: 'unavailable',
      message: 'the component cannot start: it makes more than 1000 instances of its modules',
    });
  });

  it.each([
    ['structs', '(type $s (struct (field i32)))'],
    ['arrays', '(type $a (array (mut i32)))'],
  ])('has no case for %s of the engine: svc does not offer them', async (_, type) => {
    expect((await refusal(answering('i32.const 1', type))).kind).toBe('unavailable');
  });
});

/** Sets a header, whose name is so many bytes long, to `count` values that are all the same `bytes` of the guest's memory, and gives 1. */
function settingOneHeader(nameBytes: number, count: number, bytes: number): string {
  return `
      (import "wasi:http/types@0.2.0" (instance $types
        (export "fields" (type $fields (sub resource)))
        (type $error' (variant (case "invalid-syntax") (case "forbidden") (case "immutable")))
        (export "header-error" (type $error (eq $error')))
        (type $value' (list u8))
        (export "field-value" (type $value (eq $value')))
        (export "[constructor]fields" (func (result (own $fields))))
        (export "[method]fields.set" (func (param "self" (borrow $fields)) (param "name" string)
          (param "value" (list $value)) (result (result (error $error)))))))
      (core module $memory (memory (export "memory") 480) (data (i32.const 0) "x"))
      (core instance $memory (instantiate $memory))
      (core func $new (canon lower (func $types "[constructor]fields")))
      (core func $set (canon lower (func $types "[method]fields.set") (memory (core memory $memory "memory"))))
      (core module $module
        (import "host" "memory" (memory 1))
        (import "host" "new" (func $new (result i32)))
        (import "host" "set" (func $set (param i32 i32 i32 i32 i32 i32)))
        (func (export "ask") (result i32) (local $at i32)
          (loop $fill
            (i32.store (i32.add (i32.const 1024) (i32.mul (local.get $at) (i32.const 8))) (i32.const 1000000))
            (i32.store (i32.add (i32.const 1028) (i32.mul (local.get $at) (i32.const 8))) (i32.const ${bytes}))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (br_if $fill (i32.lt_u (local.get $at) (i32.const ${count}))))
          (memory.fill (i32.const 1000000) (i32.const 97) (i32.const ${bytes}))
          (call $set (call $new) (i32.const 0) (i32.const ${nameBytes}) (i32.const 1024) (i32.const ${count}) (i32.const 512))
          i32.const 1))
      (core instance $instance (instantiate $module (with "host" (instance
        (export "memory" (memory $memory "memory")) (export "new" (func $new)) (export "set" (func $set))))))
      ${exporting('$instance')}`;
}

/** Gives 2,000 lists that are all the same 50 items of a type, which begin with bytes that say 1. */
function givingLists(item: string): string {
  return `
      (core module $module (memory (export "memory") 3)
        (func (export "ask") (result i32) (local $at i32)
          (loop $fill
            (i32.store (i32.add (i32.const 16) (i32.mul (local.get $at) (i32.const 8))) (i32.const 65536))
            (i32.store (i32.add (i32.const 20) (i32.mul (local.get $at) (i32.const 8))) (i32.const 50))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (br_if $fill (i32.lt_u (local.get $at) (i32.const 2000))))
          (memory.fill (i32.const 65536) (i32.const 1) (i32.const 100000))
          (i32.store (i32.const 0) (i32.const 16))
          (i32.store (i32.const 4) (i32.const 2000))
          i32.const 0))
      (core instance $instance (instantiate $module))
      (type $lists (list (list ${item})))
      (func $ask (result $lists)
        (canon lift (core func $instance "ask") (memory (core memory $instance "memory"))))
      (instance $answer (export "ask" (func $ask)))
      (export "probe:it/answer@1.0.0" (instance $answer))`;
}

describe('what a component hands over in one call', () => {
  it.each([
    ['numbers', `(tuple ${repeated(100, () => 'u64')})`],
    ['bytes', `(tuple ${repeated(200, () => 'u8')})`],
    ['variants', `${repeated(60, () => '(option')} u8 ${repeated(60, () => ')')}`],
  ])('counts by all the %s that are in the items of its lists', async (_, item) => {
    const { kind, message } = await faultOf(ask(await component(givingLists(item))));
    expect({ kind, message }).toEqual({
      kind: 'memory',
      message: expect.stringContaining('made the host keep more for it than its limit on memory'),
    });
  });

  it('counts before it is copied, also where one range of memory is named many times', async () => {
    // A header without a name is refused, so nothing of this is kept: it is enough that it was copied.
    const greedy = await component(settingOneHeader(0, 16, 22 * megabyte));
    expect((await faultOf(ask(greedy))).kind).toBe('memory');
  });

  it('may be nearly all of its memory, call after call', async () => {
    const modest = await component(settingOneHeader(0, 1, 22 * megabyte));
    for (const _ of [1, 2, 3]) expect(await ask(modest)).toBe(1);
  });
});

describe('a component whose process ends', () => {
  it('has used up its memory when it made the host hold more values than that, and the next call gets a fresh one', async () => {
    const greedy = await component(settingOneHeader(1, 4_000, 8 * megabyte));
    for (const _ of ['first', 'second']) expect((await faultOf(ask(greedy))).kind).toBe('memory');
  });
});
