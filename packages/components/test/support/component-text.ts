import { parse } from '@bytecodealliance/jco-transpile/wasm-tools';

import type { ComponentSource } from '../../src/compiler/compile-cache.ts';
import { componentSource } from './fixture-component.ts';

/** A component written out in the text format. */
export async function componentText(text: string): Promise<ComponentSource> {
  return componentSource('written-out', await parse(`(component ${text})`));
}

/** Exports `probe:it/answer@1.0.0#ask: func() -> u32`, which runs `body`; `fields` stand before it in the module. */
export function answering(body: string, fields = ''): string {
  return `
    (core module $module ${fields} (func (export "ask") (result i32) ${body}))
    (core instance $instance (instantiate $module))
    ${exporting('$instance')}`;
}

/** Exports `ask` of a core instance. */
export function exporting(instance: string): string {
  return `
    (func $ask (result u32) (canon lift (core func ${instance} "ask")))
    (instance $answer (export "ask" (func $ask)))
    (export "probe:it/answer@1.0.0" (instance $answer))`;
}

/** Any text as the text format writes it. */
export function quoted(name: string): string {
  return `"${[...Buffer.from(name)].map((byte) => `\\${byte.toString(16).padStart(2, '0')}`).join('')}"`;
}

/**
 * A tool of the world `svc:tool/tool` whose every call runs `body` and passes with the text `done`; `fields` stand before it in the module.
 * Local 1 is the length of the arguments; `call $emit` emits a chunk.
 */
export function toolRunning(body: string, fields = ''): string {
  const chunks =
    '(import "svc:text/chunks@0.1.0" (instance $chunks (export "emit-chunk" (func (param "text" string)))))';
  return `
    ${chunks}
    (component $inner
    ${chunks}
    (core module $memory (memory (export "memory") 2)
      (data (i32.const 16) "\\00\\00\\00\\00\\40\\00\\00\\00\\04\\00\\00\\00\\00\\00\\00\\00")
      (data (i32.const 64) "done")
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024))
    (core instance $memory (instantiate $memory))
    (core func $emit (canon lower (func $chunks "emit-chunk") (memory (core memory $memory "memory"))))
    (core module $module
      (import "host" "emit" (func $text (param i32 i32)))
      ${fields}
      (func $emit (call $text (i32.const 64) (i32.const 4)))
      (func (export "run") (param i32 i32 i32 i32 i32) (result i32) ${body} i32.const 16))
    (core instance $instance (instantiate $module (with "host" (instance (export "emit" (func $emit))))))
    (type $input' (record (field "arguments" string) (field "call-id" (option string))))
    (export $input "input" (type $input'))
    (type $status' (enum "passed" "failed"))
    (export $status "status" (type $status'))
    (type $output' (record (field "status" $status) (field "content" string) (field "truncated" bool)))
    (export $output "output" (type $output'))
    (func $run (param "input" $input) (result $output)
      (canon lift (core func $instance "run") (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
    (export "run" (func $run)))
    (instance $tool (instantiate $inner (with "svc:text/chunks@0.1.0" (instance $chunks))))
    (export "svc:tool/run@0.1.0" (instance $tool))`;
}
