/** The tool that reads and changes files as a component. */

import type { ToolInput, ToolOutput } from '@svc/guest/tool.ts';
import { edit } from './editor.ts';
import { WasiFileTree } from './wasi-file-tree.ts';

const tree = new WasiFileTree();

/** `svc:tool/run` */
export const run = {
  run: (input: ToolInput): ToolOutput => edit(tree, input.arguments),
};
