/** The process that compiles one component: it reads the bytes, answers and ends. */

import { $init, generate } from '@bytecodealliance/jco-transpile/component';
import { receive, sendLast } from '../channel.ts';
import { MalformedWasm } from '../core-module.ts';
import { allowExtendedConst } from '../extended-const.ts';
import { buildForWasi02, refusedVersions } from '../refused-interfaces.ts';
import type { CompilerAnswer } from './transpiled-component.ts';
import { harmfulName, strippedComponent } from './harmless-component.ts';
import { glueScript } from './glue-script.ts';
import { interfaceNames } from './interface-names.ts';

const name = 'component';
const decoder = new TextDecoder();

function transpile(component: Uint8Array): CompilerAnswer {
  const interfaces = interfaceNames(component);
  const refusal = refusedVersions({ imports: interfaces, exports: [] });
  if (refusal !== null) return { kind: 'refused', ...refusal };
  const { files, imports } = generate(strippedComponent(component), {
    name,
    noTypescript: true,
    instantiation: { tag: 'sync' },
    importBindings: { tag: 'js' },
    base64Cutoff: 0,
    noComponentErrorWrapping: true,
    noNodejsCompat: true,
  });
  const glue = files.find(([file]) => file === `${name}.js`);
  if (glue === undefined) throw new Error('the compiler wrote no module');
  const modules = files.filter(([file]) => file.endsWith('.wasm')).map(([file, bytes]) => ({ name: file, bytes }));
  const harmful = modules.map(({ bytes }) => harmfulName(bytes)).find((name) => name !== null);
  if (harmful !== undefined) {
    return { kind: 'refused', reason: `a core module uses the name ${JSON.stringify(harmful.slice(0, 100))}` };
  }
  const text = decoder.decode(glue[1]);
  if (asyncFunction.test(text)) return refusedAsync;
  return { kind: 'transpiled', imports, interfaces, glue: glueScript(text), modules };
}

/** What the compiler writes for a function of a component, or one that it imports, whose type is async. */
const asyncFunction = /\b(?:isAsync|funcTypeIsAsync): true,/;

/** The host calls a component and waits: what goes on later has no place to come back to. */
const refusedAsync: CompilerAnswer = {
  kind: 'refused',
  reason: 'it has async functions, which are of WASI 0.3, and this svc has WASI 0.2',
  hint: buildForWasi02,
};

/** The compiler throws what is wrong with a component as `payload`. */
function answer(component: Uint8Array): CompilerAnswer {
  try {
    return transpile(component);
  } catch (error) {
    if (error instanceof Error && 'payload' in error && typeof error.payload === 'string') {
      return /`async`/.test(error.payload) ? refusedAsync : { kind: 'refused', reason: error.payload };
    }
    if (error instanceof MalformedWasm || error instanceof WebAssembly.CompileError) {
      return { kind: 'refused', reason: error.message };
    }
    throw error;
  }
}

allowExtendedConst();
await $init;
sendLast(answer(receive() as Uint8Array));
