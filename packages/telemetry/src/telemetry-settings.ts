/** Reads from the environment where telemetry goes and how: OpenTelemetry's variables, and one of svc's own. */

import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { type ProxyFor, proxyFor } from '@svc/kit/net/proxy.ts';
import { isHttpToken } from '@svc/protocol/header-syntax.ts';
import { decodePercent } from '@svc/protocol/strict-utf8.ts';
import { keepAll, type Sampler } from './task-trace.ts';

export type SignalName = 'traces' | 'metrics' | 'logs';

const signalNames: readonly SignalName[] = ['traces', 'metrics', 'logs'];

/** Where the records of one signal go. */
export interface SignalSettings {
  readonly url: URL;
  /** They may hold keys: shown nowhere. */
  readonly headers: Readonly<Record<string, string>>;
  /** For one request. */
  readonly timeoutMs: number;
  readonly encoding: 'protobuf' | 'json';
}

export interface TelemetrySettings {
  /** The signals that are sent somewhere. */
  readonly signals: Readonly<Partial<Record<SignalName, SignalSettings>>>;
  /** Is null for the name of the capsule. */
  readonly serviceName: string | null;
  readonly resource: ReadonlyMap<string, string>;
  readonly sampler: Sampler;
  readonly maxQueued: number;
  readonly maxInBatch: number;
  /** How long a record waits for others. */
  readonly delayMs: number;
  readonly metricsEveryMs: number;
  /** Whether prompts, answers, arguments and results go too. */
  readonly withContent: boolean;
  /** Never throws for the addresses of `signals`. */
  readonly proxyFor: ProxyFor;
}

export interface ReadSettings {
  readonly settings: TelemetrySettings;
  /** Warnings about what cannot be used. */
  readonly problems: readonly Diagnostic[];
}

/**
 * `W-OTL-001` for a protocol that svc does not speak, `W-OTL-002` for every other value that cannot be used. `network` names the proxies of this
 * machine.
 */
export function readSettings(env: Environment, network: Environment = env): ReadSettings {
  const variables = new Variables(env);
  const signals: Partial<Record<SignalName, SignalSettings>> = {};
  for (const name of signalNames) {
    const signal = readSignal(name, variables);
    if (signal !== null) signals[name] = signal;
  }
  const proxied = (url: URL): ReturnType<ProxyFor> => proxyFor(url, network);
  const unusable = diagnosticOf(() => Object.values(signals).forEach(({ url }) => proxied(url)));
  if (unusable !== null) {
    const { message, hint } = unusable;
    variables.warn(new Diagnostic('W-OTL-002', `${message}: nothing is sent`, hint === undefined ? {} : { hint }));
  }
  const maxQueued = variables.count('OTEL_BSP_MAX_QUEUE_SIZE', { usual: 2048, most: 1_000_000 });
  const settings = {
    signals: unusable === null ? signals : {},
    proxyFor: proxied,
    serviceName: variables.text('OTEL_SERVICE_NAME'),
    resource: variables.pairs('OTEL_RESOURCE_ATTRIBUTES') ?? new Map(),
    sampler: readSampler(variables),
    maxQueued,
    maxInBatch: Math.min(maxQueued, variables.count('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', { usual: 512, most: 100_000 })),
    delayMs: variables.count('OTEL_BSP_SCHEDULE_DELAY', { usual: 1000, most: maxMs }),
    metricsEveryMs: variables.count('OTEL_METRIC_EXPORT_INTERVAL', { usual: 60_000, most: maxMs }),
    withContent: variables.choice('SVC_TELEMETRY_CONTENT', ['0', '1'], '0') === '1',
  };
  return { settings, problems: variables.problems };
}

const maxMs = 3_600_000;
const maxTimeoutMs = 600_000;

function readSignal(name: SignalName, variables: Variables): SignalSettings | null {
  const own = name.toUpperCase();
  if (variables.choice(`OTEL_${own}_EXPORTER`, ['otlp', 'none'], 'otlp') === 'none') return null;
  const url = signalUrl(name, variables);
  if (url === null) return null;
  const of = (key: string): string => {
    const specific = `OTEL_EXPORTER_OTLP_${own}_${key}`;
    return variables.text(specific) === null ? `OTEL_EXPORTER_OTLP_${key}` : specific;
  };
  const encoding = readProtocol(of('PROTOCOL'), name, variables);
  if (encoding === null) return null;
  const timeoutMs = variables.count(of('TIMEOUT'), { usual: 10_000, most: maxTimeoutMs });
  return { url, headers: readHeaders(of('HEADERS'), variables), timeoutMs, encoding };
}

