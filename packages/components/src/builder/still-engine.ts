// Finds the engine of guests in the native addon of componentize-qjs, and makes it repeatable: what it asks its host while a component is built is
// answered the same everywhere.
import { encodeUnsigned, MalformedWasm, WasmReader } from '../core-module.ts';

const magic = Buffer.from('\0asm\x01\0\0\0', 'latin1');
const smallest = 100_000;
const lastSection = 13;

/**
 * The engine without the intrinsics of async tasks that was made for size: what componentize-qjs takes for `sync` and `optSize`. Throws when the
 * addon does not hold two engines without those intrinsics, one for speed and one for size.
 */
export function embeddedEngine(addon: Buffer): Buffer {
  const found: Buffer[] = [];
  for (let start = addon.indexOf(magic); start !== -1; start = addon.indexOf(magic, start + 1)) {
    const engine = addon.subarray(start, endOfModule(addon, start));
    if (engine.length < smallest) continue;
    const imports = engine.toString('latin1', 0, 20_000);
    if (imports.includes('local:init/module-loader') && !imports.includes('[task-cancel]')) found.push(engine);
  }
  if (found.length !== 2) throw new Error(`the addon embeds ${found.length} engines without async tasks, not 2`);
  const [one, other] = found as [Buffer, Buffer];
  return one.length < other.length ? one : other;
}

/** Where the sections of a module end and something else begins. */
function endOfModule(addon: Buffer, start: number): number {
  const reader = new WasmReader(addon, start + magic.length);
  let end = reader.at;
  try {
    while (!reader.done) {
      const id = reader.byte();
      const length = reader.count();
      const body = reader.take(length);
      if (id > lastSection || length === 0 || (id === 0 && !isNamed(body))) break;
      end = reader.at;
    }
  } catch (error) {
    if (!(error instanceof MalformedWasm)) throw error;
  }
  return end;
}

/** A custom section begins with its name. */
function isNamed(body: Uint8Array): boolean {
  const reader = new WasmReader(body);
  const name = Buffer.from(reader.take(reader.count())).toString('latin1');
  return /^[\x20-\x7e]+$/.test(name);
}

const section = { type: 1, import: 2, function: 3, global: 6, export: 7, code: 10 } as const;

