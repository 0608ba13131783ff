import { describeComponentContract } from './component-contract.ts';
import { fakeComponent, type GuestCall } from './fake-component.ts';

async function obey({ args, imports }: GuestCall): Promise<unknown> {
  const [input] = args as [{ arguments: string; callId?: string }];
  switch ((JSON.parse(input.arguments) as { do: string }).do) {
    case 'echo':
      return passed(`${input.callId ?? 'none'}: ${input.arguments}`);
    case 'chunks':
      await imports('svc:text/chunks@0.1.0#emit-chunk')('a');
      await imports('svc:text/chunks@0.1.0#emit-thinking-chunk')('b');
      await imports('svc:text/chunks@0.1.0#emit-chunk')('c');
      return passed('');
    case 'ask':
      return await imports('svc:task/task@0.1.0#request-input')('why?').then(
        (answer) => passed(String(answer)),
        (refusal: Error) => ({ ...passed(refusal.message), status: 'failed' }),
      );
    case 'hang':
      return await new Promise(() => {});
    default:
      throw new Error('unreachable');
  }
}

function passed(content: string): { status: string; content: string; truncated: boolean } {
  return { status: 'passed', content, truncated: false };
}

describeComponentContract('the fake', () => Promise.resolve(fakeComponent(obey)));
