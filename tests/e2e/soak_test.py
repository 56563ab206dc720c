"""Load while connections are killed at random: no gauge stays up, memory stays flat.

BULKHEAD_SOAK_SECONDS says how long (default 8); five minutes are what a release is shown with.
"""
import os
import random
import shutil
import subprocess
import threading
import time
import unittest

from certificates import certificate
from client import Client, connect, tls_context
from harness import PATIENCE, SANITIZED, Server, eventually
from runner import main

SECONDS = float(os.environ.get("BULKHEAD_SOAK_SECONDS", "8"))
CONNECTIONS = int(os.environ.get("BULKHEAD_SOAK_CONNECTIONS", "64"))


def setUpModule():
    certificate("server")


class Killer(threading.Thread):
    """Opens connections and resets them: silent, amid a handshake, a head, a body, an answer."""

    STARTS = (b"", b"GET /sm", b"GET /big HTTP/1.1\r\nHost: a\r\n\r\n" * 20,
              b"GET /delay/500 HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /trap/actor HTTP/1.1\r\nHost: a\r\n\r\n",
              b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nhalf")

    def __init__(self, server, seed):
        super().__init__(daemon=True)
        self.server, self.chance, self.context = server, random.Random(seed), tls_context()
        self.over, self.killed, self.failure = threading.Event(), 0, None

    def run(self):
        try:
            alive = []
            while not self.over.is_set():
                alive.append(self.one())
                if len(alive) > 20:
                    self.kill(alive.pop(self.chance.randrange(len(alive))))
            for c in alive:
                self.kill(c)
        except Exception as e:  # pylint: disable=broad-except
            self.failure = e

    def one(self):
        if self.chance.random() < 0.2:
            s = connect(self.server)
            s.sendall(b"\x16\x03\x01\x02\x00\x01"[:self.chance.randrange(7)])
            return Client(self.server, plain=True, sock=s)
        c = Client(self.server, self.context)
        c.send(self.chance.choice(self.STARTS))
        return c

    def kill(self, client):
        self.killed += 1
        if self.chance.random() < 0.7:
            client.reset()
        else:
            client.socket.close()


class Soak(unittest.TestCase):
    def wrk(self, server, seconds):
        return subprocess.Popen(
            ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s", "--timeout", "10s",
             f"https://127.0.0.1:{server.port}/small"], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)

    def soak(self, server, seconds, seed):
        """Answers what wrk said."""
        killers = [Killer(server, seed + i) for i in range(2)]
        load = self.wrk(server, seconds)
        for k in killers:
            k.start()
        peak = 0
        while load.poll() is None:
            peak = max(peak, server.rss_kib())
            time.sleep(0.1)
        output, _ = load.communicate(timeout=PATIENCE)
        for k in killers:
            k.over.set()
        for k in killers:
            k.join(PATIENCE)
            self.assertIsNone(k.failure, f"seed {seed}")
        self.assertEqual(load.returncode, 0, output)
        return output, sum(k.killed for k in killers), peak

    def settled_rss_kib(self, server, most):
        """Once the server has given back what the crowd needed: it does so after a pause."""
        if SANITIZED:
            return server.rss_kib()
        return eventually(f"the crowd's memory went back to the system, down to {most} KiB",
                          lambda: (rss := server.rss_kib()) <= most and rss)

    @unittest.skipUnless(shutil.which("wrk"), "wrk is not installed")
    def test_connections_killed_at_random_under_load_leave_nothing_behind(self):
        seed = time.time_ns() % 1_000_000
        with Server("--threads", "1") as server:
            _, _, peak = self.soak(server, SECONDS / 4, seed)
            server.quiet()
            before = (self.settled_rss_kib(server, peak - CONNECTIONS * 8), server.descriptors())
            output, killed, peak = self.soak(server, SECONDS * 3 / 4, seed + 100)
            self.assertNotIn("Socket errors", output)
            self.assertNotIn("Non-2xx", output)
            counters = server.quiet()
            after = (self.settled_rss_kib(server, before[0] + 512), server.descriptors())
            rate = next(line for line in output.splitlines() if "Requests/sec" in line).strip()
            print(f"-- {killed} connections killed, {rate}, aborted {counters['aborted']}, RSS KiB "
                  f"and descriptors {before} then {after}, peak {peak} KiB, seed {seed}")
            self.assertGreater(killed, 50)
            self.assertGreater(counters["aborted"], 0)
            self.assertLessEqual(after[1], before[1] + 1)  # + 1: the admin connection just closed


if __name__ == "__main__":
    main()
