/** Talks to one repository of an OCI registry (OCI distribution specification 1.1). */

import { challengesIn } from '@svc/kit/http/challenges.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import { readUpTo } from '@svc/kit/files/read-up-to.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { HttpAnswer, HttpClient } from '@svc/kit/net/http-client.ts';
import { bodyOf, type HttpMethod, type OutgoingBody } from '@svc/kit/net/request-run.ts';
import { redirectTarget, type RedirectSource } from '@svc/kit/net/redirect-rule.ts';
import { retryAfterMs } from '@svc/kit/net/retry-after.ts';
import { asJsonObject, parseJson } from '@svc/protocol/json-object.ts';
import {
  bundleType,
  decodeDocument,
  type Descriptor,
  digestOf,
  encodeIndex,
  indexType,
  isDigest,
  manifestType,
  type OciBlob,
  type PulledDocument,
  typeOf,
} from './documents.ts';
import type { OciLogin } from './logins.ts';
import { type OciRepositoryName, ociPrefix, originOf } from '../../../manifest/oci-reference.ts';
import { refusedElsewhere } from '../refused-elsewhere.ts';
import type { Mirror } from './mirror.ts';
import { identityForm, withQuery } from './token-request.ts';
import { wordsIn } from './refusal-words.ts';
import { maxAttempts, resumed } from './transfers.ts';
import { isYes, pushBlob } from './upload.ts';

const maxDocumentBytes = 4 * 1024 * 1024;
const maxAnswerBytes = 64 * 1024;
const maxShown = 300;
/** What a person waits through rather than beginning again. */
const maxWaitMs = 30_000;

/** Reading, or reading and writing: a registry gives a token for either. */
type Actions = 'pull' | 'pull,push';

interface Asked {
  readonly actions?: Actions;
  readonly method?: HttpMethod;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: OutgoingBody;
  readonly isPatient?: boolean;
  /** The registry that named the address. */
  readonly ledBy?: RedirectSource;
}

/** What is shown to the registry. */
interface Shown {
  readonly scheme: 'Bearer' | 'Basic';
  readonly key: Secret;
}

interface RepositoryAccess extends OciRepositoryName {
  readonly http: HttpClient;
  /** Found out when the registry first asks for one. */
  readonly login: () => Promise<OciLogin | null>;
  /** Asked first for what has a digest. */
  readonly mirror?: Mirror;
}

/** A repository. What goes wrong on the way is `E-IO-003`, bytes without their digest are `E-REG-002`. */
export class OciRepository {
  readonly label: string;
  readonly #access: RepositoryAccess;
  readonly #base: string;
  readonly #shown = new Map<Actions, Shown>();

  constructor(access: RepositoryAccess) {
    this.label = `${ociPrefix}${access.host}/${access.repository}`;
    this.#access = access;
    this.#base = `${originOf(access)}/v2/${access.repository}`;
  }

