/** Reads from a manifest what a scope says of it beside its grants. */

import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import { chosenTools, serverToolName } from '@svc/artifacts/manifest/chosen-tools.ts';
import { type LoadedManifest, notifiedAddress } from '@svc/artifacts/manifest/loaded-manifest.ts';

type ManifestScope = Pick<
  ScopeObject,
  'tool_variables' | 'renamed_tools' | 'discovered_skills' | 'approvals' | 'notified'
>;

export function manifestScope(loaded: LoadedManifest): ManifestScope {
  return {
    ...toolVariables(loaded),
    ...renamedTools(loaded),
    ...discoveredSkills(loaded),
    ...approvals(loaded),
    ...notified(loaded),
  };
}

/** Their values may be secrets, and are not shown. */
function toolVariables({ manifest }: LoadedManifest): Pick<ScopeObject, 'tool_variables'> {
  const set = manifest.artifacts.flatMap(({ name, env = {} }) => {
    const names = Object.keys(env);
    return names.length === 0 ? [] : [[name, names] as const];
  });
  return set.length === 0 ? {} : { tool_variables: Object.fromEntries(set) };
}

function renamedTools({ manifest }: LoadedManifest): Pick<ScopeObject, 'renamed_tools'> {
  const renamed = manifest.artifacts.flatMap((entry) =>
    [...chosenTools(entry).names].map(([tool, name]) => [serverToolName(entry.name, name), tool] as const),
  );
  return renamed.length === 0 ? {} : { renamed_tools: Object.fromEntries(renamed) };
}

function discoveredSkills({ manifest }: LoadedManifest): Pick<ScopeObject, 'discovered_skills'> {
  const found = manifest.artifacts.flatMap(({ name, source = '', discovered }) =>
    discovered === true ? [[name, source] as const] : [],
  );
  return found.length === 0 ? {} : { discovered_skills: Object.fromEntries(found) };
}

function approvals({ manifest }: LoadedManifest): Pick<ScopeObject, 'approvals'> {
  if (manifest.approvals === undefined) return {};
  const { default: otherwise, opaque, rules } = manifest.approvals;
  return { approvals: { default: otherwise, opaque, rules } };
}

/** Its path may be a secret, and is not shown. */
function notified({ manifest }: LoadedManifest): Pick<ScopeObject, 'notified'> {
  const address = notifiedAddress(manifest);
  return address === null ? {} : { notified: address.origin };
}
