import { installEntries, type InstallRequest } from '../../src/store/install.ts';

const request = JSON.parse(process.argv[2] ?? '') as Omit<
  InstallRequest,
  'onSkills' | 'onStored' | 'prepare' | 'sources'
>;

void installEntries({
  ...request,
  sources: () => [],
  prepare: async () => await Promise.resolve(),
  onSkills: async () => await Promise.resolve(),
  onStored: () => undefined,
});
