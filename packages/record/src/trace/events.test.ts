import { describe, expect, it } from 'vitest';

import { traceEventSchemas } from './events.ts';

describe('the types of trace lines', () => {
  it('include all that the documents name', () => {
    expect(Object.keys(traceEventSchemas)).toEqual(
      expect.arrayContaining([
        'session_start',
        'tool_call',
        'skill_call',
        'delegation',
        'resource_list',
        'resource_read',
        'peer_handle_mint',
        'peer_handle_redeem',
        'peer_file_fetch',
      ]),
    );
  });
});
