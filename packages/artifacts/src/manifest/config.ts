/** Reads the configuration files of a workspace and of a user. */

import { join } from 'node:path';
import * as z from 'zod/mini';

import { didYouMean } from '@svc/kit/diagnostics/closest-name.ts';
import { Diagnostic, type SourceLocation } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { readTextBeneathIfThere } from '@svc/kit/files/read-beneath.ts';
import { readTextIfThere } from '@svc/kit/files/read-text.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';
import { type ContainmentClass, containmentClasses } from '@svc/protocol/containment-class.ts';
import { captureLevels, type CaptureLevel } from './capture-levels.ts';
import { readDocument, type Findings } from './checked-document.ts';
import { Draft } from './key-path.ts';
import { referencedVariable } from './references.ts';
import { ociAddressFault, ociPrefix } from './oci-reference.ts';

export interface WorkspaceConfig {
  /** A floor beside the manifest's and the flag's (D1 "Command line" 1). */
  readonly containment?: ContainmentClass;
  /** The most that a session of the workspace keeps of itself, whatever manifest or flag say (docs/manifest.md "Configuration"). */
  readonly captureCeiling?: CaptureLevel;
  readonly warnings: readonly Diagnostic[];
}

/** What a source of artifacts may be. */
const sourceTypes = ['github', 'registry', 'oci'] as const;

interface SourceBase {
  readonly name: string;
  /**
   * The token, undefined when the source declares none. Throws `E-MAN-003` when it is a reference to a variable that is not
   * set: one source without its token must not stop work that never asks it.
   */
  readonly token: () => Secret | undefined;
}

/** One of `registry.sources` (D1 "Workspace and user configuration", docs/manifest.md "Configuration"). */
export type ConfiguredSource =
  /** `repo` is `<owner>/<repo>`. */
  | (SourceBase & { readonly type: 'github'; readonly repo: string })
  /** `url` is without `/v1` and without a slash at its end. */
  | (SourceBase & { readonly type: 'registry'; readonly url: string })
  /** `url` is `oci://<host>/<path>`, and so is `mirror`, which has the same below it. */
  | (SourceBase & { readonly type: 'oci'; readonly url: string; readonly mirror?: string });

export interface UserConfig {
  /** The source named by `registry.default`. */
  readonly defaultSource?: ConfiguredSource;
  readonly sources: readonly ConfiguredSource[];
  /** The address of a document that says who `svc` is to authorization servers (docs/mcp.md "A login"). */
  readonly clientMetadata?: string;
  readonly warnings: readonly Diagnostic[];
}

const workspaceConfigFile = '.svc/config.yaml';

/**
 * `.svc/config.yaml` of the workspace root (D1 "Workspace and user configuration"); empty when there is no such file.
 * Throws a `DiagnosticList` with every problem, or `E-IO-001`.
 */
export function loadWorkspaceConfig({ directory, env }: { directory: string; env: Environment }): WorkspaceConfig {
  const text = readTextBeneathIfThere(directory, workspaceConfigFile);
  if (text === null) return { warnings: [] };
  const file = join(directory, workspaceConfigFile);
  const { value, warnings } = readDocument({ file, text, schema: workspaceConfig, env });
  const { containment, trace } = value;
  return {
    ...(containment === undefined ? {} : { containment }),
    ...(trace === undefined ? {} : { captureCeiling: trace.capture }),
    warnings,
  };
}

/**
 * `~/.svc/config.yaml` (D1 "Workspace and user configuration"); empty when there is no such file.
 * Throws a `DiagnosticList` with every problem, or `E-IO-001`.
 */
export function loadUserConfig({ home, env }: { home: string; env: Environment }): UserConfig {
  const file = join(home, '.svc', 'config.yaml');
  const text = readTextIfThere(file);
  if (text === null) return { sources: [], warnings: [] };
  const document = readDocument({
    file,
    text,
    schema: userConfig,
    env,
    // Tokens are resolved when their source is used; the trust policy has patterns, and refers to nothing.
    leave: (path) => path.at(-1) === 'token' || path[0] === 'trust' || path[0] === 'notify',
    rules: checkSources,
  });
  const registry = document.value.registry;
  const sources = (registry?.sources ?? []).map((source, index) => {
    const location = document.source.locate(['registry', 'sources', index, 'token'], 'value');
    return registrySourceOf(source, () => resolveToken(source, { env, location }));
  });
  const chosen = sources.find((source) => source.name === registry?.default);
  const clientMetadata = document.value.mcp?.client_metadata;
  return {
    ...(chosen === undefined ? {} : { defaultSource: chosen }),
    ...(clientMetadata === undefined ? {} : { clientMetadata }),
    sources,
    warnings: document.warnings,
  };
}

