/** Makes logs of the lines of a trace that record something that somebody may have to look at. */

import type { TraceLine } from '@svc/record/trace/events.ts';
import { attributes as names } from './genai-names.ts';
import { AttributeList, type LogRecord, severities } from './otlp-records.ts';

interface LogPlace {
  readonly sessionId: string;
  readonly span: LogRecord['span'];
  /** A text of others, redacted and cut. */
  readonly shown: (text: string) => string;
}

/** Returns null for a line that is no log. What others wrote in longer texts, such as an error, stays in the trace. */
export function logOf(line: TraceLine, { sessionId, span, shown }: LogPlace): LogRecord | null {
  const attributes = new AttributeList().add(names.session, sessionId);
  if ('task_id' in line) attributes.add(names.task, line.task_id);
  const log = (body: string, severity: LogRecord['severity'] = severities.warning): LogRecord => ({
    atMs: line.timestamp,
    severity,
    eventName: `svc.${line.event_type}`,
    body,
    attributes: attributes.list,
    span,
  });
  switch (line.event_type) {
    case 'hook_error':
      attributes.add(names.hook, shown(line.hook_name)).add(names.hookEvent, shown(line.event));
      return log('a hook failed');
    case 'spend_ceiling_reached':
      attributes.add(names.ceiling, line.ceiling).add(names.spent, line.spent);
      return log('the tokens of the session are used up');
    case 'compaction':
      attributes.add(names.outcome, line.outcome);
      if (line.hook_name !== undefined) attributes.add(names.hook, shown(line.hook_name));
      return log(
        'a conversation was to be compacted',
        line.outcome === 'failed' ? severities.warning : severities.info,
      );
    case 'delegation':
      attributes.add(names.agentName, shown(line.capsule)).add(names.outcome, line.status);
      return log('a delegation was refused');
    case 'resource_list':
    case 'resource_read':
    case 'peer_handle_redeem':
    case 'peer_file_fetch':
      if (line.outcome === 'ok') return null;
      attributes.add(names.outcome, shown(line.outcome));
      return log('a file was refused');
    case 'resource_refusals':
      attributes.add(names.outcome, shown(line.outcome)).add(names.count, line.count);
      return log('files were refused');
    case 'refusal':
      if (line.serious === undefined) return null;
      attributes.add(names.outcome, line.serious);
      return log('something serious was refused');
    case 'push_lost':
      attributes.add(names.count, line.lost);
      return log('notifications did not arrive');
    case 'logs_limit_reached':
      return log('the logs of the session are full');
    default:
      return null;
  }
}
