/** The codes of telemetry. */

import type { CatalogueEntry } from './catalogue-entry.ts';

/** Codes of what is sent to OpenTelemetry collectors; a part of the catalogue. */
export const telemetryCodes = {
  'W-OTL-001': {
    title: 'telemetry is asked for over a protocol that svc does not speak',
    explanation:
      'OTEL_EXPORTER_OTLP_PROTOCOL, or that of one signal, takes http/protobuf and http/json; svc does not speak gRPC. The signal is not sent and the session runs. Collectors take OTLP over HTTP on port 4318, where gRPC is on 4317.',
  },
  'W-OTL-002': {
    title: 'a variable of telemetry cannot be used',
    explanation:
      'The message names the variable and what it may be. Its value is not repeated, since it may hold a key. What stands in its place is said there too; without a usable address the signal is not sent. The session runs in any case.',
  },
  'W-OTL-003': {
    title: 'telemetry was lost',
    explanation:
      'Some spans, measures or logs did not reach the collector: it was away or slow for longer than 2,048 records can wait, it refused them, or it did not take the last ones within two seconds of the end. The session was not held up. session_end of its trace has the numbers, and svc trace export --otlp sends the whole trace again: spans that arrived before have the same ids.',
  },
  'E-OTL-004': {
    title: 'there is nowhere to send a trace to',
    explanation:
      'svc trace export --otlp sends to OTEL_EXPORTER_OTLP_ENDPOINT, or to the endpoints of the single signals. None is set, or none can be used; warnings before this say why.',
  },
  'E-OTL-005': {
    title: 'a trace was not sent whole',
    explanation:
      'svc trace export --otlp tries for a minute and says what the collector did not take. Run it again when the collector is there: what arrived already has the same ids.',
  },
} as const satisfies Record<string, CatalogueEntry>;
