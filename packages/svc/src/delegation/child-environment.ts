import { encodeSpawnerHandle, type SpawnerHandle } from '@svc/protocol/spawner-handle.ts';

/** What the referee's client and nobody's manifest decides about. */
const ownNames: ReadonlySet<string> = new Set(['PATH', 'HOME', 'SVC_REFEREE_URL', 'SVC_SPAWNER']);

export interface ChildEnvironmentRequest {
  /** The parent's process environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `capabilities.env.allow` of the parent and of the child. */
  readonly parentAllow: readonly string[];
  readonly childAllow: readonly string[];
  readonly refereeUrl: string;
  /** Null for a child that is to report to nobody. */
  readonly handle: SpawnerHandle | null;
}

/**
 * The whole environment of a child (D2 "Child environment"): cleared but for what the runtime sets and what both manifests name and the
 * parent holds.
 */
export function childEnvironment(request: ChildEnvironmentRequest): Readonly<Record<string, string>> {
  const { env, parentAllow, childAllow, refereeUrl, handle } = request;
  const inBoth = childAllow.filter((name) => parentAllow.includes(name) && !ownNames.has(name));
  const held = ['PATH', 'HOME', ...inBoth].flatMap((name) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries([
    ...held,
    ['SVC_REFEREE_URL', refereeUrl],
    ...(handle === null ? [] : [['SVC_SPAWNER', encodeSpawnerHandle(handle)] as const]),
  ]);
}
