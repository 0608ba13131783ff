/** The process that one component runs in: it links the instance and answers its calls, one after another. */

import { closeSync } from 'node:fs';
import { inheritedDescriptors } from '@svc/kit/files/inherited-descriptors.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import { readCode, readSeen } from '../compiler/read-transpiled.ts';
import type { TranspiledComponent } from '../compiler/transpiled-component.ts';
import { type GuestMessage, type HostMessage, type LoadMessage, outputFunction } from '../exchange.ts';
import { firstGivenDescriptor } from '../message-bytes.ts';
import { withoutVersion } from '../interface-versions.ts';
import { engineWords } from './engine-words.ts';
import { beginChanging } from './filesystem/decided-changes.ts';
import { compileModules, type LinkedInstance, type LinkedModule, linkInstance } from './linked-instance.ts';
import { Mailbox } from './mailbox.ts';
import { ImportPlayer } from './imports/played-imports.ts';
import { ImportRecorder } from './imports/recorded-imports.ts';
import { offeredImports } from './offered-imports.ts';
import type { Imports } from './named-imports.ts';
import { sockets } from './sockets.ts';
import { OutputTail } from './streams.ts';
import { beginHandingOver, limitMemory } from './retained.ts';
import { valueSize, ValueTooLarge } from '../value-size.ts';
import { camelCase } from './runtime-imports.ts';

type Call = Extract<HostMessage, { readonly kind: 'call' }>;
type Function = (...args: readonly unknown[]) => unknown;

/** The process of one component instance: makes it, then answers its calls one after another until it is ended from outside. */
function main(): void {
  const mailbox = new Mailbox();
  // In a function of its own: what only the start needs is not held any more once it has returned.
  serve(mailbox, started(mailbox));
}

function started(mailbox: Mailbox): Served {
  const loaded = load(mailbox);
  mailbox.send({ kind: 'compiled' });
  const { message } = loaded;
  // The session may be busy: only a log is waited for.
  const played = message.mode.kind === 'played' ? expected(mailbox.next(), 'link').log : undefined;
  const output = outputOf(message, mailbox);
  limitMemory({ maxBytes: message.maxMemoryBytes, onSpent: () => mailbox.end(spent) });
  const log = logOf(message, mailbox, output);
  log.load(played);
  const instance = orEnd(mailbox, () => makeInstance(mailbox, loaded, { output, log }));
  mailbox.send({ kind: 'ready' });
  return { instance, output, log };
}

interface Loaded extends Pick<TranspiledComponent, 'glue' | 'imports'> {
  readonly message: LoadMessage;
  readonly modules: readonly LinkedModule[];
}

/** Reads the component; nothing of it runs yet. */
function load(mailbox: Mailbox): Loaded {
  for (;;) {
    const message = expected(mailbox.next(), 'load');
    closeOthers(message);
    const { compiled, maxMemoryBytes } = message;
    const component = compiled.kind === 'file' ? readSeen(compiled.seen) : compiled.component;
    if (component !== null) {
      const { glue, imports } = component;
      const modules = orEnd(mailbox, () => compileModules(component.modules, maxMemoryBytes));
      return { message, glue, imports, modules };
    }
    mailbox.send({ kind: 'unread' });
  }
}

const spent: GuestMessage = {
  kind: 'trapped',
  fault: 'memory',
  message: 'the component made the host keep more for it than its limit on memory allows',
};

function expected<Kind extends HostMessage['kind']>(
  message: HostMessage,
  kind: Kind,
): Extract<HostMessage, { readonly kind: Kind }> {
  if (message.kind !== kind) throw new Error(`expected ${kind} and received ${message.kind}`);
  return message as Extract<HostMessage, { readonly kind: Kind }>;
}

/** What the session itself was started with open is nothing to a component. */
function closeOthers({ directories }: LoadMessage): void {
  const own = firstGivenDescriptor + directories.filter(({ place }) => typeof place === 'number').length;
  for (const descriptor of inheritedDescriptors()) if (descriptor >= own) closeSync(descriptor);
}

/** Whatever is thrown here is about the component: it cannot be used. */
function orEnd<Result>(mailbox: Mailbox, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    return mailbox.end({ kind: 'unusable', reason: errorText(error) });
  }
}

function outputOf({ tellsOutput }: LoadMessage, mailbox: Mailbox): OutputTail {
  if (!tellsOutput) return new OutputTail();
  return new OutputTail((bytes) => mailbox.post(outputFunction, [bytes]));
}

function makeInstance(
  mailbox: Mailbox,
  { message, imports, ...linked }: Loaded,
  { output, log }: Pick<Served, 'output' | 'log'>,
): LinkedInstance {
  const { directories, env, seed, maxMemoryBytes, codePath, asksChanges } = message;
  const namesSockets = imports.some((name) => name.startsWith('wasi:sockets/'));
  const offered = {
    ...offeredImports(mailbox, { directories, env, seed, output, asksChanges }),
    ...(namesSockets ? sockets() : {}),
  };
  return linkInstance({ ...linked, maxMemoryBytes, codeCache: readCode(codePath) }, log.through(offered));
}

