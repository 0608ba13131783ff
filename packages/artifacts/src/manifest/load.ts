/** Reads and checks the manifest of a capsule. */

import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import type { DiagnosticCode } from '@svc/kit/diagnostics/catalogue.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { readTextBeneath } from '@svc/kit/files/read-beneath.ts';
import { readSmallText, unreadableFile } from '@svc/kit/files/read-text.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { readDocument, type CheckedDocument, type Findings } from './checked-document.ts';
import { keepManifest } from './keep-manifest.ts';
import type { ManifestKeeper } from './kept-manifest.ts';
import { Draft, holdsCredential, renderKeyPath, type KeyPath } from './key-path.ts';
import { referencedVariable } from './references.ts';
import { checkCapsuleRules } from './rules.ts';
import { capsuleManifest, type CapsuleManifest } from './schema.ts';
import { normalizeWorkdirPath } from './workdir-path.ts';
import { besideValue, type LoadedManifest } from './loaded-manifest.ts';

interface LoadRequest {
  /** Path of the manifest; its directory is the workspace root, and diagnostics name it as it is given here. */
  readonly file: string;
  /** The content, when it was read elsewhere, as from an archive. */
  readonly text?: string;
  /** What `${VARIABLE}` references are resolved from. */
  readonly env: Environment;
  /**
   * `launch`, the default, resolves `inference.api_key` and reads `system_prompt_file`. `inspect` does neither: it is for
   * those who look at a manifest and run nothing (D2 "Daemon options" 6). `replay` reads the file, and needs no key: no model is asked.
   */
  readonly purpose?: 'launch' | 'inspect' | 'replay';
  /** False for the keys whose variables may be unset; absent, each one has to be set. */
  readonly needs?: (path: KeyPath) => boolean;
  /** Where what was read for a launch without a warning may be kept for the next start. */
  readonly keeper?: ManifestKeeper;
}

const apiKeyPath = 'inference.api_key';
/** The places of keys that only the host has. */
const keyPaths =
  /^(?:inference\.api_key|notify\.(?:secret|token)|capabilities\.credentials\.[^.]+\.(?:value|session_token|client_secret))$/;
const defaultPeerTtlSecs = 3600;

/**
 * Reads and checks `svc.yaml` (D1 "Manifest keys this interface names", docs/manifest.md "Reading a manifest").
 * Throws a `DiagnosticList` with every problem, each with its place in the file.
 */
export function loadCapsuleManifest(request: LoadRequest): LoadedManifest {
  const { file, env, keeper, purpose = 'launch' } = request;
  const directory = dirname(resolve(file));
  const prompt = { text: '' };
  const text = request.text ?? readManifestText(file);
  const document = readDocument({
    file,
    text,
    schema: capsuleManifest,
    env,
    needs: request.needs,
    leave: (path) => isServerAuth(path) || (purpose !== 'launch' && isKey(path)),
    isStrict: decidesGrants,
    codeAt,
    rules: (data, findings) => {
      checkCapsuleRules(data, findings);
      if (purpose !== 'inspect') prompt.text = readSystemPrompt(data, { directory, findings });
    },
  });
  const { api_key: apiKey, ...inference } = document.value.inference;
  const manifest = settled(withoutValues({ ...document.value, inference }));
  const { source, references } = document;
  const keyVariable = references.get(apiKeyPath)?.variable ?? null;
  const keep = (keeper: ManifestKeeper): void => {
    if (commentedCredential.test(text) || !mayBeKept(document, manifest)) return;
    keepManifest(keeper, { text, manifest, keyVariable, source });
  };
  return {
    text,
    manifest,
    ...keyOf(apiKey, { purpose, env }),
    keyVariable,
    systemPrompt: inference.system_prompt ?? prompt.text,
    warnings: document.warnings,
    ...credentialsOf(document.value.capabilities, { purpose, env }),
    ...notifySecretOf(document.value, { purpose, env }),
    references: [...references].flatMap(([where, found]) => (keyPaths.test(where) ? [] : [found])),
    ...secretVariablesOf(references),
    file,
    directory,
    locate: (path, part) => source.locate(path, part),
    ...(keeper !== undefined && purpose === 'launch' ? { keep: () => keep(keeper) } : {}),
  };
}

/** What a server on the web is shown stays a reference: it is looked up where a request is sent. */
function isServerAuth([first, , third]: KeyPath): boolean {
  return first === 'artifacts' && third === 'auth';
}

/** Whether the block says what is allowed: were a misspelt key of it ignored, the capsule would get more than its author wrote. */
function decidesGrants([first, , third]: KeyPath): boolean {
  return first === 'artifacts'
    ? third === 'capabilities'
    : ['approvals', 'capabilities', 'doors', 'exports', 'notify'].includes(String(first));
}

/** What is wrong with approvals has one code, of which `svc explain` says what rules are. */
function codeAt([first]: KeyPath, code: DiagnosticCode): DiagnosticCode {
  return first === 'approvals' && code.startsWith('E-') ? 'E-APR-001' : code;
}

function isKey(path: KeyPath): boolean {
  return keyPaths.test(renderKeyPath(path));
}

type KeyReading = Required<Pick<LoadRequest, 'purpose' | 'env'>>;

function keyOf(apiKey: string | undefined, reading: KeyReading): Pick<LoadedManifest, 'apiKey'> {
  const key = secretOf(apiKey, reading);
  return key === null ? {} : { apiKey: key };
}

