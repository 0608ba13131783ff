/** How a field is shown as OTLP's JSON shows it. */
type Shape = 'hex' | 'text' | 'int' | 'nanoseconds' | 'double' | 'flag' | 'fixed32' | 'fixed64' | Message;
interface Field {
  readonly name: string;
  readonly shape: Shape;
  readonly isList?: true;
}
/** By the numbers of the fields of opentelemetry-proto. */
interface Message {
  readonly [number: number]: Field;
}

const one = (name: string, shape: Shape): Field => ({ name, shape });
const many = (name: string, shape: Shape): Field => ({ name, shape, isList: true });

const anyValue: Record<number, Field> = {
  1: one('stringValue', 'text'),
  2: one('boolValue', 'flag'),
  3: one('intValue', 'int'),
  4: one('doubleValue', 'double'),
};
anyValue[5] = one('arrayValue', { 1: many('values', anyValue) });
const keyValue = { 1: one('key', 'text'), 2: one('value', anyValue) };
const resource = { 1: many('attributes', keyValue), 2: one('droppedAttributesCount', 'int') };
const scope = { 1: one('name', 'text'), 2: one('version', 'text') };

const span = {
  1: one('traceId', 'hex'),
  2: one('spanId', 'hex'),
  3: one('traceState', 'text'),
  4: one('parentSpanId', 'hex'),
  5: one('name', 'text'),
  6: one('kind', 'int'),
  7: one('startTimeUnixNano', 'nanoseconds'),
  8: one('endTimeUnixNano', 'nanoseconds'),
  9: many('attributes', keyValue),
  10: one('droppedAttributesCount', 'int'),
  12: one('droppedEventsCount', 'int'),
  14: one('droppedLinksCount', 'int'),
  15: one('status', { 2: one('message', 'text'), 3: one('code', 'int') }),
  16: one('flags', 'fixed32'),
};

const logRecord = {
  1: one('timeUnixNano', 'nanoseconds'),
  2: one('severityNumber', 'int'),
  3: one('severityText', 'text'),
  5: one('body', anyValue),
  6: many('attributes', keyValue),
  7: one('droppedAttributesCount', 'int'),
  8: one('flags', 'fixed32'),
  9: one('traceId', 'hex'),
  10: one('spanId', 'hex'),
  11: one('observedTimeUnixNano', 'nanoseconds'),
  12: one('eventName', 'text'),
};

const times = { 2: one('startTimeUnixNano', 'nanoseconds'), 3: one('timeUnixNano', 'nanoseconds') };
const sumPoint = {
  ...times,
  4: one('asDouble', 'double'),
  6: one('asInt', 'fixed64'),
  7: many('attributes', keyValue),
};
const histogramPoint = {
  ...times,
  4: one('count', 'fixed64'),
  5: one('sum', 'double'),
  6: many('bucketCounts', 'fixed64'),
  7: many('explicitBounds', 'double'),
  9: many('attributes', keyValue),
  11: one('min', 'double'),
  12: one('max', 'double'),
};
const metric = {
  1: one('name', 'text'),
  2: one('description', 'text'),
  3: one('unit', 'text'),
  7: one('sum', {
    1: many('dataPoints', sumPoint),
    2: one('aggregationTemporality', 'int'),
    3: one('isMonotonic', 'flag'),
  }),
  9: one('histogram', { 1: many('dataPoints', histogramPoint), 2: one('aggregationTemporality', 'int') }),
};

function requestOf(resources: string, scopes: string, items: string, item: Message): Message {
  const scoped = { 1: one('scope', scope), 2: many(items, item) };
  return { 1: many(resources, { 1: one('resource', resource), 2: many(scopes, scoped) }) };
}

const requests: Readonly<Record<string, Message>> = {
  '/v1/traces': requestOf('resourceSpans', 'scopeSpans', 'spans', span),
  '/v1/logs': requestOf('resourceLogs', 'scopeLogs', 'logRecords', logRecord),
  '/v1/metrics': requestOf('resourceMetrics', 'scopeMetrics', 'metrics', metric),
};

/** A request to this path as OTLP's JSON. Throws for a field that OTLP does not have, and for what does not end where it should. */
export function decodeRequest(path: string, bytes: Uint8Array): Record<string, unknown> {
  const message = requests[path];
  if (message === undefined) throw new Error(`no request goes to ${path}`);
  return decode(Buffer.from(bytes), message);
}

function decode(bytes: Buffer, message: Message): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  const reader = new Reader(bytes);
  while (!reader.isOver) {
    const tag = Number(reader.varint());
    const [number, wireType] = [tag >>> 3, tag & 7];
    const field = message[number];
    if (field === undefined) throw new Error(`there is no field ${number}`);
    const read = valuesOf(reader, wireType, field);
    if (field.isList === true) value[field.name] = [...((value[field.name] as unknown[] | undefined) ?? []), ...read];
    else value[field.name] = read.at(-1);
  }
  return value;
}

/** Numbers of a list stand packed in one field. */
function valuesOf(reader: Reader, wireType: number, { shape, isList }: Field): readonly unknown[] {
  if (wireType !== 2) return [shown(reader, shape)];
  const bytes = reader.bytes();
  if (typeof shape === 'object') return [decode(bytes, shape)];
  if (shape === 'text') return [bytes.toString('utf8')];
  if (shape === 'hex') return [bytes.toString('hex')];
  if (isList !== true) throw new Error('a number is not as many bytes as it says');
  const packed = new Reader(bytes);
  const values: unknown[] = [];
  while (!packed.isOver) values.push(shown(packed, shape));
  return values;
}

function shown(reader: Reader, shape: Shape): unknown {
  switch (shape) {
    case 'int':
      return Number(BigInt.asIntN(64, reader.varint()));
    case 'flag':
      return reader.varint() === 1n;
    case 'double':
      return reader.take(8).readDoubleLE();
    case 'fixed32':
      return reader.take(4).readUInt32LE();
    case 'fixed64':
      return Number(reader.take(8).readBigInt64LE());
    case 'nanoseconds':
      return String(reader.take(8).readBigUInt64LE());
    default:
      throw new Error('a text or a message has a length');
  }
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isOver(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new Error('a field ends behind its message');
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  bytes(): Buffer {
    return this.take(Number(this.varint()));
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.take(1).readUInt8();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
}
