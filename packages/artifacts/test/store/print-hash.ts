import { hashOfArchive } from '../../src/store/archive-writer.ts';

const files = [
  { name: 'svc.yaml', data: Buffer.from('name: echo\nversion: 1.0.0\nruntime: tool\n') },
  { name: 'bin/echo', data: Buffer.from('#!/bin/sh\n') },
  { name: 'component.wasm', data: Buffer.from([0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]) },
];

void hashOfArchive(files).then((hash) => process.stdout.write(`${hash}\n`));