/** A signal's own endpoint is taken as it is, of the common one a path below it. */
function signalUrl(name: SignalName, variables: Variables): URL | null {
  const own = variables.url(`OTEL_EXPORTER_OTLP_${name.toUpperCase()}_ENDPOINT`);
  if (own !== undefined) return own;
  const common = variables.url('OTEL_EXPORTER_OTLP_ENDPOINT') ?? null;
  if (common === null) return null;
  const url = new URL(common);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/${name}`;
  return url;
}

function readProtocol(variable: string, name: SignalName, variables: Variables): SignalSettings['encoding'] | null {
  switch (variables.text(variable) ?? 'http/protobuf') {
    case 'http/protobuf':
      return 'protobuf';
    case 'http/json':
      return 'json';
    default:
      variables.warn(
        new Diagnostic('W-OTL-001', `${variable} asks for a protocol that svc does not speak: ${name} are not sent`, {
          hint: 'set it to http/protobuf or http/json; a collector takes those on port 4318',
        }),
      );
      return null;
  }
}

/** Others would be refused when the request is made. */
const headerValue = /^[\t\x20-\x7e]*$/;
/** The headers that svc itself sets. */
const ownHeaders = /^(?:content-type|content-length|transfer-encoding|connection|host)$/i;

function readHeaders(variable: string, variables: Variables): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [name, value] of variables.pairs(variable) ?? []) {
    if (isHttpToken(name) && headerValue.test(value) && !ownHeaders.test(name)) headers[name] = value;
    else variables.refuse(variable, 'has a header that cannot be sent, which is left out');
  }
  return headers;
}

function readSampler(variables: Variables): Sampler {
  const kinds = [
    'parentbased_always_on',
    'parentbased_always_off',
    'parentbased_traceidratio',
    'always_on',
    'always_off',
    'traceidratio',
  ] as const;
  const kind = variables.choice('OTEL_TRACES_SAMPLER', kinds, 'parentbased_always_on');
  const followsParent = kind.startsWith('parentbased_');
  if (kind.endsWith('always_on')) return { ratio: 1, followsParent };
  if (kind.endsWith('always_off')) return { ratio: 0, followsParent };
  const text = variables.text('OTEL_TRACES_SAMPLER_ARG') ?? '1';
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return { ratio, followsParent };
  variables.refuse('OTEL_TRACES_SAMPLER_ARG', 'must be a number from 0 to 1; all traces are sent');
  return { ...keepAll, followsParent };
}

/** A variable is looked at where it is used; each problem is reported once. */
class Variables {
  readonly problems: Diagnostic[] = [];
  readonly #env: Environment;
  readonly #told = new Set<string>();

  constructor(env: Environment) {
    this.#env = env;
  }

  warn(problem: Diagnostic): void {
    if (this.#told.has(problem.message)) return;
    this.#told.add(problem.message);
    this.problems.push(problem);
  }

  /** `problem` repeats nothing of the value, which may hold a key. */
  refuse(variable: string, problem: string): void {
    const hint = 'docs/telemetry.md says what it may be';
    this.warn(new Diagnostic('W-OTL-002', `${variable} ${problem}`, { hint }));
  }

  /** Returns null for an empty one, as the conventions have it. */
  text(variable: string): string | null {
    const value = this.#env[variable]?.trim() ?? '';
    if (value.length <= maxValue) return value === '' ? null : value;
    this.refuse(variable, `is longer than ${maxValue} characters, and is passed over`);
    return null;
  }

  choice<const Known extends string>(variable: string, known: readonly Known[], usual: Known): Known {
    const value = this.text(variable);
    if (value === null) return usual;
    const found = known.find((each) => each === value);
    if (found === undefined) this.refuse(variable, `must be ${known.join(' or ')}; ${usual} is taken`);
    return found ?? usual;
  }

  count(variable: string, { usual, most }: { readonly usual: number; readonly most: number }): number {
    const value = this.text(variable);
    if (value === null) return usual;
    const number = /^\d{1,9}$/.test(value) ? Number(value) : 0;
    if (number >= 1 && number <= most) return number;
    this.refuse(variable, `must be a whole number from 1 to ${most}; ${usual} is taken`);
    return usual;
  }

  /** Undefined when it is not set, null when it is no address. */
  url(variable: string): URL | null | undefined {
    const value = this.text(variable);
    if (value === null) return undefined;
    const url = URL.canParse(value) ? new URL(value) : null;
    const isUsable = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.hash === '';
    if (isUsable && url.password === '') return url;
    this.refuse(variable, 'must be an http or https address without a user; nothing is sent there');
    return null;
  }

  /** `name=value,name=value` with percent-encoded values. */
  pairs(variable: string): ReadonlyMap<string, string> | null {
    const text = this.text(variable);
    if (text === null) return null;
    const pairs = new Map<string, string>();
    for (const pair of text.split(',').filter((each) => each.trim() !== '')) {
      const at = pair.indexOf('=');
      const name = pair.slice(0, Math.max(0, at)).trim();
      const value = decodePercent(pair.slice(at + 1).trim());
      if (name === '' || value === null) this.refuse(variable, 'has a part that is not name=value, which is left out');
      else pairs.set(name, value);
    }
    return pairs;
  }
}

const maxValue = 8192;
