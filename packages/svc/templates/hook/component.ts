import { observer, type Lifecycle } from './svc/hook.ts';

/** `svc:hook/lifecycle`: a function an event; `observer` has those that change nothing. */
export const lifecycle: Lifecycle = {
  ...observer,
  onToolCall: ({ arguments: text }) =>
    text.includes('password') ? { tag: 'deny', val: 'No passwords in calls, please.' } : { tag: 'proceed' },
};
