import type { RequestHead } from '@svc/kit/http/route.ts';
import { singleHeader } from '@svc/kit/http/headers.ts';
import { audienceHeader } from '@svc/protocol/audience.ts';
import { parsePeerHandle } from '@svc/protocol/peer-handle.ts';
import { encodeHandleId } from '@svc/protocol/resource-files.ts';
import { type ExportReader, type PlaneAnswer, refused } from './export-reader.ts';
import { handleId } from './handle-id.ts';
import type { PeerHandles } from './peer-handles.ts';
import { isSoundPath } from '@svc/protocol/resource-path.ts';

export interface PeerPlaneOptions {
  readonly handles: PeerHandles;
  /** Of `exports.peer_files.root`. */
  readonly reader: ExportReader;
}

/** `GET /resources/peer/<handle>`: one file for one audience (D3 "Peer plane"). */
export class PeerPlane {
  readonly #handles: PeerHandles;
  readonly #reader: ExportReader;

  constructor({ handles, reader }: PeerPlaneOptions) {
    this.#handles = handles;
    this.#reader = reader;
  }

  /**
   * `token` is the rest of the request target as sent: it is compared, so it is never decoded. Checked in the order of D3 "Peer plane" 5;
   * nothing of the payload but its form and version counts before the MAC has verified. Two audience headers arrive as one text that no
   * handle was minted for.
   */
  redeem(token: string, { headers }: RequestHead): PlaneAnswer | Promise<PlaneAnswer> {
    const handle = parsePeerHandle(token);
    if (handle === undefined) return refused('malformed_handle');
    const audience = singleHeader(headers[audienceHeader]) ?? '';
    if (audience === '') return refused('missing_audience');
    const payload = this.#handles.verify(handle, audience);
    if (payload === undefined) return refused('handle_not_valid');
    if (this.#handles.isExpired(payload)) return refused('handle_expired');
    if (!isSoundPath(payload.p)) return refused('outside_root');
    return this.#reader.read(payload.p, encodeHandleId(handleId(token)));
  }
}
