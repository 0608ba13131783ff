import { ComponentFault, type Component, type ComponentCall, type ComponentFaultKind } from '../src/component.ts';

/** A function of the runtime as a guest calls it: a rejection arrives as the error of a WIT result. */
export type GuestImport = (...args: unknown[]) => Promise<unknown>;

export interface GuestCall {
  readonly export: string;
  readonly args: readonly unknown[];
  readonly imports: (name: string) => GuestImport;
}

/** What the guest does for one call. To throw is to trap; a ComponentFault is passed on as it is. */
export type Guest = (call: GuestCall) => Promise<unknown>;

export interface FakeComponent extends Component {
  readonly calls: readonly ComponentCall[];
  readonly closed: () => boolean;
}

/** A component whose guest is a function of the test. Keeps the contract of `Component`, as component-contract.ts shows. */
export function fakeComponent(guest: Guest): FakeComponent {
  const calls: ComponentCall[] = [];
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  return {
    calls,
    closed: () => closed,
    call(call) {
      calls.push(call);
      const result = last.then(() => runGuest(guest, call));
      last = result.catch(() => {});
      return result;
    },
    warm: () => {},
    close: () => {
      closed = true;
      return Promise.resolve();
    },
  };
}

async function runGuest(guest: Guest, call: ComponentCall): Promise<unknown> {
  if (call.signal.aborted) throw new ComponentFault('canceled', 'the call was canceled');
  let stop: (kind: ComponentFaultKind) => void = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = (kind) => {
      reject(new ComponentFault(kind, 'the call was ended'));
    };
  });
  const onAbort = (): void => {
    stop('canceled');
  };
  const deadline = setTimeout(() => {
    stop('deadline');
  }, call.deadlineMs);
  call.signal.addEventListener('abort', onAbort, { once: true });
  try {
    const run = guest({ export: call.export, args: call.args, imports: (name) => importOf(call, name) });
    return await Promise.race([run.catch(asTrap), stopped]);
  } finally {
    clearTimeout(deadline);
    call.signal.removeEventListener('abort', onAbort);
  }
}

function importOf({ host }: ComponentCall, name: string): GuestImport {
  const provided = host[name] as ((...args: unknown[]) => unknown) | undefined;
  return async (...args) => {
    if (provided === undefined) throw new Error(`${name} is not provided`);
    return await provided(...args);
  };
}

function asTrap(error: unknown): never {
  if (error instanceof ComponentFault) throw error;
  throw new ComponentFault('trap', error instanceof Error ? error.message : 'unreachable');
}
