import { installEntries, type InstallRequest } from '../../src/store/install.ts';

const request = JSON.parse(process.argv[2] ?? '') as Omit<InstallRequest, 'onStored' | 'prepare'>;

void installEntries({ ...request, prepare: async () => await Promise.resolve(), onStored: () => undefined });
