import { expect, it } from 'vitest';
import { z } from 'zod';

import { traceEventSchemas, traceLine } from '@svc/record/trace/events.ts';

it('the documentation publishes the schemas of the trace', async () => {
  const lines = Object.entries(traceEventSchemas).map(([type, schema]) =>
    traceLine.extend({ event_type: z.literal(type), ...schema.shape }).meta({ title: type }),
  );
  const schema = z.toJSONSchema(z.union(lines).meta({ title: 'A line of trace.jsonl' }), { io: 'input' });
  await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot('../../docs/trace.schema.json');
});
