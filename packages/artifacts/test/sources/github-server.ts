import type { IncomingMessage, ServerResponse } from 'node:http';

import { ZipFile } from 'yazl';

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
  readonly releases?: FakeReleases;
  /** The archive of a commit by what leads to it: a tag, a branch or its own name. */
  readonly commits?: Readonly<Record<string, Buffer>>;
  /** Without it the repository is there for everyone; with it, it is not there for those who do not show it. */
  readonly token?: string;
}

/** A server that answers like GitHub's API, and another where its files lie. */
export class FakeGithub {
  readonly api: StandInServer;
  readonly files: StandInServer;

  private constructor(api: StandInServer, files: StandInServer) {
    this.api = api;
    this.files = files;
  }

  static async open(repository: FakeRepository): Promise<FakeGithub> {
    const assets = Object.values(repository.releases ?? {}).flat();
    const files = await StandInServer.open((request, response) => {
      const [, ref] = /^\/legacy\.zip\/(.+)\?token=once$/.exec(request.url ?? '') ?? [];
      if (ref !== undefined) {
        response
          .writeHead(200, { 'content-type': 'application/zip' })
          .end(repository.commits?.[decodeURIComponent(ref)]);
        return;
      }
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
  { repo, releases = {}, commits = {}, token }: FakeRepository,
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
  const zipball = `/repos/${repo}/zipball/`;
  const isShown = token === undefined || authorization !== undefined;
  if (path.startsWith(zipball) && isShown) {
    const ref = decodeURIComponent(path.slice(zipball.length));
    if (commits[ref] === undefined) return refuse(404, 'Not Found');
    response.writeHead(302, { location: `${filesUrl}/legacy.zip/${encodeURIComponent(ref)}?token=once` }).end();
    return undefined;
  }
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

interface CommitFile {
  readonly name: string;
  readonly data: string | Buffer;
  /** A symbolic link, whose data are where it leads. */
  readonly isLink?: boolean;
  readonly mode?: number;
}

/** The archive of a commit as `git archive` makes it: all files below one folder, and the commit as its comment. */
export async function zipOfCommit(commit: string, files: readonly CommitFile[]): Promise<Buffer> {
  const zip = new ZipFile();
  for (const { name, data, isLink = false, mode = isLink ? 0o120777 : 0o100644 } of files) {
    zip.addBuffer(Buffer.from(data as Buffer), `acme-skills-1234567/${name}`, { mode, compress: !isLink });
  }
  zip.end({ comment: commit, forceZip64Format: false });
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream as unknown as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
