import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { onTestFinished } from 'vitest';

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { packArchive, type PackedFile } from '../../src/store/archive-writer.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';

/** The preamble of a component and nothing more: enough for everything that runs none. */
export const componentBytes = Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00]);
/** A component that exports one instance without functions, under a name of at most 100 letters. */
export function exporting(name: string): Buffer {
  const named = [0x01, 0x00, name.length, ...Buffer.from(name), 0x05, 0x00, 0x00];
  return Buffer.concat([componentBytes, Buffer.from([0x05, 0x03, 0x01, 0x01, 0x00, 0x0b, named.length, ...named])]);
}
/** With the export that a tool is called by. */
export const toolBytes = exporting('svc:tool/run@0.1.0');
export const moduleBytes = Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]);

/** A directory that is gone after the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'svc-store-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export async function writeFiles(directory: string, files: Readonly<Record<string, string | Buffer>>): Promise<void> {
  for (const [name, data] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), data);
  }
}

export function manifestText(keys: Readonly<Record<string, string>>): string {
  return Object.entries(keys)
    .map(([key, value]) => `${key}: ${value}\n`)
    .join('');
}

/** The files of a tool; `component` is appended to the component, so that two versions of it differ. */
export function toolFiles(name: string, version = '1.0.0', component = ''): PackedFile[] {
  return [
    { name: 'svc.yaml', data: Buffer.from(manifestText({ name, version, runtime: 'tool' })) },
    { name: 'component.wasm', data: Buffer.concat([componentBytes, Buffer.from(component)]) },
  ];
}

export function skillFiles(name: string, text: string): PackedFile[] {
  return [
    { name: 'svc.yaml', data: Buffer.from(manifestText({ name, version: '1.0.0', runtime: 'skill' })) },
    { name: 'skill.md', data: Buffer.from(text) },
  ];
}

export async function archiveBytes(files: readonly PackedFile[]): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of packArchive(files)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A project, a home and a package, all empty. */
export function emptyPlaces(): StorePlaces {
  const root = temporaryDirectory();
  return {
    manifestDir: join(root, 'project'),
    userHome: join(root, 'home'),
    packageRoot: join(root, 'package'),
    platform: 'linux-x86_64',
    sources: () => [],
  };
}

/** The codes of what a promise is refused with, in order. */
export async function codesOf(promise: Promise<unknown>): Promise<string[]> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof DiagnosticList) return error.diagnostics.map((diagnostic) => diagnostic.code);
  if (error instanceof Diagnostic) return [error.code];
  throw error ?? new Error('it was not refused');
}
