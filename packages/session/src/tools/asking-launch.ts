/** Has a person asked about the hosts and the requests of one program, in the middle of the call that has started it. */

import type { LaunchRequest } from '@svc/sandbox/launcher.ts';
import { AskedHosts } from './asked-hosts.ts';
import { AskedRequests } from './asked-requests.ts';
import { QuestionTurns } from './question-turns.ts';
import type { ToolCallContext } from './tool.ts';

interface AskingLaunch {
  /** To be ended with the call. */
  readonly turns: QuestionTurns;
  readonly asking: Pick<LaunchRequest, 'mayReach' | 'requests'>;
}

export function askingLaunch(
  { hosts, requests }: Pick<ToolCallContext, 'hosts' | 'requests'>,
  { asksHosts = false, asksRequests = false }: { readonly asksHosts?: boolean; readonly asksRequests?: boolean },
): AskingLaunch {
  const turns = new QuestionTurns();
  const asked = asksHosts && hosts !== undefined ? new AskedHosts(hosts, turns) : null;
  return {
    turns,
    asking: {
      ...(asked === null ? {} : { mayReach: asked.mayReach }),
      ...(asksRequests && requests !== undefined ? { requests: new AskedRequests(requests, turns) } : {}),
    },
  };
}
