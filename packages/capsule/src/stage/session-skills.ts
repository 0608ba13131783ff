/** Shows the standard skill folders of a session to its model, its programs and its components. */

import { lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { splitSkill } from '@svc/artifacts/manifest/skill-head.ts';
import { standardSkillFile } from '@svc/artifacts/store/installed-artifact.ts';
import type { Preopen } from '@svc/components/component.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { makePrivateDirectory, openScopeDirectory } from '@svc/record/sessions/session-directories.ts';
import type { ShownFolder } from '@svc/sandbox/launch/shown-folder.ts';
import { createSkillFolderTool, skillFolderDeclaration } from '@svc/session/tools/skill-folder-tool.ts';
import { neverReached, type Tool, type ToolDeclaration } from '@svc/session/tools/tool.ts';
import { limitSkills } from './skill-lists.ts';
import { type FolderArtifact, isOwnLink, skillsName, takenPlace } from '../launch/skill-folders.ts';

interface SessionSkillsDeps {
  readonly skills: readonly FolderArtifact[];
  /** Links resolved. */
  readonly workdir: string;
  /** The part of the workdir that programs of the capsule see. */
  readonly scope: string;
  readonly sessionDirectory: string;
  readonly achieved: ContainmentClass;
  /** Whether programs start elsewhere than in their part of the workdir. */
  readonly startsElsewhere: boolean;
}

/** Declares such a skill to who may call it. */
export function skillDeclarations({ manifest, skill }: FolderArtifact): readonly (ToolDeclaration & CalledBy)[] {
  if (skill.callers === 'nobody') return [];
  const { name, description } = manifest;
  return [{ ...skillFolderDeclaration({ name, description, files: skill.files }), ...calledBy(skill) }];
}

type CalledBy = Pick<Tool, 'callers'>;

function calledBy({ callers }: FolderArtifact['skill']): CalledBy {
  return callers === 'people' || callers === 'model' ? { callers } : {};
}

/** The copies of the skill folders of a session: what it read once is what it shows, whatever becomes of the folders. */
export class SessionSkills {
  readonly scope: string;
  readonly #deps: SessionSkillsDeps;
  readonly #copies: string;
  /** The texts of the very files that were copied: no start reads them, and nothing that runs can change them. */
  readonly #texts = new Map<string, string>();
  #filling: Promise<void> | null = null;
  #limits: ReadonlyMap<string, string> = new Map();

  /** Makes the directory for the copies, and none of them. */
  constructor(deps: SessionSkillsDeps) {
    this.#deps = deps;
    this.scope = deps.scope;
    this.#copies = join(deps.sessionDirectory, 'skills');
    try {
      mkdirSync(this.#copies, { recursive: true, mode: 0o755 });
    } catch (error) {
      throw ioFault(error, `cannot make ${this.#copies}`);
    }
  }

  get shown(): ShownFolder {
    return { path: this.#copies, name: skillsName };
  }

  get preopen(): Preopen {
    return { guestPath: `/${skillsName}`, hostPath: this.#copies, writable: false };
  }

  /** The tools of those that the model or people may call. */
  tools(): readonly Tool[] {
    const callable = this.#deps.skills.filter(({ skill }) => skill.callers !== 'nobody');
    return callable.map(({ manifest: { name, version, description }, skill }) => {
      const tool = createSkillFolderTool({
        name,
        version,
        description,
        text: () => this.#textOf(name),
        files: skill.files,
        place: this.#placeOf(name),
        limits: () => this.#limits.get(name) ?? null,
        read: async (file) => await readFile(join(this.#copies, name, file)),
      });
      return this.filledFirst(Object.assign(tool, calledBy(skill)));
    });
  }

  /** All tools of the session, with what the lists of its skills allow of them. `E-MAN-003` for a word of the operator's that stands for nothing. */
  limited(tools: readonly Tool[], onWarning: (warning: Diagnostic) => void): readonly Tool[] {
    const limited = limitSkills(tools, this.#deps.skills, (name) => this.#placeOf(name));
    this.#limits = limited.limits;
    for (const warning of limited.warnings) onWarning(warning);
    return limited.tools;
  }

  /** The tool, which finds the copies when it is called. */
  filledFirst(tool: Tool): Tool {
    return {
      ...tool,
      call: async (args, context) => {
        const fault = await this.unfilled();
        return fault === null ? await tool.call(args, context) : neverReached(fault.message);
      },
    };
  }

  /**
   * Makes the copies, once. Gives null, or `E-ART-006` for a folder that has changed since the session began and `E-IO-001` where they cannot be written: the next call
   * tries again.
   */
  async unfilled(): Promise<Diagnostic | null> {
    this.#filling ??= this.#copyAll();
    try {
      await this.#filling;
      return null;
    } catch (error) {
      this.#filling = null;
      if (error instanceof Diagnostic) return error;
      throw error;
    }
  }

  /** Makes the place in the workdir, where it is missing. `E-RUN-210` for something else that has its name. */
  prepare(): void {
    const { workdir, achieved } = this.#deps;
    if (achieved === 'sealed') makePrivateDirectory(workdir, join(this.scope, skillsName));
    else this.#link();
  }

  close(): void {
    const { workdir } = this.#deps;
    const place = join(workdir, this.scope, skillsName);
    if (unlessRefused(() => readlinkSync(place), null) === this.#copies)
      unlessRefused(() => unlinkSync(place), undefined);
    unlessRefused(() => rmSync(this.#copies, { recursive: true, force: true }), undefined);
  }

  async #copyAll(): Promise<void> {
    for (const { manifest, skill } of this.#deps.skills) {
      for (const { name, data } of await skill.readAll()) {
        const text = name === standardSkillFile ? splitSkill(data.toString('utf8'))?.text : undefined;
        if (text !== undefined) this.#texts.set(manifest.name, text);
        await replaceFile(join(this.#copies, manifest.name, name), [data], { mode: 0o444, isDurable: false });
      }
    }
  }

  #textOf(name: string): string {
    const text = this.#texts.get(name);
    if (text === undefined) throw new Error(`nothing was copied of the skill ${name}`);
    return text;
  }

  #placeOf(name: string): string {
    const { workdir, startsElsewhere } = this.#deps;
    return startsElsewhere ? join(workdir, this.scope, skillsName, name, '/') : `${skillsName}/${name}/`;
  }

  /** Nothing can be mounted there. What the agent has put in the way of the scope is not followed. */
  #link(): void {
    const { workdir } = this.#deps;
    const held = openScopeDirectory(workdir, this.scope);
    const place = join(held.path, skillsName);
    try {
      const there = lstatSync(place, { throwIfNoEntry: false });
      if (there?.isSymbolicLink() === true && readlinkSync(place) === this.#copies) return;
      if (there !== undefined && !isOwnLink(place)) throw takenPlace(join(workdir, this.scope, skillsName));
      if (there !== undefined) unlinkSync(place);
      symlinkSync(this.#copies, place);
    } catch (error) {
      if (error instanceof Diagnostic) throw error;
      throw ioFault(error, `cannot make ${join(workdir, this.scope, skillsName)}`);
    } finally {
      held.close();
    }
  }
}
