import { barePlan as bare, type LaunchPlan } from '../../../src/launch/launch-plan.ts';

/** The system's programs in a root of its own, with every namespace there is. */
export function composed(steps: LaunchPlan['root'] = [], changes: Partial<LaunchPlan> = {}): LaunchPlan {
  return {
    ...bare,
    namespaces: ['user', 'mount', 'pid', 'ipc', 'net', 'uts', 'cgroup'],
    root: [...systemRoot, ...steps],
    ...changes,
  };
}

/** The root of a system whose programs all lie in `/usr`. */
const systemRoot: LaunchPlan['root'] = [
  { kind: 'tmp', attributes: 14, bytes: 1_048_576, target: '/tmp' },
  { kind: 'bind', attributes: 7, source: '/usr', target: '/usr' },
  { kind: 'symlink', text: 'usr/bin', target: '/bin' },
  { kind: 'symlink', text: 'usr/lib', target: '/lib' },
  { kind: 'symlink', text: 'usr/lib64', target: '/lib64' },
  { kind: 'proc', attributes: 15, target: '/proc' },
];
