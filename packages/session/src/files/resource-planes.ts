/** Answers requests for files, of operators and of other capsules. */

import type { ReplyHeaders } from '@svc/kit/http/reply.ts';
import type { RequestHead } from '@svc/kit/http/route.ts';
import { singleHeader } from '@svc/kit/http/hygiene.ts';
import { handleId } from '@svc/kit/diagnostics/handle-id.ts';
import { encodeExportRoot, encodeHandleId } from '@svc/protocol/resource-files.ts';
import { parseResourcePath, isSoundPath } from '@svc/protocol/resource-path.ts';
import { audienceHeader } from '@svc/protocol/audience.ts';
import { parsePeerHandle } from '@svc/protocol/peer-handle.ts';
import { type ExportedFiles, ExportReader } from './export-reader.ts';
import { normalizedRoot } from './export-root.ts';
import { FileContents } from './file-content.ts';
import type { ListingRequest, Listings, OperatorPlaneOptions } from './listings.ts';
import type { PeerHandles } from './peer-handles.ts';
import { type PlaneAnswer, refused } from './refused-requests.ts';
import type { ResourcePlanesOptions, ExportedPlanes } from './resource-routes.ts';

/** The planes that are declared. */
export function exportedPlanes({ files, peerFiles, spoolDirectory, ...rest }: ResourcePlanesOptions): ExportedPlanes {
  const contents = new FileContents(spoolDirectory);
  const readerOf = ({ root, max_bytes: maxBytes }: ExportedFiles): ExportReader =>
    new ExportReader({ ...rest, root: normalizedRoot(root), maxBytes, contents });
  return {
    operator: files === null ? null : new OperatorPlane({ ...rest, files, reader: readerOf(files) }),
    peer: peerFiles === null ? null : new PeerPlane(peerFiles.handles, readerOf(peerFiles)),
  };
}

/** `GET /resources/files` and below: the files of one export root, by path, as they are now (D3 "Operator plane"). */
export class OperatorPlane {
  readonly #options: OperatorPlaneOptions;
  readonly #readHeaders: ReplyHeaders;
  /** Made with the first listing. */
  #listings: Listings | null = null;

  constructor(options: OperatorPlaneOptions) {
    this.#options = options;
    this.#readHeaders = encodeExportRoot(options.files.root);
  }

  /** One file, by the rest of the request target as sent. */
  read(rawPath: string): PlaneAnswer | Promise<PlaneAnswer> {
    const path = parseResourcePath(rawPath);
    return path === undefined ? refused('outside_root') : this.#options.reader.read(path, this.#readHeaders);
  }

  /** The listing document; one too long to wait for has a readable reply. Returns null while too many others are being made. */
  async list(request: ListingRequest): Promise<PlaneAnswer | null> {
    const { Listings } = await import('./listings.ts');
    this.#listings ??= new Listings(this.#options);
    return await this.#listings.list(request);
  }
}

/** `GET /resources/peer/<handle>`: one file for one audience (D3 "Peer plane"). */
export class PeerPlane {
  readonly #handles: PeerHandles;
  readonly #reader: ExportReader;

  /** `reader` reads below `exports.peer_files.root`. */
  constructor(handles: PeerHandles, reader: ExportReader) {
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
