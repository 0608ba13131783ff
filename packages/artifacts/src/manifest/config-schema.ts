import * as z from 'zod/mini';

import { containmentClasses } from '@svc/protocol/containment-class.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';

/** `.svc/config.yaml` of a workspace (D1 "Workspace and user configuration"). */
export const workspaceConfig = z.lazy(() =>
  z.strictObject({
    containment: z.optional(z.enum(containmentClasses)),
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

const address = z.lazy(() =>
  z.string().check(
    z.refine((text) => registryAddressFault(text) === undefined, {
      error: ({ input }) => registryAddressFault(String(input)),
    }),
  ),
);

const registrySource = z.lazy(() =>
  z.strictObject({
    name: z
      .string()
      .check(z.regex(/^[A-Za-z0-9][\w.-]{0,99}$/, 'must be letters, digits, dots, hyphens and underscores')),
    type: z.enum(['github', 'registry']),
    repo: z.optional(repository),
    url: z.optional(address),
    token: z.optional(z.string().check(z.minLength(1))),
  }),
);

/** `~/.svc/config.yaml` of a user (D1 "Workspace and user configuration"). */
export const userConfig = z.lazy(() =>
  z.strictObject({
    registry: z.optional(
      z.strictObject({
        default: z.optional(z.string().check(z.minLength(1))),
        sources: z._default(z.array(registrySource), []),
      }),
    ),
  }),
);
