import { PeerHandles } from '../../src/files/peer-handles.ts';
import type { ResourcePlanesOptions } from '../../src/files/resource-routes.ts';
import { ExportedWorkdir } from './exported-workdir.ts';
import { ask, type RawResponse } from '../../../kit/test/http/raw-client.ts';

export const reader = 'reader@localhost:4100';

/** Servers of a workdir that shares `out` with peers, and the handles that one of its sessions mints. */
export class PeerExport {
  readonly workdir: ExportedWorkdir = new ExportedWorkdir();
  readonly out: string = this.workdir.out;
  /** Unix milliseconds, as the session's clock has them. */
  now = 1_700_000_000_000;
  /** Every array of random bytes that was given out, the key first. */
  readonly random: Uint8Array[] = [];
  readonly handles: PeerHandles = this.session();

  /** Another session over the same workdir, with a key of its own. */
  session(): PeerHandles {
    return new PeerHandles({
      issuer: 'ses_0123456789abcdef0123456789abcdef',
      now: () => this.now,
      randomBytes: (size) => {
        const bytes = new Uint8Array(size).fill(this.random.length + 1);
        this.random.push(bytes);
        return bytes;
      },
    });
  }

  /** A server on loopback that shares files of up to 100 bytes and exports none to operators; its port. */
  async open(options: Partial<ResourcePlanesOptions> = {}): Promise<number> {
    const peerFiles = { root: 'out', max_bytes: 100, handles: this.handles };
    return await this.workdir.open({ files: null, peerFiles, ...options });
  }

  /** A handle for `reader` that lives for a minute. */
  mint(path: string, { audience = reader, ttlMs = 60_000 } = {}): string {
    return this.handles.mint({ path, audience, ttlMs }).handle;
  }

  close(): Promise<void> {
    return this.workdir.close();
  }
}

/** Redeems as `reader`, or with the given lines of headers. */
export function redeem(
  port: number,
  handle: string,
  headers: readonly string[] = [`x-svc-audience: ${reader}`],
): Promise<RawResponse> {
  return ask(port, `GET /resources/peer/${handle} HTTP/1.1`, { headers });
}
