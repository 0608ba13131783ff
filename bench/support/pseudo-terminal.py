# Runs a command on a pseudo-terminal of 80 columns that reads everything; prints the processor time of the command and the bytes that it wrote.
import fcntl, json, os, pty, struct, sys, termios

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
written = 0
while True:
    try:
        shown = os.read(terminal, 65536)
    except OSError:
        break
    if not shown:
        break
    written += len(shown)
_, status, usage = os.wait4(pid, 0)
if status != 0:
    sys.exit('the command failed')
print(json.dumps({'cpuMs': (usage.ru_utime + usage.ru_stime) * 1000, 'bytes': written}))
