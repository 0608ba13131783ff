/** Starts the workers of the page: the one place where a text becomes a program, and it is that of the page itself. */

interface TrustedPolicy {
  createScriptURL(address: string): string;
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(address: string): string }): TrustedPolicy;
}

/** Each call starts one; its caller ends it. */
export type WorkerMaker = () => Worker;

export function makeWorkers(program: string): WorkerMaker {
  const blob = URL.createObjectURL(new Blob([program], { type: 'text/javascript' }));
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy('svc', {
    createScriptURL: (address) => {
      if (address !== blob) throw new TypeError('only the page itself is a program');
      return address;
    },
  });
  const address = policy?.createScriptURL(blob) ?? blob;
  // A module would not be loaded where the page is a file.
  return () => new Worker(address);
}
