import type { BuildOptions } from 'esbuild';

export interface GuestEntry {
  readonly entryPoint: string;
  /** The module that gives the guest `TextEncoder` and `TextDecoder`. */
  readonly textCodec: string;
}

/** How esbuild makes one script for the guest's engine, which has neither a module resolver nor the globals of a browser. */
export function guestBundle({ entryPoint, textCodec }: GuestEntry) {
  return {
    entryPoints: [entryPoint],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2023',
    minify: true,
    legalComments: 'none',
    external: ['svc:*', 'wasi:*'],
    inject: [textCodec],
  } satisfies BuildOptions;
}