/** What the engine asks before its snapshot is taken, and so what differs from build to build. */
const asked = {
  seed: /^wasi:random\/insecure-seed@[^#]*#insecure-seed$/,
  monotonic: /^wasi:clocks\/monotonic-clock@[^#]*#now$/,
  wall: /^wasi:clocks\/wall-clock@[^#]*#now$/,
} as const;

/** 1980-01-01 in seconds: the time of the entries of an archive. */
const stillSeconds = 315_532_800;

const i64 = 0x7e;
const i32 = 0x7f;
const noResult = 0x40;

/**
 * The core module of an engine whose clocks stand (at 1980-01-01, at 0 ns) and whose seed is 0 until its export `init` has returned:
 * that is when a component is built. Afterwards the host answers again. Each call of one of the three imports is sent to a new function, which looks
 * at a new global. Throws `MalformedWasm` for what is not the engine that this was written for.
 */
export function stillEngine(bytes: Uint8Array): Buffer {
  const sections = readSections(bytes);
  const types = readTypes(bodyOf(sections, section.type));
  const imports = readImports(bodyOf(sections, section.import));
  const declared = readVector(bodyOf(sections, section.function), (reader) => reader.count());
  const globals = bodyOf(sections, section.global);
  const globalCount = globals.count();
  const exported = readVector(bodyOf(sections, section.export), readExport);

  const [seed, monotonic, wall] = [asked.seed, asked.monotonic, asked.wall].map((name) => onlyImport(imports, name));
  const init = only(
    exported.filter(({ name, kind }) => name === 'init' && kind === 0),
    'its init is exported',
  );
  const initType = declared[init.index - imports.functions.length];
  const initParameters = initType === undefined ? undefined : types[initType];
  if (!seed || !monotonic || !wall || initType === undefined || initParameters === undefined) {
    throw new MalformedWasm('its init is not a function of its own');
  }

  const firstNew = imports.functions.length + declared.length;
  const isBuilt = encode(imports.globals + globalCount);
  const afterBuild = (result: number, real: readonly number[], still: readonly number[]): number[] =>
    [0x23, isBuilt, 0x04, result, real, 0x05, still, 0x0b, 0x0b].flat();
  const added = [
    { type: seed.type, code: afterBuild(noResult, forwardCall(1, seed.index), [...store64(0, 0), ...store64(0, 8)]) },
    { type: monotonic.type, code: afterBuild(i64, forwardCall(0, monotonic.index), [0x42, 0]) },
    {
      type: wall.type,
      code: afterBuild(noResult, forwardCall(1, wall.index), [...store64(stillSeconds, 0), ...store32(0, 8)]),
    },
    { type: initType, code: [...forwardCall(initParameters, init.index), 0x41, 1, 0x24, ...isBuilt, 0x0b] },
  ];
  const redirected = new Map([seed, monotonic, wall].map(({ index }, at) => [index, firstNew + at]));
  const code = readVector(bodyOf(sections, section.code), (reader) => Buffer.from(reader.take(reader.count())));
  const calls = new Map<number, number>();
  const redirectedCode = code.map((body) => redirectCalls(body, redirected, calls));
  for (const [index] of redirected) {
    if (!calls.has(index)) throw new MalformedWasm('it never asks for one of the clocks or the seed that it imports');
  }

  const replaced = new Map<number, Uint8Array>([
    [section.function, vector([...declared, ...added.map(({ type }) => type)].map(encode))],
    [
      section.global,
      Buffer.concat([Buffer.from(encode(globalCount + 1)), globals.rest(), Buffer.from([i32, 1, 0x41, 0, 0x0b])]),
    ],
    [section.export, vector(exported.map((entry) => encodeExport(entry, entry === init ? firstNew + 3 : entry.index)))],
    // A body is its size, its groups of locals (none) and its instructions.
    [section.code, vector([...redirectedCode, ...added.map(({ code: body }) => Buffer.from([0, ...body]))].map(sized))],
  ]);
  const rewritten = sections.map(({ id, body }) => [Buffer.from([id]), sized(replaced.get(id) ?? body)]);
  return Buffer.concat([bytes.subarray(0, 8), ...rewritten.flat()]);
}

interface Section {
  readonly id: number;
  readonly body: Uint8Array;
}

function readSections(bytes: Uint8Array): Section[] {
  const reader = new WasmReader(bytes);
  if (Buffer.from(reader.take(8)).toString('latin1') !== '\0asm\x01\0\0\0') {
    throw new MalformedWasm('it does not start as a core module');
  }
  const sections: Section[] = [];
  while (!reader.done) sections.push({ id: reader.byte(), body: reader.take(reader.count()) });
  return sections;
}

/** A reader that can give what it has not read yet. */
class BodyReader extends WasmReader {
  rest(): Uint8Array {
    return this.bytes.subarray(this.at);
  }
}

function bodyOf(sections: readonly Section[], id: number): BodyReader {
  const { body } = only(
    sections.filter((one) => one.id === id),
    `its section ${id} is there`,
  );
  return new BodyReader(body);
}

function only<T>(found: readonly T[], what: string): T {
  const [one] = found;
  if (one === undefined || found.length > 1) throw new MalformedWasm(`${what} ${found.length} times, not once`);
  return one;
}

function readVector<T>(reader: WasmReader, read: (reader: WasmReader) => T): T[] {
  const items: T[] = [];
  for (let left = reader.count(); left > 0; left -= 1) items.push(read(reader));
  return items;
}

/** The number of parameters of each type. */
function readTypes(reader: WasmReader): number[] {
  return readVector(reader, (types) => {
    if (types.byte() !== 0x60) throw new MalformedWasm('a type is not that of a function');
    const parameters = types.take(types.count()).length;
    types.take(types.count());
    return parameters;
  });
}

interface ImportedFunction {
  /** `<module>#<field>` */
  readonly name: string;
  readonly index: number;
  readonly type: number;
}

interface Imports {
  readonly functions: readonly ImportedFunction[];
  readonly globals: number;
}

function readImports(reader: WasmReader): Imports {
  const functions: ImportedFunction[] = [];
  let globals = 0;
  readVector(reader, (imports) => {
    const name = `${readName(imports)}#${readName(imports)}`;
    const kind = imports.byte();
    if (kind === 0) functions.push({ name, index: functions.length, type: imports.count() });
    else if (kind === 1 || kind === 2) readLimits(imports, kind);
    else if (kind === 3) globals += imports.take(2).length / 2;
    else throw new MalformedWasm(`it imports something of the unknown kind ${kind}`);
  });
  return { functions, globals };
}

/** Reads the limits of a table or of a memory. The limits of a table follow the type of its elements. */
function readLimits(reader: WasmReader, kind: 1 | 2): void {
  if (kind === 1) reader.byte();
  const hasMaximum = (reader.byte() & 1) === 1;
  reader.count();
  if (hasMaximum) reader.count();
}

function onlyImport({ functions }: Imports, name: RegExp): ImportedFunction {
  return only(
    functions.filter((one) => name.test(one.name)),
    `${name.source} is imported`,
  );
}

interface Export {
  readonly name: string;
  readonly kind: number;
  readonly index: number;
}

function readExport(reader: WasmReader): Export {
  return { name: readName(reader), kind: reader.byte(), index: reader.count() };
}

function encodeExport({ name, kind }: Export, index: number): Buffer {
  return Buffer.concat([sized(Buffer.from(name)), Buffer.from([kind, ...encode(index)])]);
}

function readName(reader: WasmReader): string {
  return Buffer.from(reader.take(reader.count())).toString();
}

/**
 * The body with the calls of some functions sent to others. Every instruction is read, since an operand may look like a call; `calls`
 * counts what was redirected. A reference to a function is refused with the unknown: the engine has none.
 */
function redirectCalls(body: Buffer, redirected: ReadonlyMap<number, number>, calls: Map<number, number>): Buffer {
  const reader = new WasmReader(body);
  const pieces: Buffer[] = [];
  let kept = 0;
  readVector(reader, (groups) => [groups.count(), groups.byte()]);
  while (!reader.done) {
    const start = reader.at;
    const instruction = reader.byte();
    if (!callInstructions.has(instruction)) {
      skipOperands(reader, instruction);
      continue;
    }
    const callee = reader.count();
    const target = redirected.get(callee);
    if (target === undefined) continue;
    calls.set(callee, (calls.get(callee) ?? 0) + 1);
    pieces.push(body.subarray(kept, start), Buffer.from([instruction, ...encode(target)]));
    kept = reader.at;
  }
  return Buffer.concat([...pieces, body.subarray(kept)]);
}

/** A call and a tail call of the function that the operand names. */
const callInstructions = new Set([0x10, 0x12]);
/** One LEB128 operand: blocks, branches, locals, globals, tables, `memory.size` and `memory.grow`, integer constants, `ref.null`. */
const oneOperand = (instruction: number): boolean =>
  [0x02, 0x03, 0x04, 0x0c, 0x0d, 0x3f, 0x40, 0x41, 0x42, 0xd0].includes(instruction) ||
  (instruction >= 0x20 && instruction <= 0x26);
/** None: control, `drop` and `select`, everything numeric, `ref.is_null`. */
const noOperand = (instruction: number): boolean =>
  [0x00, 0x01, 0x05, 0x0b, 0x0f, 0x1a, 0x1b, 0xd1].includes(instruction) ||
  (instruction >= 0x45 && instruction <= 0xc4);

function skipOperands(reader: WasmReader, instruction: number): void {
  if (noOperand(instruction)) return;
  if (oneOperand(instruction)) skipNumbers(reader, 1);
  // call_indirect; loads and stores
  else if (instruction === 0x11 || (instruction >= 0x28 && instruction <= 0x3e)) skipNumbers(reader, 2);
  else if (instruction === 0x0e) skipNumbers(reader, reader.count() + 1);
  else if (instruction === 0x1c) reader.take(reader.count());
  else if (instruction === 0x43) reader.take(4);
  else if (instruction === 0x44) reader.take(8);
  else if (instruction === 0xfc) skipNumbers(reader, operandsOfBulk(reader.count()));
  else throw new MalformedWasm(`it has the unknown instruction 0x${instruction.toString(16)}`);
}

/** Saturating conversions have none, what names two things (a segment and a memory, two memories, two tables) two. */
function operandsOfBulk(instruction: number): number {
  if (instruction > 17) throw new MalformedWasm(`it has the unknown instruction 0xfc ${instruction}`);
  if (instruction < 8) return 0;
  return [8, 10, 12, 14].includes(instruction) ? 2 : 1;
}

function skipNumbers(reader: WasmReader, count: number): void {
  for (let left = count; left > 0; left -= 1) while ((reader.byte() & 0x80) !== 0);
}

/** The instructions that call a function with the first parameters of this one. */
function forwardCall(parameters: number, index: number): number[] {
  return [...Array.from({ length: parameters }, (_, at) => [0x20, ...encode(at)]).flat(), 0x10, ...encode(index)];
}

/** Stores a constant where the first parameter points to, `offset` bytes on. */
function store64(value: number, offset: number): number[] {
  return [0x20, 0, 0x42, ...encodeSigned(value), 0x37, 3, offset];
}

function store32(value: number, offset: number): number[] {
  return [0x20, 0, 0x41, ...encodeSigned(value), 0x36, 2, offset];
}

function encode(value: number): number[] {
  return encodeUnsigned(BigInt(value));
}

/** For numbers from 0: the sign is the second highest bit of the last byte. */
function encodeSigned(value: number): number[] {
  const bytes = encode(value);
  const last = bytes.at(-1) ?? 0;
  return last < 0x40 ? bytes : [...bytes.slice(0, -1), last | 0x80, 0];
}

function sized(bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(encode(bytes.length)), bytes]);
}

function vector(items: readonly (readonly number[] | Uint8Array)[]): Buffer {
  return Buffer.concat([Buffer.from(encode(items.length)), ...items.map((item) => Buffer.from(item))]);
}
