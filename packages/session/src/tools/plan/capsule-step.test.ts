import { expect, it } from 'vitest';

import { recordingContext } from '../../../test/tools/tool-context.ts';
import { capsuleStepsWithoutReferee } from './capsule-step.ts';

const step = { id: 'a', capsule: 'helper', version: '1.0.0', task: 'Count.' };

it.each([undefined, '', ' \t'])(
  'a capsule step with SVC_REFEREE_URL %j fails and says that it is not set [D2-CODE-02]',
  async (url) => {
    expect(await capsuleStepsWithoutReferee(url)(step, recordingContext())).toEqual({
      status: 'failed',
      reached: false,
      content: 'SVC_REFEREE_URL is not set: a capsule step asks the referee at that address',
      output: '',
      fenceSource: null,
      cut: false,
      exitCode: null,
      retryable: false,
    });
  },
);

it('a capsule step of a capsule that may delegate to nobody fails and says so', async () => {
  expect(await capsuleStepsWithoutReferee('http://127.0.0.1:7700')(step, recordingContext())).toMatchObject({
    status: 'failed',
    content: 'capabilities.spawn.allow does not list helper',
  });
});
