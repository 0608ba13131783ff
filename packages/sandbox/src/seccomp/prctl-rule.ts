/** The rule for `prctl`, by what it is asked for. */

import { whenOneOf } from './rule.ts';

/**
 * The options of `prctl` that a program may use. Not among them, for a reason: PR_SET_MM (what a process says it is),
 * PR_SET_PTRACER, PR_SET_SECUREBITS and PR_SET_KEEPCAPS, PR_SET_SPECULATION_CTRL, PR_SET_MEMORY_MERGE (tells what other
 * processes hold in memory), PR_SET_IO_FLUSHER, PR_SCHED_CORE, PR_SET_SYSCALL_USER_DISPATCH.
 */
const options = {
  setParentDeathSignal: 1,
  getParentDeathSignal: 2,
  getDumpable: 3,
  setDumpable: 4,
  getKeepCapabilities: 7,
  setName: 15,
  getName: 16,
  getSeccomp: 21,
  // Narrows only, as the call `seccomp` does, and has no flags.
  setSeccomp: 22,
  readBoundingSet: 23,
  dropFromBoundingSet: 24,
  getSecureBits: 27,
  setTimerSlack: 29,
  getTimerSlack: 30,
  setChildSubreaper: 36,
  getChildSubreaper: 37,
  // The kernel takes nothing but 1.
  setNoNewPrivileges: 38,
  getNoNewPrivileges: 39,
  setHugePagesDisabled: 41,
  getHugePagesDisabled: 42,
  // Raising a capability takes having it.
  ambientCapabilities: 47,
  setVectorLength: 50,
  getVectorLength: 51,
  getSpeculationControl: 52,
  resetPointerKeys: 54,
  setTaggedAddresses: 55,
  getTaggedAddresses: 56,
  setEnabledPointerKeys: 60,
  getEnabledPointerKeys: 61,
  setMatrixVectorLength: 63,
  getMatrixVectorLength: 64,
  setDenyWriteExecute: 65,
  getDenyWriteExecute: 66,
  getShadowStack: 74,
  setShadowStack: 75,
  lockShadowStack: 76,
  getAuxiliaryVector: 0x4155_5856,
  nameMemory: 0x5356_4d41,
};

/** Other options are answered as by a kernel that does not know them: what programs expect of `prctl`. */
export const processControlRule = whenOneOf(0, Object.values(options), { yes: 'allow', no: 'EINVAL' });
