import { lookForGroupPlace, type OwnGroupFacts } from '../src/control-group.ts';
import { lookForGroupsV1 } from '../src/limits/control-group-v1.ts';
import { ownGroupFacts } from '../src/own-facts.ts';

export function cgroupFacts(): Omit<OwnGroupFacts, 'pid'> {
  return ownGroupFacts();
}

/** Whether `svc`, started as root among other processes, can make a control group that bounds the number of processes. */
export function rootIsBounded(): boolean {
  // Another process is in the group too: the tests.
  const facts = { ...ownGroupFacts(), pid: 0 };
  return [lookForGroupPlace, lookForGroupsV1].some((look) => look(facts, ['pids']).kind === 'ahead');
}
