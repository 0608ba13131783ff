import { installEntries, type InstallRequest } from '../../src/store/install.ts';

const request = JSON.parse(process.argv[2] ?? '') as Omit<InstallRequest, 'onStored'>;

void installEntries({ ...request, onStored: () => undefined });