/** A replay has a key for one thing: that no report holds it. Returns null if it is missing. */
function secretOf(written: string | undefined, { purpose, env }: KeyReading): Secret | null {
  if (written === undefined || purpose === 'inspect') return null;
  const variable = purpose === 'replay' ? referencedVariable(written) : undefined;
  const key = variable === undefined ? written : (env[variable] ?? '');
  return purpose === 'replay' && key === '' ? null : new Secret(key);
}

function credentialsOf(
  { credentials = {} }: CapsuleManifest['capabilities'],
  reading: KeyReading,
): Pick<LoadedManifest, 'credentials'> {
  const written = Object.entries(credentials).flatMap(([name, { value, ...more }]) => [
    [name, value] as const,
    [besideValue(name, 'session_token'), more.session_token] as const,
    [besideValue(name, 'client_secret'), more.client_secret] as const,
  ]);
  const found = written.flatMap(([name, text]) => {
    const secret = secretOf(text, reading);
    return secret === null ? [] : [[name, secret] as const];
  });
  return found.length === 0 ? {} : { credentials: new Map(found) };
}

function secretVariablesOf(
  references: CheckedDocument<typeof capsuleManifest>['references'],
): Pick<LoadedManifest, 'secretVariables'> {
  const secretVariables = [...references].flatMap(([where, { variable }]) =>
    keyPaths.test(where) && where !== apiKeyPath ? [variable] : [],
  );
  return secretVariables.length === 0 ? {} : { secretVariables };
}

function notifySecretOf({ notify }: CapsuleManifest, reading: KeyReading): Pick<LoadedManifest, 'notifySecret'> {
  const secret = secretOf(notify?.secret ?? notify?.token, reading);
  return secret === null ? {} : { notifySecret: secret };
}

function withoutValues({ notify, ...manifest }: CapsuleManifest): CapsuleManifest {
  const { secret: _, token: __, ...target } = notify ?? {};
  return { ...withoutKeys(manifest), ...(notify === undefined ? {} : { notify: target }) };
}

function withoutKeys(manifest: CapsuleManifest): CapsuleManifest {
  const { credentials } = manifest.capabilities;
  if (credentials === undefined) return manifest;
  const kept = structuredClone(credentials);
  for (const credential of Object.values(kept)) {
    delete credential.value;
    delete credential.session_token;
    delete credential.client_secret;
  }
  return { ...manifest, capabilities: { ...manifest.capabilities, credentials: kept } };
}

/** A comment that may hold a credential, such as a key that stood in the manifest before: the whole text would be kept. */
const commentedCredential = /#.*(?:key|token|secret|password|passphrase|credential)s?["']?\s*[:=]\s*\S/i;

/**
 * Whether the next start may take this manifest as it was read. The file and the provider's key alone decided on it, it has no warning to repeat,
 * and no credential stands in it.
 */
function mayBeKept(document: CheckedDocument<typeof capsuleManifest>, manifest: CapsuleManifest): boolean {
  const { references, source, warnings } = document;
  const isOfFile = [...references.keys()].every((where) => where === apiKeyPath);
  if (warnings.length > 0 || !isOfFile || namesCredential(source.value, [])) return false;
  return isDeepStrictEqual(JSON.parse(JSON.stringify(manifest)), manifest);
}

/** Whether a text stands where a credential would, which is no reference. */
function namesCredential(value: unknown, path: KeyPath): boolean {
  if (typeof value === 'string') return holdsCredential(path) && referencedVariable(value) === undefined;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, item]) => namesCredential(item, [...path, key]));
}

/** What one key decides about the value of another. */
function settled(manifest: CapsuleManifest): CapsuleManifest {
  const { lifecycle, exports } = manifest;
  const afterTask = lifecycle.task_acceptance === 'queue' ? lifecycle.after_task : 'exit';
  const peerFiles = exports.peer_files;
  return {
    ...manifest,
    lifecycle: { ...lifecycle, after_task: afterTask },
    exports:
      peerFiles === undefined
        ? exports
        : { ...exports, peer_files: { ...peerFiles, max_ttl: peerFiles.max_ttl ?? defaultPeerTtlSecs } },
  };
}

function readManifestText(file: string): string {
  const reading = readSmallText(file);
  if (reading.kind === 'text') return reading.text;
  if (reading.kind === 'unreadable') throw new DiagnosticList([unreadableFile(file, reading)]);
  const usual = join(dirname(file), 'svc.yaml');
  const hint = existsSync(usual)
    ? `${usual} is there: name that one`
    : 'go to the folder of the capsule, name its manifest with --manifest, or make one with svc new capsule; a task in quotes needs none: svc "…"';
  throw new DiagnosticList([new Diagnostic('E-IO-001', `cannot read ${file}: no such file`, { hint })]);
}

/** The text of `inference.system_prompt_file`, empty when the file names none; one that cannot be read is `E-RUN-009`. */
function readSystemPrompt(data: unknown, { directory, findings }: { directory: string; findings: Findings }): string {
  const path = ['inference', 'system_prompt_file'];
  const name = new Draft(data).at(...path);
  const normal = typeof name === 'string' ? normalizeWorkdirPath(name) : undefined;
  if (normal === undefined) return '';
  const reading = readTextBeneath(directory, normal);
  if (reading.kind === 'text') return reading.text;
  const fault = reading.kind === 'absent' ? { reason: 'there is no such file beside the manifest' } : reading;
  findings.add('E-RUN-009', `inference.system_prompt_file cannot be read: ${fault.reason}`, {
    path,
    ...('hint' in fault ? { hint: fault.hint } : {}),
  });
  return '';
}
