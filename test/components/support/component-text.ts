import { parse } from '@bytecodealliance/jco-transpile/wasm-tools';

import type { ComponentSource } from '../../../src/components/compiler/compile-cache.ts';
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
