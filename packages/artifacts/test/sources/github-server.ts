import type { IncomingMessage, ServerResponse } from 'node:http';

import { json, StandInServer } from './stand-in-server.ts';

export interface FakeAsset {
  readonly name: string;
  readonly bytes: Buffer;
  /** As the API gives it; absent from older servers. */
  readonly digest?: string | null;
  /** What the API says of its size, if not the truth. */
  readonly size?: number;
  /** Where it lies, nobody gets it. */
  readonly isRefused?: boolean;
}

/** Assets by tag of a release; the last tag is the latest release. */
export type FakeReleases = Readonly<Record<string, readonly FakeAsset[]>>;

export interface FakeRepository {
  /** `<owner>/<repo>` */
  readonly repo: string;
  readonly releases: FakeReleases;
  /** Without it the repository is there for everyone; with it, it is not there for those who do not show it. */
  readonly token?: string;
}

/** A server that answers like GitHub's releases API, and another where its assets lie. */
export class FakeGithub {
  readonly api: StandInServer;
  readonly files: StandInServer;

  private constructor(api: StandInServer, files: StandInServer) {
    this.api = api;
    this.files = files;
  }

  static async open(repository: FakeRepository): Promise<FakeGithub> {
    const assets = Object.values(repository.releases).flat();
    const files = await StandInServer.open((request, response) => {
      const asset = assets[Number(/^\/file\/(\d+)\?signed=yes$/.exec(request.url ?? '')?.[1])];
      if (asset === undefined) response.writeHead(404).end();
      else if (asset.isRefused === true) response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
      else response.writeHead(200, { 'content-length': String(asset.bytes.length) }).end(asset.bytes);
    });
    const api = await StandInServer.open((request, response) => {
      answer(repository, files.url, assets, { request, response });
    });
    return new FakeGithub(api, files);
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

function answer(
  { repo, releases, token }: FakeRepository,
  filesUrl: string,
  assets: readonly FakeAsset[],
  { request, response }: Exchange,
): void {
  const refuse = (status: number, message: string): void => json(status, { message })(request, response);
  const { authorization, accept, 'user-agent': agent } = request.headers;
  if (agent === undefined) return refuse(403, 'Request forbidden by administrative rules.');
  if (authorization !== undefined && token !== undefined && authorization !== `Bearer ${token}`) {
    return refuse(401, 'Bad credentials');
  }
  const base = `/repos/${repo}/releases`;
  const path = request.url ?? '';
  if (!path.startsWith(base) || (token !== undefined && authorization === undefined)) return refuse(404, 'Not Found');
  const [, assetId] = /^\/assets\/(\d+)$/.exec(path.slice(base.length)) ?? [];
  if (assetId !== undefined && accept === 'application/octet-stream') {
    response.writeHead(302, { location: `${filesUrl}/file/${assetId}?signed=yes` }).end();
    return undefined;
  }
  const [, asked] = /^\/tags\/(.+)$/.exec(path.slice(base.length)) ?? [];
  const tag = path === `${base}/latest` ? Object.keys(releases).at(-1) : decodeURIComponent(asked ?? '');
  const found = tag === undefined ? undefined : releases[tag];
  if (found === undefined) return refuse(404, 'Not Found');
  const listed = found.map((asset) => {
    // An absent digest is left out of the JSON.
    return {
      id: assets.indexOf(asset),
      name: asset.name,
      size: asset.size ?? asset.bytes.length,
      digest: asset.digest,
    };
  });
  return json(200, { tag_name: tag, draft: false, assets: listed })(request, response);
}
