import { crc32, deflateRawSync } from 'node:zlib';

/** One entry as its bytes are to be, right or wrong; what is not said is what an honest writer would put there. */
export interface RawEntry {
  readonly name: string | Buffer;
  readonly data?: Buffer;
  readonly deflate?: boolean;
  readonly method?: number;
  readonly flags?: number;
  readonly crc?: number;
  readonly size?: number;
  /** The name in the local header, if it is to differ. */
  readonly localName?: string;
  readonly localSize?: number;
  /** Unix mode with file type, in the upper half of the external attributes. */
  readonly mode?: number;
  /** The lower half of the external attributes. */
  readonly dosAttributes?: number;
  readonly extra?: Buffer;
  /** Points the directory at another place than the entry's own header. */
  readonly offset?: number;
}

export const fileMode = 0o100644;
export const linkMode = 0o120777;

/** The bytes of a zip archive, with every lie that the entries ask for. */
export function zipBytes(entries: readonly RawEntry[], end: { readonly entryCount?: number } = {}): Buffer {
  const local: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const parts = encode(entry, offset);
    local.push(parts.local);
    directory.push(parts.central);
    offset += parts.local.length;
  }
  const central = Buffer.concat(directory);
  const record = Buffer.alloc(22);
  record.writeUInt32LE(0x06054b50, 0);
  record.writeUInt16LE(end.entryCount ?? entries.length, 8);
  record.writeUInt16LE(end.entryCount ?? entries.length, 10);
  record.writeUInt32LE(central.length, 12);
  record.writeUInt32LE(offset, 16);
  return Buffer.concat([...local, central, record]);
}

function encode(entry: RawEntry, at: number): { readonly local: Buffer; readonly central: Buffer } {
  const data = entry.data ?? Buffer.alloc(0);
  const packed = entry.deflate === true ? deflateRawSync(data) : data;
  const name = Buffer.from(entry.name);
  const localName = Buffer.from(entry.localName ?? name);
  const extra = entry.extra ?? Buffer.alloc(0);
  const size = entry.size ?? data.length;

  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(entry.flags ?? 0x800, 2);
  fields.writeUInt16LE(entry.method ?? (entry.deflate === true ? 8 : 0), 4);
  fields.writeUInt16LE(0, 6);
  fields.writeUInt16LE(0x21, 8);
  fields.writeUInt32LE(entry.crc ?? crc32(data), 10);
  fields.writeUInt32LE(packed.length, 14);
  fields.writeUInt32LE(size, 18);
  fields.writeUInt16LE(name.length, 22);
  fields.writeUInt16LE(extra.length, 24);

  const localFields = Buffer.from(fields);
  localFields.writeUInt32LE(entry.localSize ?? size, 18);
  localFields.writeUInt16LE(localName.length, 22);
  localFields.writeUInt16LE(0, 24);

  const tail = Buffer.alloc(14);
  tail.writeUInt16LE(entry.dosAttributes ?? 0, 6);
  tail.writeUInt16LE(entry.mode ?? fileMode, 8);
  tail.writeUInt32LE(entry.offset ?? at, 10);
  return {
    local: Buffer.concat([signature(0x04034b50), localFields, localName, packed]),
    central: Buffer.concat([signature(0x02014b50), Buffer.from([20, 3]), fields, tail, name, extra]),
  };
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value, 0);
  return bytes;
}
