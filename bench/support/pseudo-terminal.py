# Runs a command on a pseudo-terminal of 80 columns that reads everything; prints the processor time of the command and the bytes that it wrote.
# With --until <text>... before the command, prints the milliseconds until it wrote these texts in this order, and ends it with SIGTERM.
import fcntl, json, os, pty, signal, struct, sys, termios, time

command, wanted = sys.argv[1:], []
while command[0] == '--until':
    wanted.append(command[1].encode().decode('unicode_escape').encode())
    command = command[2:]
ends = len(wanted) > 0
begun = time.monotonic()
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.execvp(command[0], command)
written, unread = 0, b''
while True:
    try:
        shown = os.read(terminal, 65536)
    except OSError:
        break
    if not shown:
        break
    written += len(shown)
    if not wanted:
        continue
    unread += shown
    while wanted and wanted[0] in unread:
        unread = unread.split(wanted.pop(0), 1)[1]
    if not wanted:
        print(json.dumps({'ms': (time.monotonic() - begun) * 1000}), flush=True)
        os.kill(pid, signal.SIGTERM)
_, status, usage = os.wait4(pid, 0)
if ends:
    sys.exit(0 if not wanted else 'the command ended before it wrote what was waited for')
if status != 0:
    sys.exit('the command failed')
print(json.dumps({'cpuMs': (usage.ru_utime + usage.ru_stime) * 1000, 'bytes': written}))
