/** Says what a component is to the rest of `svc`: what it may do, how it is called and how a call can fail. */

import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { BoundHosts, RequestJudge } from '@svc/kit/keys/bound-host.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import type { CallImports, ImportMode } from './import-log.ts';

/** A directory a component sees, and nothing above or beside it. */
export interface Preopen {
  /** Path inside the component, `/` for the whole workdir. */
  readonly guestPath: string;
  readonly hostPath: string;
  readonly writable: boolean;
  /**
   * Present, names that are masked (`isMaskedName`) are refused, and so are these files and directories, `<device>:<inode>` each, and whatever has a name in a
   * directory, `<device>:<inode>/<name>` each.
   */
  readonly masked?: readonly string[];
  /** More names that are refused where `masked` is present, in lower case. */
  readonly maskedNames?: readonly string[];
  /** Where `masked` is present, files and directories that are not renamed, removed or replaced, as of `masked`. */
  readonly fixed?: readonly string[];
}

/** What is seen of an outbound request. */
export type ExchangeSign =
  /** `host` has the port where that is not the scheme's own. */
  | { readonly kind: 'started'; readonly host: string }
  | { readonly kind: 'answered'; readonly status: number }
  /** Some of the response has come. */
  | { readonly kind: 'bytes' }
  /** `error` is the name of an `error-code` of `wasi:http`, `words` what an `internal-error` says. */
  | { readonly kind: 'failed'; readonly error: string; readonly words?: string };

/** What one component may do. Everything not named here is refused. */
export interface ComponentGrants {
  readonly preopens: readonly Preopen[];
  readonly env: Readonly<Record<string, string>>;
  /**
   * Decides on every outbound request before a connection is opened, and again on each redirect the guest follows. Asked too
   * whether an address that a name resolved to could be reached under its own name: it looks at the origin alone.
   */
  readonly mayReach: (url: URL) => boolean;
  /** The driver's: whatever the host of this origin resolves to is permitted in requests to exactly it (docs/manifest.md "Narrowing"). */
  readonly endpointOrigin?: string;
  /** The proxy of a request, which is judged by its name alone; all go straight when absent. */
  readonly proxyFor?: ProxyFor;
  /**
   * A header value that holds `placeholder` has it replaced by the secret in requests to exactly `origin`.
   * To any other origin the request is refused.
   */
  readonly credential?: { readonly origin: string; readonly placeholder: string; readonly secret: Secret };
  /** What is held of its requests to some of the origins that it may reach; nothing more where absent. */
  readonly bound?: BoundHosts;
  /** Reports the progress of each request that goes out. */
  readonly onExchange?: (sign: ExchangeSign) => void;
  /** Called for each request that went out, once it is over: how many bytes its body and that of its answer had, as far as they went. */
  readonly onTraffic?: (exchange: { readonly url: URL; readonly bytesIn: number; readonly bytesOut: number }) => void;
  /** Called for each request that did not go out since it is not granted; `rule` is the manifest key that refuses it, that of its destination when absent. `isMetadata`: its name has led to an address at which clouds give keys away. */
  readonly onRefused?: (url: URL, rule?: string, isMetadata?: boolean) => void;
  readonly maxMemoryBytes: number;
  /** True has `wasi:filesystem/types#change` of each call judge what is about to be changed below the preopens: a rejection refuses it. */
  readonly asksChanges?: boolean;
  /** True gives `wasi:cli/output#write` of each call the bytes that the guest writes to stdout and stderr; else they are dropped. */
  readonly tellsOutput?: boolean;
  /** Where imports get their answers; live when absent. */
  readonly imports?: ImportMode;
}

/**
 * Functions a component imports from the runtime, keyed `svc:task/task@0.1.0#request-input`. `svc:text/chunks` is called and not
 * awaited: its functions return nothing. The others are awaited while the guest waits; a rejection becomes the import's error,
 * with the message of the rejection. A function that is missing here drops what it is given, or answers that it is not available.
 */
export type HostFunctions = Readonly<Record<string, (...args: never[]) => unknown>>;

export interface ComponentCall {
  /** `svc:tool/run@0.1.0#run` */
  readonly export: string;
  readonly args: readonly unknown[];
  readonly host: HostFunctions;
  /** From when the instance starts to be made; reading and compiling the component, and time the runtime takes to answer an awaited import, do not count. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /** Judges its requests that a person has to approve; they are refused when absent. */
  readonly requests?: RequestJudge;
  /** What becomes of what imports answer; they are live, and nothing is kept of them, when absent. */
  readonly imports?: CallImports;
}

export type ComponentFaultKind =
  /** Cannot be read, compiled, linked or instantiated: nothing of the guest ran. */
  'unavailable' | 'trap' | 'deadline' | 'memory' | 'canceled';

/** Why a call did not return. The instance it ran in is gone; the next call gets a fresh one. */
export class ComponentFault extends Error {
  readonly kind: ComponentFaultKind;

  constructor(kind: ComponentFaultKind, message: string) {
    super(message);
    this.name = 'ComponentFault';
    this.kind = kind;
  }
}

/** The fault of a call that nobody waits for any more. */
export function canceledCall(): ComponentFault {
  return new ComponentFault('canceled', 'the call was canceled');
}

/**
 * One component under one set of grants. Holds at most one live instance, made on the first call and reused by the next;
 * calls run one after another. What a WIT `result` holds when it is ok arrives bare; an error arrives as a value
 * `{ tag: 'err', val }`, never as a fault.
 */
export interface Component {
  call(call: ComponentCall): Promise<unknown>;
  /** Makes the instance ready ahead of the first call; a fault is reported by that call instead. */
  warm(): void;
  close(): Promise<void>;
}
