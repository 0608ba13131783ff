/** The row of tabs, with the filters beside them. */

import type { JSX, TargetedKeyboardEvent } from 'preact';

import { type Tab, tabs, type View } from '../store/view.ts';
import { counted } from '../text/words.ts';
import { MarkdownSwitch } from './drawn-markdown.tsx';
import { theirs } from './theirs.tsx';

const words: Readonly<Record<Tab, string>> = {
  steps: 'Steps',
  conversation: 'Conversation',
  grants: 'Grants',
  files: 'Files',
  compare: 'Compare',
};

export function ToolBar({ view }: { readonly view: View }): JSX.Element {
  const { tab, onlyFailed, onlyName, query, shown, onlyTask, session } = view;
  const isFiltered = shown.length !== session.count.value;
  const task = session.tasks.value[onlyTask.value];
  return (
    <div class="tools">
      <div class="tabs" role="tablist" aria-label="Views" onKeyDown={(event) => moveTab(event, view)}>
        {tabs.map((each) => (
          <button
            role="tab"
            id={`tab-${each}`}
            aria-controls="tab-panel"
            aria-selected={tab.value === each}
            tabIndex={tab.value === each ? 0 : -1}
            onClick={() => void (tab.value = each)}
          >
            {words[each]}
          </button>
        ))}
      </div>
      <span class="spring" />
      {task !== undefined && <Only text={task.text} what="tasks" onClick={() => view.pickTask(onlyTask.value)} />}
      {onlyName.value !== '' && <Only text={onlyName.value} what="steps" onClick={() => void (onlyName.value = '')} />}
      {tab.value === 'conversation' && <MarkdownSwitch />}
      {tab.value === 'steps' && (
        <>
          <button
            class="filter failed-only"
            aria-pressed={onlyFailed.value}
            onClick={() => void (onlyFailed.value = !onlyFailed.value)}
          >
            Failed only
          </button>
          <label class="search">
            <span class="off">Search steps</span>
            <input
              id="search"
              type="search"
              placeholder="Search  /"
              value={query.value}
              onInput={({ currentTarget }) => void (query.value = currentTarget.value)}
            />
          </label>
          <output class={isFiltered ? 'filtered' : ''}>{counted(shown.length, 'line')}</output>
        </>
      )}
      {(view.selected.value !== -1 || tab.value === 'steps' || tab.value === 'conversation') && (
        <button class="filter over-only" onClick={() => void (view.isPanelOpen.value = !view.isPanelOpen.value)}>
          {view.selected.value === -1 ? 'Summary' : 'Step'}
        </button>
      )}
    </div>
  );
}

/** What alone is shown, until somebody presses it. */
function Only({
  text,
  what,
  onClick,
}: {
  readonly text: string;
  readonly what: string;
  readonly onClick: () => void;
}): JSX.Element {
  return (
    <button class="filter chosen-task" title={`Show all ${what}`} onClick={onClick}>
      <span class="theirs">{theirs(text.slice(0, 60))}</span> <span aria-hidden="true">✕</span>
      <span class="off">, show all {what}</span>
    </button>
  );
}

/** Left and right go from tab to tab, as in every row of tabs. */
function moveTab(event: TargetedKeyboardEvent<HTMLElement>, { tab }: View): void {
  const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (by === 0 || event.shiftKey) return;
  event.preventDefault();
  const next = tabs[(tabs.indexOf(tab.value) + by + tabs.length) % tabs.length];
  if (next === undefined) return;
  tab.value = next;
  document.getElementById(`tab-${next}`)?.focus();
}
