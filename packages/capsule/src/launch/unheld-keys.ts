/** Refuses launches whose programs could not be held to the credential or the rules of a host. */

import type { ArtifactGrants } from '@svc/artifacts/grants/artifact-grants.ts';
import type { EffectiveGrants } from '@svc/artifacts/grants/effective-grants.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { isProgram } from './unheld-grants.ts';
import { formatDestination, isCovered, type NetworkDestination } from '@svc/kit/net/network-destination.ts';

type BoundGrants = Pick<EffectiveGrants, 'bindings' | 'networkAllow' | 'shellAllow' | 'processDriver'>;

/** `E-CAP-031` for commands, and for a driver that is a program. */
export function unheldCommands(
  grants: BoundGrants,
  { locate }: Pick<LoadedManifest, 'locate'>,
  achieved: ContainmentClass,
): readonly Diagnostic[] {
  if (achieved === 'sealed') return [];
  const who = [
    ...(grants.shellAllow.length === 0 ? [] : ['commands']),
    ...(grants.processDriver === null ? [] : ['the program of the driver']),
  ];
  return who.flatMap((each) => refusals(each, grants.networkAllow, grants, locate));
}

/** `E-CAP-031` for native tools and MCP servers, which are known by what their archives hold. */
export function unheldTools(
  artifacts: readonly Pick<InstalledArtifact, 'entry' | 'manifest'>[],
  grants: BoundGrants & { readonly artifacts: readonly ArtifactGrants[] },
  { locate }: Pick<LoadedManifest, 'locate'>,
  achieved: ContainmentClass,
): readonly Diagnostic[] {
  if (achieved === 'sealed') return [];
  const programs = artifacts.filter(({ entry, manifest }) => entry.runtime === 'tool' && isProgram(manifest));
  return programs.flatMap(({ entry: { name } }) => {
    const own = grants.artifacts.find((each) => each.name === name);
    return refusals(`the program of ${name}`, own?.networkAllow ?? [], grants, locate);
  });
}

function refusals(
  who: string,
  reached: readonly NetworkDestination[],
  { bindings }: Pick<BoundGrants, 'bindings'>,
  locate: LoadedManifest['locate'],
): readonly Diagnostic[] {
  return bindings
    .filter(({ destination }) => isCovered(reached, destination))
    .map(({ destination, credential }) => {
      const what = credential === null ? 'rules' : `the credential ${credential}`;
      const message = `${formatDestination(destination)} is granted with ${what}, and ${who} can be held to that in class sealed alone`;
      return new Diagnostic('E-CAP-031', message, { location: locate(['capabilities', 'network', 'allow'], 'key') });
    });
}
