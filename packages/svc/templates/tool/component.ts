// A tool that greets somebody: the model calls it with a name and reads the greeting.
import { passed, type ToolInput, type ToolOutput } from '@svc/guest/tool';

/** `svc:tool/run`: one call. The arguments have passed the `input_schema` of svc.yaml. */
export const run = {
  run: ({ arguments: text }: ToolInput): ToolOutput => {
    const { who } = JSON.parse(text) as { who: string };
    return passed(`Hello, ${who}!`);
  },
};
