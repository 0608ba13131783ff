import { mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { printed, scoped, sealed, shell, type Setup } from './contained-capsule.ts';
import { openCapsule } from './use-capsule.ts';

const setups: readonly Setup[] = [...sealed, ...scoped];

/** Places for a workdir, as `--workdir` names them from the folder of the manifest. */
interface Place {
  readonly what: string;
  readonly workdir: string | null;
  /** From the workdir to the folder. */
  readonly folder: string;
  readonly arrange?: (folder: string) => void;
}

const places: readonly Place[] = [
  { what: 'its own place', workdir: null, folder: '../..' },
  { what: 'a place behind a link', workdir: 'link', folder: '../..', arrange: linkTo('deep/target') },
  { what: 'a name with blanks, quotes and a line feed', workdir: `a b\n"c' $d\\\té`, folder: '..' },
  { what: 'a place beside the folder', workdir: '../elsewhere', folder: '../project' },
];

function linkTo(target: string): (folder: string) => void {
  return (folder) => {
    mkdirSync(join(folder, target), { recursive: true });
    symlinkSync(target, join(folder, 'link'));
  };
}

/** Says what it can read. What it tries to change, the host shows. */
const probe = (folder: string): string => `for path in svc.yaml script.yaml .svc/sessions/*/trace.jsonl; do
  cat "${folder}/$path" > /dev/null 2>&1 && echo "read $path"
done
ls "${folder}/.svc/sessions" > /dev/null 2>&1 && echo listed
mv "${folder}/.svc" "${folder}/moved" 2> /dev/null && echo moved
rm -r "${folder}/.svc" 2> /dev/null && echo removed
for path in svc.yaml script.yaml .svc/sessions/trace.jsonl; do
  (echo forged >> "${folder}/$path") 2> /dev/null
done
mkdir "${folder}/.svc/sessions/ses_forged" 2> /dev/null
echo own > file && cat file`;

describe.each(setups)('in $name', (setup) => {
  it.for(setup.uid === null ? places : places.slice(0, 1))(
    'manifest and sessions are out of reach of a workdir in $what',
    async (place, context) => {
      const { workdir, folder, arrange } = place;
      const capsule = await openCapsule(context, setup, {
        calls: [shell('probe', probe(folder))],
        capabilities: 'shell: { allow: [bash, cat, ls, mkdir, mv, rm] }',
        args: workdir === null ? [] : ['--workdir', workdir],
        prepare: (workspace) => {
          arrange?.(workspace.folder);
          return {};
        },
      });
      const { line, workspace } = capsule;
      expect((await capsule.result('probe')).text).toBe(printed('own\n'));
      expect(readFileSync(join(line.workdir, 'file'), 'utf8')).toBe('own\n');
      // The probe knew its way.
      expect(realpathSync(join(line.workdir, folder))).toBe(realpathSync(workspace.folder));
      expect(readdirSync(workspace.folder)).not.toContain('moved');
      for (const file of ['svc.yaml', 'script.yaml']) {
        expect(readFileSync(join(workspace.folder, file), 'utf8')).not.toMatch(/forged\n$/);
      }
      expect(readdirSync(join(workspace.folder, '.svc', 'sessions'))).toEqual([line.session_id]);
    },
  );
});
