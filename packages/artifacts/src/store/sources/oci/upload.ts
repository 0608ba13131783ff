/** Sends a blob to a registry in pieces (OCI distribution specification 1.1, "Pushing a blob in chunks"). */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { HttpAnswer } from '@svc/kit/net/http-client.ts';
import { redirectTarget, type RedirectSource } from '@svc/kit/net/redirect-rule.ts';
import { bodyOf, type HttpMethod, type OutgoingBody } from '@svc/kit/net/request-run.ts';
import type { Descriptor } from './documents.ts';
import { BodyPieces, maxAttempts } from './transfers.ts';

/** The most and the fewest bytes of a piece: some registries refuse a larger one. */
const [maxBytes, minBytes] = [4 * 1024 * 1024, 64 * 1024];
/** What does not say that a blob is there, nor that nothing can be sent: some registries do not answer `HEAD`. */
const mayLack: ReadonlySet<number> = new Set([400, 403, 404, 405, 501]);

/** The registry that a blob goes to. */
interface UploadTarget {
  readonly label: string;
  /** A request with the right to write. */
  readonly ask: (where: string | URL, asked: UploadRequest) => Promise<HttpAnswer>;
  /** Reads and ends an answer. */
  readonly refusal: (answer: HttpAnswer, what: string) => Promise<Diagnostic>;
}

interface UploadRequest {
  readonly method?: HttpMethod;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: OutgoingBody;
  readonly isPatient?: boolean;
  readonly ledBy?: RedirectSource;
}

interface UploadPlace {
  readonly url: URL;
  readonly ledBy: RedirectSource;
}

type Sent =
  | { readonly kind: 'sent'; readonly place: UploadPlace }
  /** What is there has to be asked. */
  | { readonly kind: 'lost' | 'too large'; readonly refusal: Diagnostic };

const nothing: OutgoingBody = bodyOf(Buffer.alloc(0));

/** Whether the registry has done what it was asked: the specification names one status for each request, and registries give others. */
export function isYes({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}

/** Sends what the registry does not have yet; after a lost piece it is asked where it is, and smaller pieces follow one that is too large for it. */
export async function pushBlob({ digest, size }: Descriptor, body: OutgoingBody, target: UploadTarget): Promise<void> {
  const there = await target.ask(`/blobs/${digest}`, { method: 'HEAD' });
  there.discard();
  if (isYes(there)) return;
  if (!mayLack.has(there.status)) throw await target.refusal(there, `does not say whether it has ${digest}`);
  const place = await new Upload(target, new BodyPieces(body)).send({ digest, size }, await begin(target));
  const url = new URL(place.url);
  url.searchParams.set('digest', digest);
  const done = await target.ask(url, { method: 'PUT', body: nothing, ledBy: place.ledBy });
  if (!isYes(done)) throw await target.refusal(done, `does not take ${digest}`);
  done.discard();
}

async function begin(target: UploadTarget): Promise<UploadPlace> {
  const begun = await target.ask('/blobs/uploads/', { method: 'POST', body: nothing });
  if (!isYes(begun)) throw await target.refusal(begun, 'takes nothing');
  begun.discard();
  const place = placeIn(begun);
  if (place !== null) return place;
  throw new Diagnostic('E-IO-003', `${target.label} does not say where to send what it takes (${begun.status})`, {
    hint: 'its answer has no Location: ask who runs the registry',
  });
}

/** Where an answer says that the upload goes on; null where it does not say. */
function placeIn({ headers: { location }, from }: HttpAnswer): UploadPlace | null {
  return location === undefined ? null : { url: redirectTarget(location, from), ledBy: from };
}

class Upload {
  readonly #target: UploadTarget;
  readonly #pieces: BodyPieces;
  #maxBytes = maxBytes;

  constructor(target: UploadTarget, pieces: BodyPieces) {
    this.#target = target;
    this.#pieces = pieces;
  }

  /** Sends all bytes; resolves with the place where they are. */
  async send({ digest, size }: Pick<Descriptor, 'digest' | 'size'>, begun: UploadPlace): Promise<UploadPlace> {
    let place = begun;
    let failures = 0;
    for (let at = 0; at < size;) {
      const piece = await this.#pieces.at(at, this.#maxBytes);
      if (piece.length === 0) throw new Error(`${digest} has fewer bytes than were counted`);
      const sent = await this.#sendPiece(place, at, piece);
      if (sent.kind === 'sent') {
        ({ place } = sent);
        at += piece.length;
        continue;
      }
      if (sent.kind === 'lost') failures += 1;
      const isSmallest = sent.kind === 'too large' && !this.#halve(piece.length);
      if (isSmallest || failures >= maxAttempts) throw sent.refusal;
      const reached = await this.#ask(place, at + piece.length);
      ({ at, place } = reached);
    }
    return place;
  }

  /** Whether pieces can be smaller than one of these bytes. */
  #halve(bytes: number): boolean {
    if (bytes <= minBytes) return false;
    this.#maxBytes = Math.max(minBytes, Math.ceil(bytes / 2));
    return true;
  }

  async #sendPiece(place: UploadPlace, at: number, piece: Buffer): Promise<Sent> {
    let answer: HttpAnswer;
    try {
      answer = await this.#target.ask(place.url, {
        method: 'PATCH',
        headers: { 'content-type': 'application/octet-stream', 'content-range': `${at}-${at + piece.length - 1}` },
        body: bodyOf(piece),
        isPatient: true,
        ledBy: place.ledBy,
      });
    } catch (error) {
      if (error instanceof Diagnostic && error.code === 'E-IO-003') return { kind: 'lost', refusal: error };
      throw error;
    }
    if (isYes(answer)) {
      answer.discard();
      return { kind: 'sent', place: placeIn(answer) ?? place };
    }
    const { status } = answer;
    const refusal = await this.#target.refusal(answer, `does not take ${piece.length} bytes of what it is sent`);
    if (status === 413) return { kind: 'too large', refusal };
    // Without a reason the piece does not follow what is there; registries with a limit say that it is too large.
    if (status === 416) return { kind: /\(416[^)]*\)$/.test(refusal.message) ? 'lost' : 'too large', refusal };
    if (status >= 500) return { kind: 'lost', refusal };
    throw refusal;
  }

  /** How far the upload got; it may not have more than was sent. */
  async #ask(place: UploadPlace, most: number): Promise<{ readonly at: number; readonly place: UploadPlace }> {
    const answer = await this.#target.ask(place.url, { ledBy: place.ledBy });
    if (!isYes(answer)) throw await this.#target.refusal(answer, 'does not say how far it got');
    answer.discard();
    const { range } = answer.headers;
    const [, last] = /^(?:bytes=)?0-(\d{1,15})$/.exec(typeof range === 'string' ? range : '') ?? [];
    const at = last === undefined || last === '0' ? 0 : Number(last) + 1;
    if (at <= most) return { at, place: placeIn(answer) ?? place };
    throw new Diagnostic('E-IO-003', `${this.#target.label} says that it has more than it was sent`);
  }
}
