/** Asks a mirror first for documents and archives whose digest the registry itself has given. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { HttpAnswer } from '@svc/kit/net/http-client.ts';
import { asJsonObject, parseJson } from '@svc/protocol/json-object.ts';
import type { OciRepositoryName } from '../../../manifest/oci-reference.ts';
import type { Descriptor, PulledDocument } from './documents.ts';

/** What a mirror is asked for may come from the source as well; everything else ends the command all the same. */
const mendable: ReadonlySet<string> = new Set(['E-IO-003', 'E-REG-002', 'E-REG-027', 'E-ART-003', 'E-REG-006']);

export interface OciMirror {
  readonly at: OciRepositoryName;
  /** The hosts of mirrors that have failed, shared by all repositories that a command opens: they are not asked again. */
  readonly failed: Set<string>;
  readonly onWarning: (warning: Diagnostic) => void;
}

/** A repository of the host that mirrors. */
interface MirroredRepository {
  readonly label: string;
  readonly isInterrupted: boolean;
  document(digest: string): Promise<PulledDocument | null>;
  blob(descriptor: Descriptor, at: number): Promise<HttpAnswer | null>;
}

/**
 * The mirror of one repository (docs/installing.md "A mirror"). It is believed nothing: what it gives has to have the digest. After the first thing that
 * it does not give, or gives wrongly, nothing of its host is asked again, and `onWarning` is called once (`W-REG-008`).
 */
export class Mirror {
  readonly #repository: MirroredRepository;
  readonly #sourceLabel: string;
  readonly #mirror: OciMirror;

  constructor(repository: MirroredRepository, sourceLabel: string, mirror: OciMirror) {
    this.#repository = repository;
    this.#sourceLabel = sourceLabel;
    this.#mirror = mirror;
  }

  /** The document of a digest; null where the source has to be asked. What kind it is of has to stand in it: the mirror could say anything. */
  async document(digest: string): Promise<PulledDocument | null> {
    const found = await this.#tried(async () => await this.#repository.document(digest));
    if (found === null) this.#giveUp(`does not have ${digest}`);
    const own = asJsonObject(parseJson(found?.bytes.toString('utf8') ?? ''))?.['mediaType'];
    return own === found?.mediaType ? found : null;
  }

  /** A connection for a blob from a byte on; null where the source has to be asked. One that is cut goes on at the source. */
  async blob(descriptor: Descriptor, at: number): Promise<HttpAnswer | null> {
    if (at > 0) this.#giveUp(`ends ${descriptor.digest} at byte ${at}`);
    return await this.#tried(async () => await this.#repository.blob(descriptor, at));
  }

  /** Whether what went wrong with bytes that began here may be mended at the source; an interruption is no fault. */
  mayMend(fault: Diagnostic): boolean {
    if (!mendable.has(fault.code) || this.#repository.isInterrupted) return false;
    this.#giveUp(fault.message);
    return true;
  }

  async #tried<Result>(ask: () => Promise<Result>): Promise<Result | null> {
    const { at, failed } = this.#mirror;
    if (failed.has(at.host)) return null;
    try {
      return await ask();
    } catch (error) {
      if (error instanceof Diagnostic && this.mayMend(error)) return null;
      throw error;
    }
  }

  #giveUp(why: string): void {
    const { at, failed, onWarning } = this.#mirror;
    if (failed.has(at.host) || this.#repository.isInterrupted) return;
    failed.add(at.host);
    const { label } = this.#repository;
    const message = `the mirror ${label} is not used for ${this.#sourceLabel}: ${why}`;
    onWarning(
      new Diagnostic('W-REG-008', message, {
        hint: 'the rest came from the source, and so does what else this host mirrors; look after the mirror, or take mirror out of ~/.svc/config.yaml',
      }),
    );
  }
}
