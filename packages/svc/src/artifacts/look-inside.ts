/** Looks into the archive of one version of an artifact: what its manifest declares, what its component is, and who signed it. */

import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';

import { hookDeclaration } from '@svc/artifacts/manifest/hook-declaration.ts';
import type { ArtifactManifest } from '@svc/artifacts/manifest/schema.ts';
import { largestComponent } from '@svc/artifacts/store/archive-entry.ts';
import { type ArtifactKind, componentFile, requiredFile } from '@svc/artifacts/store/inspect-content.ts';
import type { FoundArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import type { WantedArtifact } from '@svc/artifacts/store/locate.ts';
import { hasLogin } from '../command/own-login.ts';
import type { StorePlaces } from '@svc/artifacts/store/store-places.ts';
import { findRef } from '@svc/artifacts/store/install.ts';
import type { StoredArchive } from '@svc/artifacts/store/store-layout.ts';
import { signaturesOfSources } from '@svc/artifacts/store/trust/admit-stored.ts';
import { inspectSignatures } from '@svc/artifacts/store/trust/inspect-signatures.ts';
import { boundedSignatures, signaturesBeside } from '@svc/artifacts/store/trust/signature-bundle.ts';
import type { StateRules } from '@svc/artifacts/store/version-state-rules.ts';
import type { Verdict } from '@svc/artifacts/store/trust/verify-bundles.ts';
import { type Asked, askedFor, worldOf } from '@svc/components/component-outline.ts';
import { interfacesOf } from '@svc/components/compiler/interface-names.ts';
import { MalformedWasm } from '@svc/components/core-module.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { chunksOfFile } from '@svc/kit/files/regular-file.ts';
import { makeScratch, removeScratch } from '@svc/kit/files/scratch-folder.ts';

type Sources = ReturnType<StorePlaces['sources']>;

/** What a component is and can ask for. */
export interface ComponentFacts {
  readonly world: string | null;
  readonly imports: readonly string[];
  readonly exports: readonly string[];
  readonly asksFor: readonly Asked[];
}

/** What a hook is called at, and what it may change there. */
interface HookFacts {
  readonly binding: readonly string[];
  readonly execution_mode: string;
  readonly commit_policy: readonly string[];
}

/** What is in one version. */
export interface InsideFacts {
  readonly kind: ArtifactKind;
  /** How it is made: null for a capsule and a skill. */
  readonly implementation: ArtifactManifest['implementation'] | null;
  readonly description: string | null;
  readonly tags: readonly string[];
  readonly inputSchema: unknown;
  /** What an MCP server is started with; null for anything else. */
  readonly command: readonly string[] | null;
  /** Where an MCP server on the web is, and whether this user is logged in there; null for anything else. */
  readonly server: { readonly url: string; readonly hasLogin: boolean } | null;
  readonly hook: HookFacts | null;
  /** It is null for what is no component, and for one that cannot be read or is too large to be compiled. */
  readonly component: ComponentFacts | null;
  readonly platform: string | null;
  readonly sha256: string;
  readonly bytes: number;
  /** One for each signature; null for what comes with `svc`, which is not signed on its own. */
  readonly signatures: readonly Verdict[] | null;
  /** Why its source was not asked for signatures, which may have more of them; null where it was. */
  readonly unasked: string | null;
}

/** Shows the state of a version; a blocked version is given to nobody. */
const states: StateRules = { allowsYanked: true, tellsDeprecated: false, onWarning: () => {} };

/**
 * A version that this machine does not have is brought into a store that is gone afterwards: looking installs nothing. It applies no rule of
 * trust: it shows what the signatures are worth.
 */
export async function lookInside({ from, ...ref }: WantedArtifact, wherever: StorePlaces): Promise<InsideFacts> {
  const sources = from === undefined ? wherever.sources : (): Sources => wherever.sources(from);
  const aside = makeScratch(tmpdir(), 'svc-info-');
  const places = { ...wherever, sources, fetching: { ...wherever.fetching, inspectsOnly: true, states, aside } };
  try {
    const { stored, artifact, origin } = await findRef(ref, places);
    const { platform, sha256, path } = stored;
    return {
      ...(await contentOf(artifact, places.userHome)),
      platform,
      sha256,
      bytes: statSync(path).size,
      ...(origin === 'bundled' ? { signatures: null, unasked: null } : await signaturesOf(stored, places)),
    };
  } finally {
    removeScratch(aside);
  }
}

/** Those beside it and those that its source has, each once. What is here can be looked at where the source does not answer. */
async function signaturesOf(
  stored: StoredArchive,
  places: StorePlaces,
): Promise<Pick<InsideFacts, 'signatures' | 'unasked'>> {
  const { path, sha256 } = stored;
  let unasked: string | null = null;
  const ofSources = await signaturesOfSources(stored, places).catch((error: unknown): readonly string[] => {
    if (!(error instanceof Diagnostic)) throw error;
    unasked = error.message;
    return [];
  });
  const bundles = boundedSignatures([...signaturesBeside(path), ...ofSources]);
  return {
    signatures: await inspectSignatures({ sha256, bundles, chunks: () => chunksOfFile(path) }, places),
    unasked,
  };
}

type Content = Omit<InsideFacts, 'platform' | 'sha256' | 'bytes' | 'signatures' | 'unasked'>;

async function contentOf(artifact: FoundArtifact | null, home: string): Promise<Content> {
  if (artifact === null) {
    const nothing = { implementation: null, description: null, inputSchema: null, command: null, server: null };
    return { kind: 'capsule', ...nothing, tags: [], hook: null, component: null };
  }
  const { manifest } = artifact;
  const { runtime: kind, description, tags, input_schema: inputSchema = null, command = null, url } = manifest;
  return {
    kind,
    implementation: kind === 'skill' ? null : manifest.implementation,
    description: description === '' ? null : description,
    tags,
    inputSchema,
    command,
    server: url === undefined ? null : { url, hasLogin: hasLogin(url, home) },
    hook: kind === 'hook' ? hookFacts(manifest) : null,
    component: requiredFile(manifest) === componentFile ? componentFacts(await artifact.read(componentFile)) : null,
  };
}

function hookFacts(manifest: ArtifactManifest): HookFacts {
  const { events, mode, policies } = hookDeclaration(manifest);
  return { binding: [...events], execution_mode: mode, commit_policy: [...policies] };
}

function componentFacts(bytes: Uint8Array): ComponentFacts | null {
  if (bytes.length > largestComponent) return null;
  try {
    const names = interfacesOf(bytes);
    return { world: worldOf(names), ...names, asksFor: askedFor(names) };
  } catch (error) {
    if (error instanceof MalformedWasm) return null;
    throw error;
  }
}
