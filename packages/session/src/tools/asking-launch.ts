/** Has a person asked about the hosts, the requests and the programs of one program, in the middle of the call that has started it. */

import type { LaunchRequest } from '@svc/sandbox/launcher.ts';
import { AskedHosts } from './asked-hosts.ts';
import { AskedPrograms } from './asked-programs.ts';
import { AskedRequests } from './asked-requests.ts';
import { QuestionTurns } from './question-turns.ts';
import type { ToolCallContext } from './tool.ts';

interface AskingLaunch {
  /** To be ended with the call. */
  readonly turns: QuestionTurns;
  readonly asking: Pick<LaunchRequest, 'mayReach' | 'programs' | 'requests'>;
  /** Sentences on programs that were killed without a question. */
  readonly killed: () => readonly string[];
}

export function askingLaunch(
  { hosts, requests, programs }: Pick<ToolCallContext, 'hosts' | 'programs' | 'requests'>,
  {
    asksHosts = false,
    asksPrograms = false,
    asksRequests = false,
  }: { readonly asksHosts?: boolean; readonly asksPrograms?: boolean; readonly asksRequests?: boolean },
): AskingLaunch {
  const turns = new QuestionTurns();
  const asked = asksHosts && hosts !== undefined ? new AskedHosts(hosts, turns) : null;
  const judged = programs === undefined || !asksPrograms ? null : new AskedPrograms(programs, turns);
  return {
    turns,
    killed: judged?.killed ?? (() => []),
    asking: {
      ...(asked === null ? {} : { mayReach: asked.mayReach }),
      ...(asksRequests && requests !== undefined ? { requests: new AskedRequests(requests, turns) } : {}),
      ...(judged === null ? {} : { programs: judged }),
    },
  };
}
