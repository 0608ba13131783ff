/** Opens the way out of processes with a network of their own: read with the first launch that has one, since few are granted a host. */

import type { Server } from 'node:net';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { systemResolver } from '@svc/kit/net/resolver.ts';
import { egressPortOf } from '../contained-environment.ts';
import type { ProcessGrants } from '../launch/process-grants.ts';
import type { ContainmentPlace } from '../session-containment.ts';
import { type AskedInLaunch, type EgressDecision, EgressLog } from './egress-rules.ts';
import { EgressProxy } from './egress-proxy.ts';

/** The way out of processes with a network of their own. */
export interface EgressDoor {
  /** `onDecision` hears where its connections were to lead, beside the log of the session; `asked` judges hosts that no grant names, and requests. */
  serve(listening: Server, onDecision: (decision: EgressDecision) => void, asked: AskedInLaunch): void;
  close(): Promise<void>;
}

/** Throws the error of the file system where its log cannot be made. */
export function openEgressDoor(
  grants: ProcessGrants,
  { privateDirectory, logs: budget, onDecision, onConnection, proxyFor }: ContainmentPlace,
): EgressDoor {
  const { networkAllow, servicePort, bound } = grants;
  const logs = join(privateDirectory, 'logs');
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  const log = new EgressLog(join(logs, 'egress.jsonl'), budget);
  const proxy = new EgressProxy({
    allow: networkAllow,
    resolver: systemResolver,
    onDecision: (decision) => {
      if (bound?.isTrial === true) return;
      log.write(decision);
      onDecision?.(decision);
    },
    ...(onConnection === undefined ? {} : { onConnection }),
    ...(proxyFor === undefined ? {} : { proxyFor }),
    ...(bound === undefined ? {} : { bound }),
    ...(servicePort === undefined ? {} : { service: { proxyPort: egressPortOf(grants), port: servicePort } }),
  });
  return {
    serve: (listening, heard, asked) => listening.on('connection', (socket) => proxy.accept(socket, heard, asked)),
    close: () => proxy.close(),
  };
}
