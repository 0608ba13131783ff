import { lookForGroups } from '../src/limits/control-group.ts';
import { type OwnGroupFacts, ownGroupFacts } from '../src/own-facts.ts';

export function cgroupFacts(): Omit<OwnGroupFacts, 'pid'> {
  return ownGroupFacts();
}

/** Whether `svc`, started as root among other processes, can make a control group that bounds the number of processes. */
export function rootIsBounded(): boolean {
  // Another process is in the group too: the tests.
  const facts = { ...ownGroupFacts(), pid: 0 };
  return (['cgroup-v2', 'cgroup-v1'] as const).some(
    (version) => lookForGroups(version, facts, ['pids']).kind === 'ahead',
  );
}
