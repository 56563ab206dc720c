"""What the end-to-end tests share: a server process, certificates, clients, bounded waits.

Python's standard library, curl and openssl only. A server listens on a port that the kernel chose
and says so in its log; its admin interface is a Unix socket. Nothing here sleeps to let something
happen: conditions are polled until they hold or `PATIENCE` seconds are over.
"""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

SANITIZED = os.environ.get("BULKHEAD_SANITIZED", "") not in ("", "0")
PATIENCE = 60.0 if SANITIZED else 20.0
TEMP = tempfile.mkdtemp(prefix="bulkhead-e2e-")
PROGRAMS = []  # from the command line: the bulkhead program, then what the test asks for


def temp(name):
    return os.path.join(TEMP, name)


def eventually(what, condition, timeout=PATIENCE):
    """Polls until `condition()` is true and answers its value."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout:.0f} s: {what}")
        time.sleep(0.005)


def together(count, work):
    """Runs work(0), ..., work(count - 1) at the same moment, one thread each; answers the results."""
    barrier, results, errors = threading.Barrier(count), [None] * count, []

    def run(i):
        try:
            barrier.wait(PATIENCE)
            results[i] = work(i)
        except Exception as e:  # pylint: disable=broad-except
            errors.append(e)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(4 * PATIENCE)
    if errors:
        raise AssertionError(f"{len(errors)} of {count} failed, first: {errors[0]!r}") from errors[0]
    return results


def run(*command, stdin=b"", timeout=PATIENCE, status=None):
    """A command to its end; its output as text."""
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=timeout, check=False)
    done.stdout, done.stderr = (o.decode("utf-8", "replace") for o in (done.stdout, done.stderr))
    if status is not None and done.returncode != status:
        raise AssertionError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr}")
    return done


# -- the server ----------------------------------------------------------------------------------


class Server:
    """A server process. Ends with the `with` block: by SIGTERM, and cleanly, or the test fails."""

    made = 0

    def __init__(self, *options, program=None, tls=True, config="", wait=True,
                 certificate="server", listen="127.0.0.1:0"):
        Server.made += 1
        self.admin_path = temp(f"admin-{Server.made}")
        command = [program or PROGRAMS[0], "serve", "--admin-listen", f"unix:{self.admin_path}"]
        if tls:
            command += ["--listen", listen, "--cert", temp(f"{certificate}.pem"),
                        "--key", temp(f"{certificate}-key.pem")]
        if config:
            path = temp(f"config-{Server.made}.toml")
            write(path, config)
            command += ["--config", path]
        if not any(o == "--threads" for o in options):
            command += ["--threads", "1"]
        self.lines, self.news = [], threading.Condition()
        self.process = subprocess.Popen(command + list(options), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pid = self.process.pid
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        if wait:
            self.port = int(self.logged(r"listening on \S*?:(\d+)$|listening on unix:()")[1] or 0)

    def _read_log(self):
        for line in self.process.stderr:
            with self.news:
                self.lines.append(line.decode("utf-8", "replace").rstrip())
                self.news.notify_all()

    def log(self):
        with self.news:
            return "\n".join(self.lines)

    def logged(self, pattern, count=1):
        """Waits until `count` lines of the log match; answers the match of the last of them."""
        def look():
            with self.news:
                found = [m for m in (re.search(pattern, line) for line in self.lines) if m]
            if len(found) >= count:
                return found[count - 1]
            if self.process.poll() is not None and not self.reader.is_alive():
                raise AssertionError(f"the server ended without {pattern!r}:\n{self.log()}")
            return None
        return eventually(f"log line {pattern!r}", look)

    # -- its end

    def signal(self, number):
        self.process.send_signal(number)

    def ended(self, timeout=PATIENCE):
        """Waits for the process; answers exit status and standard output."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError("the server did not end:\n" + self.log()[-2000:]) from None
        self.reader.join(PATIENCE)
        return status, self.process.stdout.read().decode()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        ended_well = False
        try:
            if kind is None and self.process.returncode is None:
                self.signal(signal.SIGTERM)
                status, _ = self.ended()
                assert status == 0, f"exit status {status} after SIGTERM"
            ended_well = kind is None
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.reader.join(PATIENCE)
            self.process.stdout.close()
            self.process.stderr.close()
            if not ended_well:
                print(f"-- log of server {self.pid}, its end:\n{self.log()[-1500:]}", flush=True)

    # -- what it says of itself

    def admin(self, path):
        status, _, text = self.admin_page(path)
        return status, json.loads(text, object_pairs_hook=unique)

    def admin_page(self, path, **fields):
        """A page as it is: status, fields, text."""
        with contextlib.closing(http.client.HTTPConnection("admin", timeout=PATIENCE)) as connection:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(PATIENCE)
            connection.sock.connect(self.admin_path)
            connection.request("GET", path, headers={"Connection": "close", **fields})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()

    def nodes(self, kind):
        """The children of the server in its tree that are of this kind: "shard", "route", ..."""
        return [n for n in self.admin("/tree")[1]["children"] if n["kind"] == kind]

    def counters(self):
        return self.admin("/counters")[1]

    def quiet(self, opened=0):
        """Waits until the server noticed that its clients left; answers the balanced counters."""
        def look():
            c = self.counters()
            return c if c["open"] == opened and c["in_flight"] == 0 else None
        return check_balance(eventually("no connection and no request is left", look))

    # -- what the kernel says of it

    def rss_kib(self):
        with open(f"/proc/{self.pid}/smaps_rollup", encoding="ascii") as f:
            return int(re.search(r"^Rss:\s+(\d+) kB", f.read(), re.M)[1])

    def descriptors(self):
        """Open descriptors, without those of the admin interface, which we use ourselves."""
        with open("/proc/net/unix", encoding="ascii") as f:
            ours = {f"socket:[{line.split()[6]}]" for line in f if line.endswith(f" {self.admin_path}\n")}
        count = 0
        for fd in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                count += os.readlink(f"/proc/{self.pid}/fd/{fd}") not in ours
        return count

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))


def unique(pairs):
    """A JSON object, if none of its keys is there twice."""
    found = dict(pairs)
    assert len(found) == len(pairs), f"a key twice: {[k for k, _ in pairs]}"
    return found


def check_balance(c):
    """The equations that counters must satisfy (DESIGN: "Credit")."""
    assert c["admitted"] == c["open"] + c["closed"], c
    assert c["started"] == c["in_flight"] + c["completed"] + c["trapped"] + c["aborted"], c
    assert c["lost"] == 0 and c["connection_faults"] == 0, c
    return c


# -- files ---------------------------------------------------------------------------------------


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path
