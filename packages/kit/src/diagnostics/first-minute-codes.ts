/** The codes of tasks without a manifest. */

import type { CatalogueEntry } from './catalogue-entry.ts';

export const firstMinuteCodes = {
  'E-MAN-004': {
    title: 'there is no model that could do the task',
    explanation:
      'svc "task" takes the first of these: --model, SVC_MODEL, the key of ANTHROPIC_API_KEY or of OPENAI_API_KEY, a model of an Ollama that answers at localhost:11434. A model is named as provider/name, with the provider anthropic, openai or ollama, or as http(s)://host:port/name for what serves Chat Completions. A key goes to its own provider only, or to where OPENAI_BASE_URL, ANTHROPIC_BASE_URL or --key-env sends it, and only from the environment: a .env file is not read.',
  },
  'E-MAN-005': {
    title: 'the model that answers is of another user of this machine',
    explanation:
      'Where neither a model nor a key is set, svc "task" asks an Ollama at localhost:11434. Any user of a machine may listen on a port that is free, and would get the task and what the model is shown of the folder. So svc asks the kernel whose program listens there: it has to belong to this user, to root or to a service of the machine. --model and SVC_MODEL name a model of any user.',
  },
  'E-CAP-022': {
    title: 'this folder is not given to an agent',
    explanation:
      'svc "task" gives its agent the current folder. The root of the file system, the home folder and what holds it, folders with keys (.ssh) and those of svc itself (.svc) are refused: an agent must not see what is in them. Go to the folder of one project.',
  },
  'E-CAP-023': {
    title: 'masked files of a folder cannot be kept from programs',
    explanation:
      'Files whose names begin with .env, and folders named .ssh and .svc, are not shown to an agent. The folder holds too many of them or too much to be looked through, or the containment class of this host cannot cover them while the agent may write. docs/first-minute.md, "What the agent sees", says what each class can do.',
  },
  'E-CAP-024': {
    title: 'what git runs cannot be kept from a task that may write',
    explanation:
      'Git runs the programs in .git/hooks and those that .git/config names, as you, with your next command. With --write a task may change the files of a folder, as a capsule may in one that --workdir or an editor names, and these are kept as they are: in class sealed they are mounted read only. This host has a weaker class, or one of them is a link, or the configuration names a file of the folder that is not there, which the task could make, or the folder lies in a .git. --write-git lets the task change them too; then look at them before you use git there again.',
  },
  'E-CAP-027': {
    title: 'nothing would hold an MCP server to what it was granted',
    explanation:
      'svc --mcp starts the server of a task without a manifest as it starts commands: it sees the folder and no other file, and has no network. On this host the containment class is advisory, where a program can do whatever its user can. So no server is started there. svc doctor says what is missing; a manifest may name a server for such a host.',
  },
  'E-CAP-025': {
    title: 'svc itself cannot be kept from a task that may write',
    explanation:
      'The folder holds the installation of svc, or the node that runs it, or is a part of it. svc goes on loading and starting files from there without containment, so a task that changed one would get out. With --write, and in a folder that --workdir or an editor names, they are kept as they are: in class sealed they are mounted read only. This host has a weaker class, or all of the folder is svc. Install svc elsewhere, with npm install --global for one, name another folder, or let the agent only read: without --write, or with capabilities.filesystem.read_only.',
  },
  'E-RUN-096': {
    title: 'a session has no manifest of its own',
    explanation:
      'svc new capsule <name> --from <session> makes a capsule of a task that ran without a manifest, as svc "<task>" does it. Any other session ran the manifest of its workspace, which is still there: copy that.',
  },
  'E-RUN-180': {
    title: 'the manifest in this folder is of another user',
    explanation:
      'svc "task" and svc chat take the svc.yaml of the current folder, and it decides what runs with your key and your files. The file, the link that it may be and the folder have to be yours, as git wants it of a repository; for root, they may also be of the user who called sudo. Read it, and name it with svc run --manifest where you want it all the same.',
  },
  'E-RUN-181': {
    title: 'the manifest in this folder is not trusted yet',
    explanation:
      'svc "task" and svc chat take the svc.yaml of the current folder, which came with whatever was copied or cloned there. At first, and after each change of it or of the grants, hosts and variables that it comes to, they show what its capsule may do and ask on a terminal. Without a terminal, and with -p and --output, --trust says yes. So do svc --continue and svc chat <session> for a published capsule, and for a folder outside the current one that a record of a session names. A manifest that --manifest names, and svc run, are not asked about. ~/.svc/trusted-manifests.json keeps the answers.',
  },
  'W-RUN-182': {
    title: 'that a manifest is trusted is not remembered',
    explanation:
      'The task goes on. ~/.svc/trusted-manifests.json could not be read or written, for the reason that the message gives, so the next task in this folder asks again.',
  },
  'W-RUN-172': {
    title: 'a variable that --env names is given to no command',
    explanation:
      'The commands of a task without a manifest get the variables that --env names, with the values that they have where svc is started. This one is not set there; a variable of a shell is seen by other programs once it is exported. Variables that begin with OTEL_ are of svc itself, and are given to nobody. The task runs without it.',
  },
  'W-RUN-176': {
    title: 'a task made or changed what other programs obey',
    explanation:
      'With --write a task may make any file of the folder. A few of them say what other programs do: svc runs what svc.yaml says, with the key of your provider, and git obeys the configuration of each .git. In .git itself svc names what git does not write as it works. Look at each before you run svc or git there, and remove what you did not ask for.',
  },
  'W-RUN-177': {
    title: 'git is set not to look for changes of a file',
    explanation:
      'A task set assume-unchanged or skip-worktree in the index of the repository. git status and git diff then say nothing of such a file, whatever is in it. svc looks at the files itself, and names those that changed. git ls-files -v shows the flags, and git update-index --no-assume-unchanged --no-skip-worktree <file> takes them away.',
  },
  'W-RUN-183': {
    title: 'a task made a repository that git would obey',
    explanation:
      'A task that may write in a folder can make a repository there. Git runs what the configuration and the hooks in it name, as you: with git status above it too, once the task has added it to the index. At the end svc renames each such .git to .git.made-by-task, and its HEAD, or the HEAD of a repository without a .git, to HEAD.made-by-task. One with plain settings only, as git init and git clone make it, stays. To use one, look at config and hooks in it and rename both back. --write-git leaves all as it is. What svc cannot look at or rename is named too.',
  },
  'W-RUN-184': {
    title: 'git does not work in the folder of a task',
    explanation:
      "The data of the repository lies outside of the folder, as it does for a second working tree, a submodule and a folder below the top of a repository. svc gives git that data, read only without --write, where it names this very working tree in turn, is of this user, and is not in a folder that no agent is given. Anybody who packs an archive may put a file .git into it that names somebody else's repository. For the same reason svc does not follow objects/info/alternates, with which git clone --shared borrows objects. The message says what is missing. The task runs, and git does not work in it.",
  },
} as const satisfies Record<string, CatalogueEntry>;
