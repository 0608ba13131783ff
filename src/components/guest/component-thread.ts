import { workerData } from 'node:worker_threads';

import { outputFunction, type GuestMessage, type HostMessage, type LoadMessage, type ThreadData } from '../exchange.ts';
import { errorText, faultOf } from './fault-of.ts';
import { type LinkedInstance, linkInstance } from './linked-instance.ts';
import { Mailbox } from './mailbox.ts';
import { offeredImports } from './offered-imports.ts';
import { OutputTail } from './output-tail.ts';
import { camelCase } from './runtime-imports.ts';
import { valueSize } from './value-size.ts';

type Call = Extract<HostMessage, { readonly kind: 'call' }>;
type Function = (...args: readonly unknown[]) => unknown;

/** The thread of one component instance: makes it, then answers its calls one after another until it is ended from outside. */
function main({ port, shared }: ThreadData): void {
  const mailbox = new Mailbox(port, new Int32Array(shared));
  const load = mailbox.next();
  if (load.kind !== 'load') throw new Error(`expected what to load and received ${load.kind}`);
  const output = outputOf(load, mailbox);
  const instance = makeInstance(mailbox, load, output);
  if (instance !== null) return serve(mailbox, { instance, output });
  // Ended from outside like every other: the end of a thread can be seen before the last thing it sent.
  mailbox.next();
}

function outputOf({ tellsOutput }: LoadMessage, mailbox: Mailbox): OutputTail {
  if (!tellsOutput) return new OutputTail();
  return new OutputTail((bytes) => mailbox.post(outputFunction, [bytes], bytes.byteLength));
}

function makeInstance(mailbox: Mailbox, load: LoadMessage, output: OutputTail): LinkedInstance | null {
  try {
    const imports = offeredImports(mailbox, { ...load, output });
    const unknown = load.imports.filter((name) => !Object.hasOwn(imports, name));
    if (unknown.length > 0) throw new Error(`it imports ${unknown.join(', ')}, which is not offered`);
    const instance = linkInstance(load, imports);
    mailbox.send({ kind: 'ready' });
    return instance;
  } catch (error) {
    mailbox.send({ kind: 'unusable', reason: errorText(error) });
    return null;
  }
}

function serve(
  mailbox: Mailbox,
  { instance, output }: { readonly instance: LinkedInstance; readonly output: OutputTail },
): void {
  let codeCacheSent = instance.codeCacheUsed;
  for (;;) {
    const message = mailbox.next();
    if (message.kind !== 'call') throw new Error(`expected a call and received ${message.kind}`);
    output.clear();
    mailbox.send(run(message, instance, output));
    if (codeCacheSent) continue;
    codeCacheSent = true;
    mailbox.send({ kind: 'code-cache', data: instance.codeCache() });
  }
}

function run(call: Call, instance: LinkedInstance, output: OutputTail): GuestMessage {
  const callee = exported(instance, call);
  if (callee === null) {
    const message = `it does not export ${call.interface}#${call.function}`;
    return { kind: 'trapped', fault: 'unavailable', message };
  }
  try {
    const value = callee(...call.args);
    valueSize(value);
    return { kind: 'returned', value };
  } catch (error) {
    // The compiler's code throws the error of a WIT result as the plain value it is, and everything else as an Error.
    return error instanceof Error
      ? faultOf(error, instance, output)
      : { kind: 'returned', value: { tag: 'err', val: error } };
  }
}

function exported({ exports }: LinkedInstance, { interface: name, function: member }: Call): Function | null {
  const callee = own(own(exports, name), camelCase(member));
  return typeof callee === 'function' ? (callee as Function) : null;
}

/** A property of the object itself: what every object inherits is no export. */
function own(object: unknown, name: string): unknown {
  if (typeof object !== 'object' || object === null || !Object.hasOwn(object, name)) return undefined;
  return (object as Readonly<Record<string, unknown>>)[name];
}

main(workerData as ThreadData);
