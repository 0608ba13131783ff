/** Shows one version of an artifact to people, and as JSON. */

import { loadTrustPolicy } from '@svc/artifacts/manifest/trust-policy.ts';
import { type ArtifactRef, spell } from '@svc/artifacts/store/artifact-ref.ts';
import type { LocalCopy } from '@svc/artifacts/store/list-stored.ts';
import { renderSigner } from '@svc/artifacts/store/trust/rule-signers.ts';
import { encodeSigner } from '@svc/artifacts/store/trust/signer.ts';
import type { Verdict } from '@svc/artifacts/store/trust/verify-bundles.ts';
import type { Asked } from '@svc/components/component-outline.ts';
import type { PublishedVersion } from '@svc/protocol/version-states.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { say, type Shown } from '@svc/terminal/screen/shown.ts';
import { shownBytes } from '@svc/kit/shown-values.ts';
import type { InsideFacts } from './look-inside.ts';

/** What is known of a version. */
interface VersionFacts {
  /** What the registry says; null where it was not asked, or has none. */
  readonly known: PublishedVersion | null;
  /** It is null where nobody has looked. */
  readonly inside: InsideFacts | null;
  readonly copies: readonly LocalCopy[];
  /** Names that the manifest gives to tools of a server, by those that the server has; absent where nobody has looked inside. */
  readonly renamed?: ReadonlyMap<string, string>;
}

/** As `--json` has it (docs/cli.md "svc info"). */
export function objectOf(
  { name, version }: ArtifactRef,
  { known, inside, copies, renamed = new Map() }: VersionFacts,
): Record<string, unknown> {
  const { state = null, reason = null, archives = null } = known ?? {};
  const here = copies.map(({ origin, platform, bytes, sha256, signatures }) => {
    return { origin, platform, size: bytes, sha256, signatures: origin === 'bundled' ? null : signatures };
  });
  const told = { name, version, state, reason, archives, here };
  if (inside === null) return told;
  const { kind, implementation, description, tags, inputSchema, command, server, hook, component } = inside;
  return {
    ...told,
    kind,
    implementation,
    description,
    tags,
    input_schema: inputSchema,
    command,
    server: server === null ? null : { url: server.url, logged_in: server.hasLogin },
    renamed_tools: Object.fromEntries(renamed),
    hook,
    world: component?.world ?? null,
    exports: component?.exports ?? null,
    imports: component?.imports ?? null,
    asks_for: component?.asksFor ?? null,
    platform: inside.platform,
    sha256: inside.sha256,
    size: inside.bytes,
    signatures: inside.signatures?.map(verdictObject) ?? null,
    unasked: inside.unasked,
  };
}

function verdictObject(verdict: Verdict): Record<string, unknown> {
  if (verdict.kind === 'valid') return { signed_by: encodeSigner(verdict.signer), reason: null };
  return { signed_by: null, reason: verdict.reason };
}

/** A line for each thing there is to say. */
export function linesOf(ref: ArtifactRef, facts: VersionFacts, context: CommandContext): readonly Shown[] {
  const { known, inside, copies, renamed = new Map<string, string>() } = facts;
  const rows: (readonly [title: string, value: string | null])[] = [
    ['artifact', spell(ref)],
    ...(inside === null ? [] : insideRows(inside)),
    ['state', known?.state ?? null],
    ['reason', known?.reason ?? null],
    ...publishRows(known),
    ['here', copies.length === 0 ? null : [...new Set(copies.map(({ origin }) => origin))].join(' ')],
    ...(inside === null ? [] : signatureRows(inside, context)),
    ...(inside === null ? [] : reachRows(inside)),
    ...[...renamed].map(([tool, name]) => ['renamed', `${tool} as ${name}`] as const),
  ];
  return rows.flatMap(([title, value]) => (value === null ? [] : [say`${title.padEnd(11)}  ${value}\n`]));
}

type Row = readonly [title: string, value: string | null];

function insideRows({ kind, implementation, platform, bytes, sha256, description, tags }: InsideFacts): Row[] {
  return [
    ['kind', implementation === null ? kind : `${kind} (${implementation})`],
    ['platform', platform ?? 'any'],
    ['size', shownBytes(bytes)],
    ['sha256', sha256],
    ['description', description],
    ['tags', tags.length === 0 ? null : tags.join(' ')],
  ];
}

function publishRows(known: PublishedVersion | null): Row[] {
  return (known?.archives ?? []).flatMap(({ platforms, published_at: at, published_by: by }) => {
    if (at === null) return [];
    const what = platforms.length === 0 ? '' : `, for ${platforms.map((pair) => pair.join('-')).join(' ')}`;
    return [['published', `${at}${by === null ? '' : ` by ${by}`}${what}`] as const];
  });
}

function signatureRows({ signatures, unasked }: InsideFacts, { home }: CommandContext): Row[] {
  if (signatures === null) return [['signed by', 'nobody on its own: it is a part of svc']];
  const policy = signatures.length === 0 ? null : loadTrustPolicy(home);
  const rows = signatures.map((verdict): Row => {
    if (verdict.kind === 'valid') return ['signed by', renderSigner(verdict.signer, policy)];
    return ['signature', `not known to hold: ${verdict.reason}`];
  });
  if (unasked !== null) rows.push(['signatures', `maybe more at its source, which did not answer: ${unasked}`]);
  return rows.length === 0 ? [['signed by', 'nobody']] : rows;
}

/** What the first three are is in docs/manifest.md "Narrowing". */
const shownAsked: Readonly<Record<Asked, string>> = {
  filesystem: 'files (filesystem)',
  network: 'requests (network)',
  env: 'variables (env)',
  task: 'answers of the client that gave the task',
  model: 'answers of the model',
};

function reachRows({ kind, implementation, command, server, hook, component, inputSchema }: InsideFacts): Row[] {
  const asked = component?.asksFor.map((each) => shownAsked[each]) ?? null;
  return [
    ['command', command === null ? null : JSON.stringify(command)],
    ['server', server === null ? null : `${server.url}${server.hasLogin ? ', where you are logged in' : ''}`],
    ['called at', hook?.binding.join(' ') ?? null],
    ['may change', hook === null ? null : hook.commit_policy.join(' ') || 'nothing'],
    ['world', component?.world ?? null],
    ...byPackage(component?.exports ?? []).map((names) => ['exports', names] as const),
    ...byPackage(component?.imports ?? []).map((names) => ['imports', names] as const),
    [
      'asks for',
      asked === null ? (server === null ? programAsks(kind, implementation) : null) : asked.join(', ') || 'nothing',
    ],
    ['input', inputSchema === null ? null : JSON.stringify(inputSchema)],
  ];
}

/** A line for each package with its version: `wasi:io@0.2.12 error poll streams`. */
function byPackage(names: readonly string[]): readonly string[] {
  const packages = new Map<string, string[]>();
  for (const name of names) {
    const [, owner = name, member = '', version = ''] = /^([^/]*)\/([^@]*)(@.*)?$/.exec(name) ?? [];
    const members = packages.get(`${owner}${version}`) ?? [];
    members.push(member);
    packages.set(`${owner}${version}`, members);
  }
  return [...packages].map(([owner, members]) => [owner, ...members].join(' '));
}

/** A program names nothing that it needs: it gets what the capsule has for it. */
function programAsks(kind: InsideFacts['kind'], implementation: InsideFacts['implementation']): string | null {
  if (kind === 'capsule' || (implementation !== 'native' && implementation !== 'mcp')) return null;
  return 'all that the capsule grants: it is a program';
}
