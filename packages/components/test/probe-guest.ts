import type { GuestCall } from './fake-component.ts';

interface Order {
  readonly op: string;
  readonly texts?: readonly string[];
  readonly prompt?: string;
}

/** The guest of component-contract.ts as a function of the test. */
export async function probeGuest({ args, imports }: GuestCall): Promise<unknown> {
  const [input] = args as [{ readonly arguments: string }];
  const order = JSON.parse(input.arguments) as Order;
  switch (order.op) {
    case 'echo':
      return passed(input.arguments);
    case 'emit':
      for (const text of order.texts ?? []) await imports('svc:text/chunks@0.1.0#emit-chunk')(text);
      await imports('svc:text/chunks@0.1.0#emit-thinking-chunk')('thought');
      return passed('emitted');
    case 'ask':
      return await imports('svc:task/task@0.1.0#request-input')(order.prompt).then(
        (answer) => passed(`answered: ${String(answer)}`),
        (refusal: Error) => passed(`refused: ${refusal.message}`),
      );
    case 'loop':
      return await new Promise(() => {});
    default:
      throw new Error('unreachable');
  }
}

function passed(content: string): { status: string; content: string; truncated: boolean } {
  return { status: 'passed', content, truncated: false };
}