/** What is done with the answers of imports. */
interface CallLog {
  through(imports: Imports): Imports;
  /** Begins to play a log, where there is one. */
  load(log: string | undefined): void;
  /** What the message of the end of a call says of it. */
  end(): { readonly log?: string | null };
}

function logOf({ mode }: LoadMessage, mailbox: Mailbox, output: OutputTail): CallLog {
  switch (mode.kind) {
    case 'live':
      return { through: (imports) => imports, load: () => {}, end: () => ({}) };
    case 'recorded': {
      const recorder = new ImportRecorder(mode.maxBytes);
      return {
        through: (imports) => recorder.recorded(imports),
        load: () => {},
        end: () => ({ log: recorder.take() }),
      };
    }
    case 'played': {
      const sink = output.sink();
      const player = new ImportPlayer(
        (departure) => mailbox.end({ kind: 'parted', ...departure }),
        (bytes) => sink.write(bytes),
      );
      return {
        through: (imports) => player.played(imports),
        load: (log) => (log === undefined ? undefined : player.load(log)),
        end: () => {
          player.finish();
          return {};
        },
      };
    }
  }
}

interface Served {
  readonly instance: LinkedInstance;
  readonly output: OutputTail;
  readonly log: CallLog;
}

function serve(mailbox: Mailbox, { instance, output, log }: Served): void {
  let codeIsKept = instance.codeCacheUsed;
  for (;;) {
    const call = expected(mailbox.next(), 'call');
    output.clear();
    log.load(call.log);
    const end = run(call, { instance, output, log });
    // Before the answer: a session may be over with it.
    if (!codeIsKept && end.kind === 'returned') {
      codeIsKept = true;
      mailbox.send({ kind: 'code-cache', data: instance.codeCache() });
    }
    mailbox.send(end);
  }
}

function run(call: Call, { instance, output, log }: Served): GuestMessage {
  const callee = exported(instance, call);
  if (callee === null) {
    const message = `it does not export ${call.interface}#${call.function}`;
    return { kind: 'trapped', fault: 'unavailable', message };
  }
  beginHandingOver();
  beginChanging();
  try {
    const value = valueOf(() => callee(...call.args));
    valueSize(value);
    return { kind: 'returned', value, ...log.end() };
  } catch (error) {
    return { ...faultOf(error as Error, call.interface, { instance, output }), ...log.end() };
  }
}

/** The compiler's code throws the error of a WIT result as the plain value it is, and everything else as an Error. */
function valueOf(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    if (error instanceof Error) throw error;
    return { tag: 'err', val: error };
  }
}

function exported({ exports }: LinkedInstance, { interface: name, function: member }: Call): Function | null {
  const callee = own(own(exports, exportedAs(exports, name)), camelCase(member));
  return typeof callee === 'function' ? (callee as Function) : null;
}

/** The name under which a component exports an interface: a guest of another age gives it another version. */
function exportedAs(exports: LinkedInstance['exports'], wanted: string): string {
  if (Object.hasOwn(exports, wanted)) return wanted;
  return Object.keys(exports).find((name) => withoutVersion(name) === withoutVersion(wanted)) ?? wanted;
}

/** A property of the object itself: what every object inherits is no export. */
function own(object: unknown, name: string): unknown {
  if (typeof object !== 'object' || object === null || !Object.hasOwn(object, name)) return undefined;
  return (object as Readonly<Record<string, unknown>>)[name];
}

const shownLines = 12;
const shownCharacters = 2_000;

/** What guests and the engine say when memory is what they lack. */
const memoryWords =
  /out of memory|memory allocation|allocation failed|cannot allocate|heap limit|Array buffer allocation/i;

/** What ended a call: the error of the engine or host, and the end of what the guest had written. */
function faultOf(
  error: Error,
  interfaceName: string,
  { instance, output }: Pick<Served, 'instance' | 'output'>,
): GuestMessage {
  const lines = output.lastLines(shownLines);
  const said = lines === '' ? errorText(error) : `${errorText(error)}\n${lines}`;
  const message = shortened(engineWords(lines, interfaceName) ?? said, shownCharacters);
  return { kind: 'trapped', fault: lacksMemory(error, said, instance) ? 'memory' : 'trap', message };
}

function lacksMemory(error: Error, said: string, instance: LinkedInstance): boolean {
  if (error instanceof ValueTooLarge) return false;
  return memoryWords.test(said) || instance.memoryIsFull();
}

/** An error in words. Whatever a guest puts into it is cut to a bounded length. */
function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text === '' ? 'it ended without a message' : shortened(text, shownCharacters);
}

main();
