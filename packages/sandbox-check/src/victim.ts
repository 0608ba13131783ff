import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** A process that attempts are made on. */
export interface Victim {
  readonly pid: string;
  /** Where in its memory the secret is, in hexadecimal. */
  readonly address: string;
  /** Its descriptor of the secret file. */
  readonly descriptor: string;
  /** Its segment of shared memory. */
  readonly segment: string;
  /** Ends it. The signal that ended it, which is another than SIGTERM when somebody else was first. */
  end(): Promise<string | null>;
}

interface VictimRequest {
  /** `svc-attempts`. */
  readonly program: string;
  readonly secret: string;
  readonly secretFile: string;
}

/** It ends with its standard input too, so that it never outlives us. */
export async function startVictim({ program, secret, secretFile }: VictimRequest): Promise<Victim> {
  const child = spawn(program, ['victim', secret, secretFile], {
    env: { SVC_ATTEMPTS_SECRET: secret },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close').then(([, signal]) => signal as string | null);
  child.stdin.on('error', () => {});
  const line = await Promise.race([once(child.stdout, 'data').then(([chunk]) => String(chunk)), ended]);
  const [, address, descriptor, segment] = /^(0x[0-9a-f]+) (\d+) (\d+)\n$/.exec(line ?? '') ?? [];
  if (address === undefined || descriptor === undefined || segment === undefined || child.pid === undefined) {
    child.kill('SIGKILL');
    throw new Error(`the process that attempts are made on did not start: ${await text(child.stderr)}`);
  }
  const end = async (): Promise<string | null> => {
    child.kill('SIGTERM');
    return await ended;
  };
  return { pid: String(child.pid), address, descriptor, segment, end };
}
