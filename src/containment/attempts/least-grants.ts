import type { ProcessGrants } from '../launch/process-grants.ts';

/** What a process is granted that is granted nothing but its workdir. */
export const leastGrants: ProcessGrants = {
  commands: [],
  scope: '.',
  writable: true,
  workdirExec: false,
  networkAllow: [],
  unixSockets: false,
  limits: {
    processes: 128,
    open_files: 1024,
    file_size: 64 * 1024 * 1024,
    cpu: 60,
    memory: 512 * 1024 * 1024,
    workdir_max_bytes: 64 * 1024 * 1024,
  },
};

/** A variable that no attempt is granted. */
export const ungrantedVariable = 'SVC_ATTEMPTS_SECRET';
