/** Opens drivers that run in this process; nothing is read here that only a component needs. */

import type { DriverCode } from '@svc/guest/provider/driver-ports.ts';
import type { HostResolver } from '@svc/kit/net/resolver.ts';
import type { ComponentGrants } from '../component.ts';
import { HostedComponent } from '../hosted-component.ts';
import type { Instance } from '../instance.ts';
import { InProcessInstance } from './in-process-instance.ts';

interface Opening {
  readonly code: () => Promise<DriverCode>;
  readonly grants: ComponentGrants;
  /** The host's own when absent. */
  readonly resolver: HostResolver | undefined;
}

/** A driver that is called like a component. */
export function openInProcess(opening: Opening): HostedComponent {
  const { imports: mode = { kind: 'live' } } = opening.grants;
  return new HostedComponent({ mode, open: () => instanceInProcess(opening), onClose: () => {} });
}

export function instanceInProcess({ code, grants, resolver }: Opening): Instance {
  const { imports: mode = { kind: 'live' }, maxMemoryBytes } = grants;
  const outbound = { grants, ...(resolver === undefined ? {} : { resolver }) };
  return new InProcessInstance({ open: code, outbound, mode, maxMemoryBytes });
}
