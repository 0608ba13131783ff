/** Makes a tool as the compilers of other languages do. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { componentEmbed, componentNew, parse } from '@bytecodealliance/jco-transpile/wasm-tools';

const interfaceFile = fileURLToPath(new URL('../../packages/guest/wit/deps/svc-tool/tool.wit', import.meta.url));

/** What other languages' compilers make: a core module whose exports are named after the interface. It answers with its arguments. */
const echoing = `(module
  (memory (export "memory") 4)
  (global $free (mut i32) (i32.const 1024))
  (func (export "cabi_realloc") (param $old i32) (param $size i32) (param $align i32) (param $wanted i32) (result i32)
    (local $at i32)
    (local.set $at
      (i32.and
        (i32.add (global.get $free) (i32.sub (local.get $align) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get $align))))
    (global.set $free (i32.add (local.get $at) (local.get $wanted)))
    (local.get $at))
  (func (export "svc:tool/run@0.1.0#run")
    (param $text i32) (param $length i32) (param $has i32) (param $id i32) (param $idLength i32) (result i32)
    (i32.store8 (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (local.get $text))
    (i32.store (i32.const 24) (local.get $length))
    (i32.store8 (i32.const 28) (i32.const 0))
    (i32.const 16)))`;

/** A tool that wasm-tools has made a component of: nothing of ours but the interface is in it. */
export async function foreignTool(): Promise<Uint8Array> {
  const binary = await parse(echoing);
  const ours = readFileSync(interfaceFile, 'utf8').replace('package svc:tool@0.1.0;', 'package svc:tool@0.1.0 {');
  const witSource = `package other:grep@2.0.1;\nworld grep { export svc:tool/run@0.1.0; }\n${ours}}\n`;
  return await componentNew(await componentEmbed({ binary, witSource, world: 'grep' }), []);
}

/** A component of the same making that is no tool. */
export async function foreignGreeter(): Promise<Uint8Array> {
  const binary = await parse('(module (func (export "other:hello/greet@1.0.0#greet")))');
  const witSource = `package other:hello@1.0.0;
    interface greet { greet: func(); }
    world greeter { export greet; }`;
  return await componentNew(await componentEmbed({ binary, witSource, world: 'greeter' }), []);
}