function checkSources(data: unknown, findings: Findings): void {
  const draft = new Draft(data);
  const names: string[] = [];
  draft.list('registry', 'sources').forEach((_, index) => {
    const path = ['registry', 'sources', index];
    const type = draft.at(...path, 'type');
    const needed = type === 'github' ? 'repo' : 'url';
    const known = sourceTypes.find((each) => each === type);
    if (known !== undefined && !draft.has(...path, needed)) {
      const message = `registry.sources[${index}].${needed} is missing, type: ${known} needs it`;
      findings.add('E-MAN-001', message, { path: [...path, needed] });
    }
    const url = draft.at(...path, 'url');
    if (
      typeof url === 'string' &&
      (type === 'oci' || type === 'registry') &&
      url.startsWith(ociPrefix) !== (type === 'oci')
    ) {
      const wanted = type === 'oci' ? 'must begin with oci://' : 'must be an http or https address';
      findings.add('E-MAN-003', `registry.sources[${index}].url ${wanted}, as its type is ${type}`, {
        path: [...path, 'url'],
      });
    }
    if (type !== 'oci' && draft.has(...path, 'mirror')) {
      const message = `registry.sources[${index}].mirror is for type: oci alone`;
      findings.add('E-MAN-003', message, { path: [...path, 'mirror'] });
    }
    const name = draft.at(...path, 'name');
    if (typeof name !== 'string') return;
    if (names.includes(name)) {
      findings.add('E-MAN-003', `registry.sources[${index}].name repeats ${quoted(name)}`, { path: [...path, 'name'] });
    }
    names.push(name);
  });
  const chosen = draft.at('registry', 'default');
  if (typeof chosen !== 'string' || names.includes(chosen)) return;
  const hint = didYouMean(chosen, names);
  findings.add('E-MAN-003', `registry.default names ${quoted(chosen)}, which registry.sources does not list`, {
    path: ['registry', 'default'],
    ...(hint === undefined ? {} : { hint }),
  });
}

type WrittenSource = NonNullable<z.infer<typeof userConfig>['registry']>['sources'][number];

/** `checkSources` has seen to it that each type has its key. */
function registrySourceOf(
  { name, type, repo = '', url = '', mirror }: WrittenSource,
  token: ConfiguredSource['token'],
): ConfiguredSource {
  if (type === 'github') return { name, token, type, repo };
  const address = withoutSlash(url);
  if (type === 'registry') return { name, token, type, url: address };
  return { name, token, type, url: address, ...(mirror === undefined ? {} : { mirror: withoutSlash(mirror) }) };
}

function withoutSlash(address: string): string {
  return address.replace(/\/+$/, '');
}

function resolveToken(
  { name, token }: WrittenSource,
  { env, location }: { env: Environment; location: SourceLocation },
): Secret | undefined {
  if (token === undefined) return undefined;
  const variable = referencedVariable(token);
  if (variable === undefined) return new Secret(token);
  const value = env[variable];
  if (value !== undefined && value !== '') return new Secret(value);
  const message = `the token of registry source ${name} refers to ${variable}, which is not set`;
  throw new Diagnostic('E-MAN-003', message, { hint: `set ${variable} in the environment`, location });
}

/** `.svc/config.yaml` of a workspace (D1 "Workspace and user configuration"). */
const workspaceConfig = z.lazy(() =>
  z.strictObject({
    containment: z.optional(z.enum(containmentClasses)),
    trace: z.optional(z.strictObject({ capture: z.enum(captureLevels) })),
  }),
);

const repository = z.lazy(() =>
  z.string().check(
    z.regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,38}\/[A-Za-z0-9._-]{1,100}$/, 'must be <owner>/<repo>'),
    z.refine((repo) => !/\/\.{1,2}$/.test(repo), 'must be <owner>/<repo>'),
  ),
);

/** Why the address of a registry is refused, as a clause; undefined when it is allowed: as an endpoint, and without the `/v1` that is added to it. */
export function registryAddressFault(text: string): string | undefined {
  return endpointFault(text) ?? (/\/v1\/*$/.test(text) ? 'must be without /v1' : undefined);
}

function sourceAddressFault(text: string): string | undefined {
  return text.startsWith(ociPrefix) ? ociAddressFault(withoutSlash(text)) : registryAddressFault(text);
}

function mirrorFault(text: string): string | undefined {
  return ociAddressFault(withoutSlash(text));
}

const address = z.lazy(() =>
  z.string().check(
    z.refine((text) => sourceAddressFault(text) === undefined, {
      error: ({ input }) => sourceAddressFault(String(input)),
    }),
  ),
);

const mirrorAddress = z.lazy(() =>
  z
    .string()
    .check(z.refine((text) => mirrorFault(text) === undefined, { error: ({ input }) => mirrorFault(String(input)) })),
);

const registrySource = z.lazy(() =>
  z.strictObject({
    name: z
      .string()
      .check(z.regex(/^[A-Za-z0-9][\w.-]{0,99}$/, 'must be letters, digits, dots, hyphens and underscores')),
    type: z.enum(sourceTypes),
    repo: z.optional(repository),
    url: z.optional(address),
    mirror: z.optional(mirrorAddress),
    token: z.optional(z.string().check(z.minLength(1))),
  }),
);

/** `~/.svc/config.yaml` of a user (D1 "Workspace and user configuration"). */
/** Its address is the id of the client (draft-ietf-oauth-client-id-metadata-document). */
const clientDocument = z
  .string()
  .check(
    z.refine(
      (text) => endpointFault(text) === undefined && /^https:\/\/[^/]+\/./.test(text),
      'must be an https address with a path, without user, query and fragment',
    ),
  );

const userConfig = z.lazy(() =>
  z.strictObject({
    registry: z.optional(
      z.strictObject({
        default: z.optional(z.string().check(z.minLength(1))),
        sources: z._default(z.array(registrySource), []),
      }),
    ),
    mcp: z.optional(z.strictObject({ client_metadata: z.optional(clientDocument) })),
    // Read by those whom they concern (`loadTrustPolicy`, `notifyCommand`).
    trust: z.optional(z.unknown()),
    notify: z.optional(z.unknown()),
  }),
);
