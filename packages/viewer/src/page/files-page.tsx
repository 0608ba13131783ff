/** The tab Files: what the session left and changed, as a tree; and of the chosen file its changes and its text. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import type { ViewedFacts, ViewedFiles } from '@svc/protocol/viewed-session.ts';
import type { FileChanges } from '@svc/protocol/viewed-rows.ts';
import { type FileEntry, resultPath, treeOf, type TreeLine } from '../store/file-tree.ts';
import type { Source } from '../store/source.ts';
import type { View } from '../store/view.ts';
import { counted, duration, size } from '../text/words.ts';
import { loaded, useLoading } from './loading.tsx';
import { imageKind, Picture } from './picture.tsx';
import { saveFile } from './save-file.ts';
import { Changes, Diff, TextBlock, theirs } from './theirs.tsx';

interface FilesProps {
  readonly view: View;
  readonly facts: ViewedFacts;
  readonly source: Source;
}

const maxLines = 2000;

export function FilesPage({ view, facts, source }: FilesProps): JSX.Element {
  const { session } = view;
  const [chosen, choose] = useState<string | null>(null);
  const again = { follows: () => view.slowCount.value };
  const changes = useLoading(() => session.ask('changes', null), [session], again);
  const list = useLoading(
    async (): Promise<ViewedFiles> =>
      facts.has.files ? await source.files(facts.id) : { files: [], truncated: false },
    [facts.id, facts.has.files],
    again,
  );
  if (changes.kind === 'loading' || list.kind === 'loading') return <p class="empty">Reading…</p>;
  const entries = entriesOf(
    list.kind === 'there' ? list.value : { files: [], truncated: false },
    changes.kind === 'there' ? changes.value : [],
  );
  const fault = list.kind === 'fault' ? list.why : '';
  if (entries.length === 0) {
    return (
      <p class="empty">
        {fault === '' ? 'No file was changed by a tool that says so, and nothing was left in out/.' : fault}
      </p>
    );
  }
  const tree = treeOf(entries);
  const path = chosen ?? tree.find(({ file }) => file !== null)?.path ?? '';
  const file = entries.find((entry) => entry.path === path);
  return (
    <section class="files" aria-label="Files">
      <nav class="tree" aria-label="Changed files" tabIndex={0}>
        <p class="tree-head">{counted(entries.length, 'file')}</p>
        <ul>
          {tree.slice(0, maxLines).map((line) => (
            <TreeRow
              line={line}
              isChosen={line.file !== null && line.path === path}
              onChoose={() => choose(line.path)}
            />
          ))}
        </ul>
        {tree.length > maxLines && (
          <p class="note">{counted(tree.length - maxLines, 'more line', 'more lines')} are not shown.</p>
        )}
        {list.kind === 'there' && list.value.truncated && (
          <p class="note">There are more files than the server tells of.</p>
        )}
        {fault !== '' && <p class="note">{fault}</p>}
      </nav>
      {file !== undefined && <OneFile key={file.path} file={file} view={view} facts={facts} source={source} />}
    </section>
  );
}

function entriesOf({ files }: ViewedFiles, changes: readonly FileChanges[]): readonly FileEntry[] {
  const entries = new Map<string, FileEntry>();
  for (const { path, bytes } of files) entries.set(path, { path, bytes, added: 0, removed: 0, rows: [] });
  for (const { path, added, removed, rows } of changes) {
    const clean = path.replace(/^(?:\.\/)+/, '');
    entries.set(clean, { path: clean, bytes: entries.get(clean)?.bytes ?? null, added, removed, rows });
  }
  return [...entries.values()];
}

function TreeRow({
  line,
  isChosen,
  onChoose,
}: {
  readonly line: TreeLine;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}): JSX.Element {
  const { depth, name, file } = line;
  const paddingLeft = `${8 + depth * 14}px`;
  if (file === null) {
    return (
      <li class="folder" style={{ paddingLeft }}>
        <span class="theirs">{theirs(name)}/</span>
      </li>
    );
  }
  return (
    <li>
      <button
        class={`leaf ${isChosen ? 'on' : ''}`}
        style={{ paddingLeft }}
        aria-current={isChosen ? 'true' : undefined}
        onClick={onChoose}
      >
        <span class="theirs leaf-name">{theirs(name)}</span>
        {file.rows.length > 0 ? (
          <Changes added={file.added} removed={file.removed} />
        ) : (
          file.bytes !== null && <span class="faint">{size(file.bytes)}</span>
        )}
      </button>
    </li>
  );
}

interface OneFileProps extends FilesProps {
  readonly file: FileEntry;
}

function OneFile({ file, view, facts, source }: OneFileProps): JSX.Element {
  const [isWholeShown, setWhole] = useState(file.path === resultPath || file.rows.length === 0);
  const canRead = file.bytes !== null;
  return (
    <article class="file" tabIndex={0} aria-label="File">
      <header class="file-head">
        <h2 class="theirs mono">{theirs(file.path)}</h2>
        {canRead && (
          <button class="button" onClick={() => void save(source, facts.id, file.path)}>
            Save
          </button>
        )}
      </header>
      {file.path === resultPath && <p class="faint">What the session gave as its result.</p>}
      {canRead && file.rows.length > 0 && (
        <button class="unfold" aria-expanded={isWholeShown} onClick={() => setWhole(!isWholeShown)}>
          The file as it is now{file.bytes === null ? '' : `, ${size(file.bytes)}`}
        </button>
      )}
      {canRead && isWholeShown && <FileText file={file} facts={facts} source={source} />}
      {!canRead && <p class="note">The file itself is not here: what follows is what changed it.</p>}
      {file.rows.length > 0 && (
        <h3>
          {counted(file.rows.length, 'change')}
          {file.rows.length > 1 && ', the last first'}
        </h3>
      )}
      {file.rows
        .toReversed()
        .slice(0, 50)
        .map((row) => (
          <Change key={row} row={row} view={view} />
        ))}
      {file.rows.length > 50 && <p class="note">Of these the last 50 are shown; the others are in Steps.</p>}
    </article>
  );
}

async function save(source: Source, id: string, path: string): Promise<void> {
  const bytes = await source.file(id, path).catch(() => null);
  if (bytes !== null) saveFile(path.split('/').at(-1) ?? 'file', bytes);
}

function FileText({ file, facts, source }: { readonly file: FileEntry } & Omit<FilesProps, 'view'>): JSX.Element {
  const kind = imageKind(file.path);
  const text = useLoading(() => source.file(facts.id, file.path), [facts.id, file.path, file.bytes, file.rows.length]);
  return loaded(text, (bytes) => {
    if (kind !== null) return <Picture bytes={bytes} kind={kind} name={file.path} />;
    if (bytes.subarray(0, 8000).includes(0)) return <p class="note">This is no text. Save it to look at it.</p>;
    return <TextBlock text={{ kind: 'text', text: new TextDecoder().decode(bytes), more: 0 }} />;
  });
}

function Change({ row, view }: { readonly row: number; readonly view: View }): JSX.Element | null {
  const detail = useLoading(() => view.session.ask('detail', row), [row]);
  if (detail.kind !== 'there' || detail.value.edit === null) return null;
  const { columns } = view.session;
  return (
    <div class="file-change">
      <button class="link" onClick={() => view.select(row)}>
        at {duration(columns.startOf(row))}
      </button>
      <Diff edit={detail.value.edit} />
    </div>
  );
}
