/** The codes of svc run and svc -p: what a session begins with, what it keeps, how its tasks end. */

import type { CatalogueEntry } from './catalogue-entry.ts';

export const runCodes = {
  'E-IO-001': {
    title: 'a file cannot be read or written',
    explanation: 'The operating system refused a file operation. The message names the path and the reason.',
  },
  'E-IO-002': {
    title: 'the trace cannot be written',
    explanation:
      'A session never goes on without its trace. The disk is full, read-only or failing; the message gives the reason.',
  },
  'E-IO-003': {
    title: 'a remote side failed: registry authentication or parsing, or a lost watch connection',
    explanation:
      'A registry, a referee, a capsule, a proxy or another server refused the key, could not be reached, took too long, broke off or answered something unreadable: the message names it and says why. Look at its address, its key and whether it runs, then try again; nothing was left half done.',
  },
  'E-RUN-010': {
    title: 'the listener port is taken',
    explanation:
      'network.internal_port is already bound by another process. Choose another port, or leave the key out.',
  },
  'E-RUN-011': {
    title: 'the listener cannot bind its address',
    explanation:
      'The address given with --bind does not belong to this machine, or the port may not be bound by this user.',
  },
  'E-RUN-019': {
    title: 'a capsule that delegates knows no referee',
    explanation:
      'capabilities.spawn.allow is declared, and SVC_REFEREE_URL is not set or is no address of a referee. Start svc-referee and set the variable to the address it prints, such as http://127.0.0.1:7700.',
  },
  'E-RUN-020': {
    title: 'SVC_SPAWNER cannot be read',
    explanation:
      'A parent capsule hands its child a spawner handle in SVC_SPAWNER, as JSON. The variable holds something else. Unset it to run the capsule by hand.',
  },
  'E-RUN-024': {
    title: 'there is nothing to run',
    explanation:
      'lifecycle.task_acceptance is none and neither --task nor a task.md beside the manifest was given, or a task, message or answer that was given is blank.',
  },
  'E-RUN-028': {
    title: 'the workdir has outgrown its limit, or cannot be held to it',
    explanation:
      'The files of the workdir hold more than capabilities.resources.workdir_max_bytes, files included that were removed and that a program still holds; or a part of the workdir cannot be looked at, so that nobody knows. The session ends, because its task could not be trusted to stop.',
  },
  'E-RUN-029': {
    title: 'the workdir holds the workspace or what svc keeps',
    explanation:
      'The agent could alter the manifest, the trace or the artifact store. Give it a directory of its own, outside the .svc directories of the workspace and of the user. A capsule for a repository has its svc.yaml in the root of that and no --workdir: with capabilities: { project: { path: . } } the agent sees the repository as project/, read only without write: true, and the manifest stays out of its reach. The workdir of a child is to be the very directory that its parent made: a link on the way there could lead to any of these.',
  },
  'E-RUN-030': {
    title: 'the script of a scripted model cannot be read',
    explanation: 'inference.driver.config.script names a file below the manifest that is missing or cannot be read.',
  },
  'E-RUN-031': {
    title: 'a kept conversation cannot be read',
    explanation:
      'With --workdir, threaded conversations are kept below .svc/conversations. The file named is damaged, or was written by another version. A task of its context fails rather than start from nothing. Restore the file, or remove it to let the context begin anew.',
  },
  'E-RUN-032': {
    title: 'a conversation is too long to be kept',
    explanation:
      'A threaded conversation of more than 16 MiB is not kept, and the task that made it so long fails; what was kept before stays. Set inference.context.max_tokens to have it compacted, or begin another context.',
  },
  'E-RUN-033': {
    title: 'another session has the conversations of this workdir',
    explanation:
      'Threaded conversations belong to the workdir given with --workdir, and one session of a capsule at a time has them. Stop the other session, or give this one a workdir of its own. A session of another container, or of before the machine was last started, keeps them for five minutes after it was killed.',
  },
  'E-RUN-036': {
    title: 'an MCP server did not list its tools',
    explanation:
      'The server of an artifact with implementation: mcp has to be asked for its tools before the first session with it, and a server on the web when it is added, updated or installed. It could not be started or reached, ended, broke the protocol or did not answer in time; the message has its last words.',
  },
  'E-RUN-240': {
    title: 'a login at an MCP server came to nothing',
    explanation:
      'svc login found no way to log in, or refused one: the server or its authorization server could not be asked, announced no PKCE with S256, named another issuer or resource than its own, led to an address of this machine or of a private network, redirected to another origin, or answered with what is no token. Or the person refused, or nobody came back from the browser within five minutes. Nothing was kept; the message says which.',
  },
  'E-RUN-241': {
    title: 'there is no login that this capsule may use',
    explanation:
      'An entry with auth: login is shown a token of the login of this user. svc login <server> makes one; run beside the manifest, it also lets that capsule use one that is there. A login that was revoked or has expired is made anew in the same way. No session opens a browser.',
  },
  'E-RUN-242': {
    title: 'the file of a login cannot be used',
    explanation:
      'Logins are in ~/.svc/logins, a file each, of this user alone and readable by nobody else (mode 0600). The file named is a link, of another user, readable by others, or damaged. svc logout <server> removes it.',
  },
  'E-RUN-037': {
    title: 'the referee does not admit this session',
    explanation:
      'The session has to be registered with the referee, and it refused. A capsule that is started by hand must be named by --spawn-allow of svc-referee and be in its artifact store in the same version; an approval is good for one launch within 60 seconds.',
  },
  'E-RUN-038': {
    title: 'the referee cannot be asked',
    explanation:
      'Nothing answers at SVC_REFEREE_URL, or what answers is no referee. Start svc-referee, or correct the variable.',
  },
  'E-RUN-039': {
    title: 'the approval of a delegated launch cannot be read',
    explanation:
      'With --spawn-approval-stdin, which only a parent capsule gives, the approval of the referee is read from standard input up to its end. It was empty, too long, or did not end in time.',
  },
  'E-RUN-053': {
    title: 'the workdir holds what svc would replace',
    explanation:
      'A session writes its first task to task.md in the workdir and results to out/result.txt, and keeps files of peers in peer-in. Something stands there that svc did not write, and nothing has been run. svc remembers what it wrote in .svc/workdirs beside the manifest and in the home directory; where both are lost, its own files are taken for yours. A file that svc wrote and that was changed since is moved aside instead (W-RUN-053).',
  },
  'E-RUN-054': {
    title: 'a question that nobody can answer',
    explanation:
      'A tool asked a question, and the task came from svc -p, where nobody can answer. svc ended the task at once instead of waiting until lifecycle.input_timeout_secs has passed. Put the answer into the task, or start the capsule with svc run and answer with a message.',
  },
  'E-RUN-055': {
    title: 'the time of --timeout is over',
    explanation:
      'The time counts from the start of svc -p. The task was canceled, and what it started has been ended. Its trace and journal are kept: svc trace steps shows how far it came.',
  },
  'E-RUN-056': {
    title: 'a task was canceled',
    explanation:
      'The task of svc -p did not come to its end: a signal or svc stop ended the capsule, or a client canceled the task. There is no answer.',
  },
  'E-RUN-058': {
    title: 'the event stream of a session cannot be kept',
    explanation:
      'Frames longer than 64 KiB, such as the whole result of a tool, are kept in a nameless file of the session directory until 512 newer ones have come. It could not be written or read, mostly because the disk is full, more than 16 MiB were held in memory already, and the session ended.',
  },
  'E-RUN-059': {
    title: 'a task failed',
    explanation:
      'The message says why. "provider answered" and a number is what the provider of the model said: 401 it does not take the key, 403 the key may not do this, 404 there is no such model or address, 429 too many requests or a quota that is used up, 500 and more a failure of its own. "provider reported" is an error that it gave in place of an answer, "compressed" an answer that could not be looked through for the key. "without an event stream" is a web page or a proxy that answers in its place, "cannot reach" a network or an address that does not work, "the connection broke" an answer that was cut off. inference.model, inference.endpoint and inference.api_key of svc.yaml say which model is asked, where and with which key. svc trace steps shows how far the task came. Clients of the capsule learn only that it failed.',
  },
  'E-RUN-060': {
    title: 'the task cannot be read from standard input',
    explanation:
      'With --task -, all of standard input is the task: UTF-8 text of at most 10 MiB. It was longer, was no text, could not be read, or svc run was stopped before its end. Nothing has been run.',
  },
  'E-RUN-061': {
    title: 'no more files can be opened',
    explanation:
      'svc met the limit of open files, its own or that of the whole machine, where it cannot go on without one. Raise it (ulimit -n); a session needs 64 and more with each component, command and connection.',
  },
  'E-RUN-064': {
    title: 'the model did not answer in time',
    explanation:
      'A model that gives no sign of life for inference.timeout_secs.idle seconds, or does not end its response within inference.timeout_secs.total, fails its task. Any byte of a response counts as a sign of life, and so does any line of a program. Raise the limit for a slow model. The driver of inference.transport: http is held to capabilities.limits.deadline besides.',
  },
  'E-RUN-080': {
    title: 'svc ended before its session did',
    explanation:
      'A second signal ended it at once, a stop took more than 18 seconds, or svc has a bug, which it then says too. The last lines of the trace and the journal may be missing.',
  },
  'E-RUN-081': {
    title: 'the tokens of a session are used up',
    explanation:
      'The next call of the model could pass --max-tokens, or inference.max_session_tokens of the manifest, whichever is lower: its input as estimated, and its answer at its longest (inference.max_tokens). It was not made, and the task failed.',
  },
  'E-RUN-082': {
    title: 'a component of a session broke off',
    explanation:
      'The driver or a hook is a WebAssembly component and trapped. The session went on, but cannot be relied on; status says trapped. The trace names the component.',
  },
  'E-RUN-190': {
    title: 'this build of svc leaves a part out',
    explanation:
      'Whoever built this svc left out parts that not everybody needs, with npm run build -- --without and their names: the OpenAI door (openai), the pages of a registry (pages), the drivers for claude and codex (programs), push notifications (push), registries on S3 (s3), or telemetry (telemetry). The manifest, an option or a variable of the environment asks for one of them. svc refuses that rather than run without it. The published svc has all parts.',
  },
  'W-RUN-001': {
    title: 'a task that looks like a path was taken as text',
    explanation:
      '--task names an existing file, or is the task itself. The value looks like a path but no such file exists.',
  },
  'W-RUN-004': {
    title: 'nothing compacts the conversation',
    explanation:
      'inference.context.max_tokens says when a conversation is too long, but no hook of the capsule is bound to on-compaction with commit_policy: replace-context. It goes to the model as it is. svc-hook-compact is one that compacts.',
  },
  'W-RUN-006': {
    title: 'not all tools are offered',
    explanation:
      'All tools of a capsule together are at most 128, for providers take no more: artifacts[].tools chooses those of a server. A server may list at most 128 tools, with names of the protocol, each name once, and with input schemas that can be used and are not too large. A server that has resources or prompts alone gives no tools. The message says what was left out; svc list --json names each tool of it with the reason. When a provider refuses a tool by its name or its number, a bundled driver asks again without it, up to eight times in a turn, and leaves it out from then on.',
  },
  'E-RUN-210': {
    title: 'something else has the name of the skills in the workdir',
    explanation:
      'Programs see the files of the skills of a capsule as .skills/ in their part of the workdir. A file, a link or a directory that is not empty has that name there. Move it away, or name another workdir.',
  },
  'W-RUN-210': {
    title: 'a part of a skill does nothing here',
    explanation:
      'The scripts of a skill are run by commands of capabilities.shell.allow, and one that they need is not listed; or its list names nothing that the capsule has, so that only people can call it; or its SKILL.md lets neither the model nor people call it. The rest of the skill works.',
  },
  'W-RUN-211': {
    title: 'a skill that was found is left out',
    explanation:
      'svc "task" --skills takes the skills of .agents/skills and .claude/skills, of the folder and then of the home directory, under the names of their folders; skills.discover of a manifest takes those of the folders that it names. One cannot be read as a skill, has the name of a command or of something else that the model can call, or is not the only one of its name: of two different ones neither is taken. A link may not lead out of the folder. A capsule takes only what svc.lock records, which svc install does. The message says which, and why. The others are there.',
  },
  'W-RUN-220': {
    title: 'the file that a session should begin with is not shown to the model',
    explanation:
      'inference.project_text names it, as svc "task" does with AGENTS.md. It is a link that leads out of the folder or to what is masked, no regular file, larger than 1 MiB, or no UTF-8 text. The session begins without it.',
  },
  'W-RUN-189': {
    title: 'a server that starts was refused a host',
    explanation:
      'An MCP server was asked for its tools, has not answered for five seconds, and wants to connect to a host that it is not granted. It may wait for just that. svc waits for at most a minute, and never longer than limits.deadline. Grant the host in capabilities.network.allow, or tell the server to do without it.',
  },
  'W-RUN-191': {
    title: 'a server that starts is waited for',
    explanation:
      'An MCP server that has to be asked for its tools before the session begins has not answered for three seconds, or is installed from a registry and that takes as long. Nothing is wrong yet: the first start of many a server takes its time. svc waits for at most a minute, for an installation for at most limits.deadline, and goes on as soon as the server answers. The next session with the same server waits for none of this.',
  },
  'W-RUN-007': {
    title: 'the tools of an MCP server are not those it listed before',
    explanation:
      'A session offers the tools that the server listed when it was last asked. The next session with this artifact offers what it lists now; of a server on the web, svc update takes it.',
  },
  'W-RUN-008': {
    title: 'the parent was not notified that its child ended',
    explanation:
      'A delegated session posts one completion to the capsule that delegated to it. That capsule has ended, or refused it; completion.json in the workdir has the reason. The session itself is not failed by it.',
  },
  'W-RUN-053': {
    title: 'a changed file of an earlier session was moved aside',
    explanation:
      'svc wrote a file into the workdir in an earlier session, and it has been changed since, by the agent or by you. This session writes to that place again, so that what stood there has got the name in the message.',
  },
  'W-RUN-060': {
    title: 'two sessions work in one directory',
    explanation:
      'The directory of --workdir, or one around it or below it, is the workdir of another live session of this user. Both go on. Each replaces what the other wrote to task.md and out/result.txt, their agents change the same files, and workdir_max_bytes counts what both write. svc ps --json lists the live sessions with their workdirs.',
  },
  'W-RUN-065': {
    title: 'svc waits for the end of standard input',
    explanation:
      'What is piped into svc -p is part of the task, so all of it is read before anything runs. For three seconds it has not ended. A program that starts svc with a pipe and never closes it should give it /dev/null.',
  },
  'E-RUN-186': {
    title: 'the answer of the model has no text',
    explanation:
      'The model ended its last turn without a word, as models do that only thought, called their last tool, or had no tokens left. The task is completed, and what it has done stays done; but svc -p was to print an answer, and has none, so that it ends with 1. svc trace steps shows what the model thought and did.',
  },
  'W-RUN-171': {
    title: 'the answer ends where the model had no tokens left',
    explanation:
      'A model writes at most as many tokens in one turn as inference.max_tokens allows, and as its provider does. The task is completed with what there is of the answer.',
  },
  'W-RUN-185': {
    title: 'sessions are kept elsewhere, since nothing can be written in the folder',
    explanation:
      'The folder of the manifest, or the current one with --capsule, is read only, or belongs to somebody else. The capsule of --capsule, traces, workdirs and, where the folder has none, svc.lock are kept in a folder of its own below ~/.svc/folders, and the commands that look for sessions find them there from that folder. Artifacts that are fetched go to the store of the user.',
  },
  'W-RUN-174': {
    title: 'a key or a token is empty, or too short to be a secret',
    explanation:
      'svc takes the key of the provider and its own token out of everything that it records and reports. One of four to seven characters is often a word, such as test: then [secret] stands wherever a text has that word, in traces, journals, kept conversations, exports, the report of a plan and errors of the driver. One of fewer than four is not taken out at all. A server that checks no key takes any text of eight characters or more.',
  },
  'W-SEC-031': {
    title: 'the listener accepts other machines without a token',
    explanation:
      'The listener is bound to an address that is not loopback, SVC_LISTENER_TOKEN is not set, and there are no door tokens (svc token).',
  },
} as const satisfies Record<string, CatalogueEntry>;
