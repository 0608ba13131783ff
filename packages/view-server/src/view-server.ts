/** Serves the viewer's page on a loopback port until it is ended. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { tokenCheck } from '@svc/kit/http/hygiene.ts';
import { HttpServer } from '@svc/kit/http/server.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { refusalReply } from './answers.ts';
import { Doors } from './doors.ts';
import { Strangers } from './strangers.ts';
import { type RoutesOptions, viewRoutes } from './view-routes.ts';

const address = '127.0.0.1';
/** A page holds a few; more are somebody who holds connections. */
const maxConnections = 128;
/** Time for answers on their way when the server ends. */
const graceMs = 200;

type ServedOptions = Omit<RoutesOptions, 'onBug'> & {
  /** 0 lets the system choose. */
  readonly port: number;
  /** A browser is to be started. */
  readonly opens: boolean;
};

/** A server that listens. */
export interface ViewServer {
  readonly port: number;
  /** Holds the token, which the page takes out of it at once. */
  readonly url: string;
  /** Leads to the same page from a file of this machine, once; null unless a browser is to be started. */
  readonly openUrl: string | null;
  /** Resolves once the browser has come. */
  readonly opened: Promise<void>;
  /** Resolves when it is asked to end; rejects with `E-RUN-140` when too many wrong tokens came, and with what is a bug. */
  readonly ended: Promise<void>;
  /** Ends it; harmless when repeated. */
  close(): Promise<void>;
}

/** Binds. Throws `E-RUN-141` when the port is taken. The caller closes it. */
export async function serveView({ port, opens, ...options }: ServedOptions): Promise<ViewServer> {
  const token = newKey();
  const openKey = opens ? newKey() : null;
  const [ended, opened] = [deferred(), deferred()];
  const doors = new Doors({
    openKey,
    onOpened: opened.resolve,
    nowMs: () => systemClock.monotonicMs(),
    onGuessed: () => ended.reject(guessed()),
  });
  const strangers = new Strangers();
  const showsToken = tokenCheck(token);
  const server = new HttpServer({
    routes: viewRoutes({ ...options, onBug: ended.reject }),
    token,
    onBug: ended.reject,
    sendDate: false,
    // The doors look at both, and more closely.
    anyHost: true,
    admit: (request) => {
      const hasToken = showsToken(request.headers);
      if (hasToken) strangers.trust(request.socket);
      return doors.admit(request, hasToken);
    },
    onConnection: (connection) => strangers.came(connection),
    onWrongToken: (shown) => doors.wrongToken(shown),
    maxConnections,
    renderRefusal: refusalReply,
  });
  const bound = await server.bind({ address, port });
  if (bound.kind !== 'bound')
    throw notBound(port, bound.kind === 'port-taken' ? 'another program has it' : bound.reason);
  doors.port = bound.port;
  const { first } = options.sessions;
  const origin = `http://${address}:${bound.port}`;
  const fragment = `#token=${token.reveal()}${first === null ? '' : `&session=${first}`}`;
  return {
    port: bound.port,
    url: `${origin}/${fragment}`,
    openUrl: openKey === null ? null : `${origin}/?open=${openKey.reveal()}${fragment}`,
    opened: opened.promise,
    ended: ended.promise,
    close: async () => {
      await server.close(graceMs);
      ended.resolve();
    },
  };
}

/** 256 bits, as 43 characters. */
function newKey(): Secret {
  return new Secret(Buffer.from(systemClock.randomBytes(32)).toString('base64url'));
}

function deferred(): {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
} {
  let [resolve, reject] = [(): void => {}, (_error: unknown): void => {}];
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // Somebody waits for it as soon as it is listening.
  promise.catch(() => {});
  return { promise, resolve, reject };
}

function guessed(): Diagnostic {
  return new Diagnostic(
    'E-RUN-140',
    'five requests came with different wrong tokens: the server of the page has ended',
    {
      hint: 'run svc view again; some program of this machine has tried to guess the token of the page',
    },
  );
}

function notBound(port: number, reason: string): Diagnostic {
  return new Diagnostic('E-RUN-141', `svc view cannot listen on port ${port} of ${address}: ${reason}`, {
    hint: 'name another one with --port, or leave it out: the system chooses one then',
  });
}
