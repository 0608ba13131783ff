/** Leads what the component of a tool is about to change to the rules of paths, in the middle of its call. */

import type { CallVerdict, FileOperation, Tool } from '../tools/tool.ts';
import type { CallRules } from './call-rules.ts';

/** Changes of one call that do not just pass. A component may try as often as it likes, and each is recorded. */
const maxAsked = 64;

/**
 * The tool, whose component is held to rules of paths. `replaces` says that it puts a file into the place of another: it writes the new one beside it,
 * under a name of its own, and renames it.
 */
export function withAskedChanges(tool: Tool, rules: CallRules, { replaces }: { readonly replaces: boolean }): Tool {
  return {
    ...tool,
    call: async (args, context) => {
      const { judgeChange } = context;
      if (judgeChange === undefined) return await tool.call(args, context);
      const call = { toolName: tool.name, kind: tool.kind, artifact: tool.artifact, arguments: args };
      const replaced = new ReplacedFiles(replaces ? args['path'] : undefined);
      let asked = 0;
      const judged = async (change: FileOperation): Promise<CallVerdict> => {
        const decision = rules.ofChange(call, change);
        if (decision === null || decision.verdict === 'allow') return { kind: 'proceed' };
        asked += 1;
        if (asked > maxAsked) return { kind: 'deny', reason: 'the call has tried too often', by: 'approvals' };
        return await judgeChange(change);
      };
      return await tool.call(args, {
        ...context,
        judgeChange: async (change) => await replaced.through(change, judged),
      });
    },
  };
}

/** How the editor names a new file that is to replace another. */
const newFile = /^\.svc-edit-[0-9a-z]{1,16}-[0-9]{1,2}$/;

/** New files of one call, each of which is judged as the file that it is to replace. */
class ReplacedFiles {
  readonly #name: string | null;
  /** By their paths, the paths that were judged. */
  readonly #meant = new Map<string, string>();

  /** `given` is the argument that names the file. */
  constructor(given: unknown) {
    const last =
      typeof given === 'string' ? given.split('/').findLast((part) => part !== '' && part !== '.') : undefined;
    this.#name = last === undefined || last === '..' ? null : last;
  }

  async through(change: FileOperation, judge: (change: FileOperation) => Promise<CallVerdict>): Promise<CallVerdict> {
    const { operation, path, to } = change;
    const meant = this.#meant.get(path);
    if (meant !== undefined && (operation === 'remove' || (operation === 'rename' && to === meant))) {
      return { kind: 'proceed' };
    }
    const at = path.lastIndexOf('/') + 1;
    if (operation !== 'write' || this.#name === null || !newFile.test(path.slice(at))) return await judge(change);
    const target = `${path.slice(0, at)}${this.#name}`;
    const verdict = await judge({ ...change, path: target });
    if (verdict.kind === 'proceed') this.#meant.set(path, target);
    return verdict;
  }
}