  /** The document under a tag or a digest; null without one. */
  async document(at: string, actions: Actions = 'pull'): Promise<PulledDocument | null> {
    const mirrored = isDigest(at) ? await this.#access.mirror?.document(at) : undefined;
    if (mirrored !== undefined && mirrored !== null) return mirrored;
    const answer = await this.#ask(`/manifests/${at}`, {
      actions,
      headers: { accept: `${manifestType}, ${indexType}` },
    });
    if (answer.status === 404) {
      answer.discard();
      return null;
    }
    if (answer.status !== 200) throw await this.#refusal(answer, `does not give ${at}`);
    const bytes = await readUpTo(answer.body(), maxDocumentBytes);
    if (bytes === undefined)
      throw new Diagnostic('E-ART-003', `${at} of ${this.label} is described in more than 4 MiB`);
    const digest = digestOf(bytes);
    if (isDigest(at) && at !== digest)
      throw new Diagnostic('E-REG-002', `${this.label} gives a document of ${digest} for ${at}`);
    return { digest, mediaType: typeOf(bytes, mediaTypeOf(answer)), bytes };
  }

  /**
   * The bytes of a blob as they come. After a connection that was lost the rest is asked for, until four in a row were in vain. More bytes than the descriptor says
   * are cut off and refused, and bytes in the end that do not have the digest.
   */
  openBlob(descriptor: Descriptor): OpenedBlob {
    const { mirror } = this.#access;
    let current: HttpAnswer | null = null;
    let isMirrored = false;
    /** What the bytes themselves ended with: what became of them later is no matter of where they came from. */
    let ending: unknown = null;
    const ask = async (at: number): Promise<HttpAnswer> => {
      const mirrored = (await mirror?.blob(descriptor, at)) ?? null;
      isMirrored ||= mirrored !== null;
      return (current = mirrored ?? (await this.blob(descriptor, at)));
    };
    const bytes = async function* (label: string): AsyncGenerator<Buffer> {
      try {
        yield* resumed(descriptor, label, ask);
      } catch (error) {
        ending = error;
        throw error;
      }
    };
    return {
      bytes: bytes(this.label),
      discard: () => current?.discard(),
      mayMend: (fault) => isMirrored && fault === ending && mirror?.mayMend(fault) === true,
    };
  }

  /** Whether the command was interrupted, which is the fault of no registry. */
  get isInterrupted(): boolean {
    return this.#access.http.isInterrupted;
  }

  /** The same repository without its mirror. */
  get direct(): OciRepository {
    const { mirror, ...access } = this.#access;
    return mirror === undefined ? this : new OciRepository(access);
  }

  /** One connection for a blob, from a byte on. */
  async blob({ digest }: Descriptor, at: number): Promise<HttpAnswer> {
    const headers: Readonly<Record<string, string>> = at === 0 ? {} : { range: `bytes=${at}-` };
    const answer = await this.#ask(`/blobs/${digest}`, { headers, isPatient: true });
    if (answer.status === 200 || (answer.status === 206 && at > 0)) return answer;
    throw await this.#refusal(answer, `does not give ${digest}`);
  }

  /** Sends bytes that the registry does not have yet. */
  async pushBlob(descriptor: Descriptor, body: OutgoingBody): Promise<void> {
    await pushBlob(descriptor, body, {
      label: this.label,
      ask: async (where, asked) => await this.#ask(where, { ...asked, actions: 'pull,push' }),
      refusal: async (answer, what) => await this.#refusal(answer, what),
    });
  }

  /** The documents that refer to another: as the registry lists them, or under the tag that stands for a list where it keeps none. */
  async referrers(digest: string, actions: Actions = 'pull'): Promise<readonly Descriptor[]> {
    const answer = await this.#ask(`/referrers/${digest}`, { actions });
    const { status } = answer;
    if ((status >= 500 && status !== 501) || status === 401 || status === 403)
      throw await this.#refusal(answer, 'does not say what refers to an archive');
    // A registry without such lists answers with a page, if it does not refuse.
    const listed = status === 200 ? listedIn(await readUpTo(answer.body(), maxDocumentBytes)) : null;
    answer.discard();
    return listed ?? listedIn((await this.document(tagOfReferrers(digest), actions))?.bytes) ?? [];
  }

  /** Puts a document that refers to another, and its blobs. Where the registry keeps no list of those, it is added to the one under the tag. */
  async pushReferrer(subject: string, { manifest, blobs }: Referrer): Promise<void> {
    for (const { descriptor, bytes } of blobs) await this.pushBlob(descriptor, bodyOf(bytes));
    if (await this.pushDocument(manifest, null)) return;
    const { descriptor } = manifest;
    const others = await this.referrers(subject, 'pull,push');
    if (others.some(({ digest }) => digest === descriptor.digest)) return;
    const own = { ...descriptor, artifactType: bundleType };
    await this.pushDocument(encodeIndex([...others, own]), tagOfReferrers(subject));
  }

  /** Puts a document under a tag; under its digest without one. Whether the registry says that it has listed it for what it refers to. */
  async pushDocument({ descriptor, bytes }: OciBlob, tag: string | null): Promise<boolean> {
    const at = tag ?? descriptor.digest;
    const answer = await this.#ask(`/manifests/${at}`, {
      method: 'PUT',
      actions: 'pull,push',
      headers: { 'content-type': descriptor.mediaType },
      body: bodyOf(bytes),
    });
    if (!isYes(answer)) throw await this.#refusal(answer, `does not take ${at}`);
    answer.discard();
    return answer.headers['oci-subject'] !== undefined;
  }

  /** One request; a challenge is answered once. Another origin, of a redirect or an upload, is shown nothing, nor a token service of its choice. */
  async #ask(where: string | URL, { actions = 'pull', ...asked }: Asked): Promise<HttpAnswer> {
    const url = typeof where === 'string' ? new URL(`${this.#base}${where}`) : where;
    const answer = await this.#send(url, asked, this.#shown.get(actions) ?? null);
    if (answer.status !== 401 || !this.#isOwn(url) || !this.#isOwn(answer.from.url)) return answer;
    const shown = await this.#answerTo(answer, actions).catch((error: unknown) => {
      answer.discard();
      throw error;
    });
    if (shown === null) return answer;
    answer.discard();
    this.#shown.set(actions, shown);
    return await this.#send(url, asked, shown);
  }

  async #send(url: URL, asked: Omit<Asked, 'actions'>, shown: Shown | null): Promise<HttpAnswer> {
    const show = shown === null || !this.#isOwn(url) ? { key: null } : shown;
    const { http } = this.#access;
    for (let attempt = 1; ; attempt += 1) {
      const answer = await http.send({ ...asked, ...show, label: this.label, url });
      const waitMs = attempt < maxAttempts ? waitMsOf(answer) : null;
      if (waitMs === null) return answer;
      answer.discard();
      await http.pause(waitMs);
    }
  }

  #isOwn({ origin }: URL): boolean {
    return origin === new URL(this.#base).origin;
  }

  /** What answers a challenge; null when it cannot be answered. */
  async #answerTo(answer: HttpAnswer, actions: Actions): Promise<Shown | null> {
    const challenges = challengesIn(answer.headers['www-authenticate'] ?? '');
    const login = await this.#access.login();
    const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
    if (bearer === undefined) {
      const isBasic = challenges.some(({ scheme }) => scheme === 'basic');
      return isBasic && login?.kind === 'password' ? { scheme: 'Basic', key: login.pair } : null;
    }
    const { fields } = bearer;
    const realm = redirectTarget(fields.get('realm') ?? '', answer.from);
    const token = await this.#token(realm, { service: fields.get('service') ?? '', actions, login, from: answer.from });
    return { scheme: 'Bearer', key: token };
  }

  async #token(
    realm: URL,
    {
      service,
      actions,
      login,
      from,
    }: { service: string; actions: Actions; login: OciLogin | null; from: RedirectSource },
  ): Promise<Secret> {
    const label = `the token service ${realm.origin} of ${this.label}`;
    const scope = `repository:${this.#access.repository}:${actions}`;
    const answer = await this.#access.http.send(
      login?.kind === 'identity'
        ? {
            label,
            url: realm,
            key: null,
            ledBy: from,
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
            body: bodyOf(Buffer.from(identityForm({ service, scope, token: login.token }))),
          }
        : { label, url: withQuery(realm, { service, scope }), key: login?.pair ?? null, scheme: 'Basic', ledBy: from },
    );
    if (!isYes(answer)) throw await this.#refusal(answer, `gets no token from ${realm.origin}`, realm);
    const told = asJsonObject(parseJson((await answer.text(maxAnswerBytes)) ?? ''));
    for (const token of [told?.['token'], told?.['access_token']]) {
      if (typeof token === 'string' && /^[!-~]+$/.test(token)) return new Secret(token);
    }
    throw new Diagnostic('E-IO-003', `${label} gives no token`);
  }

  async #refusal(answer: HttpAnswer, what: string, asked = new URL(this.#base)): Promise<Diagnostic> {
    const { host } = this.#access;
    const elsewhere = refusedElsewhere(answer, asked);
    const message = `${this.label} ${what} (${answer.status}${elsewhere?.by ?? ''})${await this.#reasonOf(answer)}`;
    if (elsewhere !== null) return new Diagnostic('E-IO-003', message, { hint: elsewhere.hint });
    switch (answer.status) {
      case 401:
      case 403:
        return new Diagnostic('E-IO-003', message, {
          hint: `log in with docker login ${host} or podman login ${host}, with an account that may do this`,
        });
      case 429:
        return new Diagnostic('E-IO-003', message, { hint: 'it was asked too often: try again later, or log in' });
      default:
        return new Diagnostic('E-IO-003', message);
    }
  }

  /** What a refusal says of itself, as a clause. Never fails: the status counts. */
  async #reasonOf(answer: HttpAnswer): Promise<string> {
    let text: string | null;
    try {
      text = await answer.text(maxAnswerBytes);
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      return '';
    }
    const said = wordsIn(text ?? '', mediaTypeOf(answer));
    const safe = [...this.#shown.values()].reduce((so, { key }) => so.replaceAll(key.reveal(), '[secret]'), said);
    return safe === '' ? '' : `: ${printable(safe.slice(0, maxShown))}`;
  }
}

/** A blob on its way. */
interface OpenedBlob {
  /** Read once. */
  readonly bytes: AsyncIterable<Buffer>;
  /** Lets go of the connection. */
  readonly discard: () => void;
  /** Whether what went wrong may be the fault of a mirror, which is not asked again then. */
  readonly mayMend: (fault: Diagnostic) => boolean;
}

/** A document that refers to another, with the blobs that it names. */
interface Referrer {
  readonly manifest: OciBlob;
  readonly blobs: readonly OciBlob[];
}

function tagOfReferrers(digest: string): string {
  return digest.replace(':', '-');
}

/** Returns null if they are no index. */
function listedIn(bytes: Buffer | undefined): readonly Descriptor[] | null {
  const document = bytes === undefined ? null : decodeDocument(bytes, indexType);
  return document?.kind === 'index' ? document.manifests : null;
}

/** How long a registry that was asked too often wants to be left alone; null where it does not say, or where that is long. */
function waitMsOf({ status, headers }: HttpAnswer): number | null {
  const waitMs = status === 429 ? retryAfterMs(headers) : null;
  return waitMs !== null && waitMs <= maxWaitMs ? waitMs : null;
}

function mediaTypeOf({ headers }: HttpAnswer): string {
  return headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
}
