"""Clients that stall: silent, half a hello, half a head, half a body, or not reading."""
import contextlib
import ssl
import time
import unittest

from certificates import certificate
from client import Client, connect, read_to_end, tls_context
from harness import SANITIZED, Server, check_balance, eventually, together
from runner import main

SILENT = 1000
PLAIN = ("--plain-listen", "127.0.0.1:0")


def setUpModule():
    certificate("server")


def client_hello():
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = tls_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


class Silence(unittest.TestCase):
    def closed_in_time(self, began, limit_ms):
        """Not before the deadline, and not long after: a timer's tick early, a busy machine late."""
        took = time.monotonic() - began
        self.assertGreater(took, limit_ms / 1000 - 0.1)
        self.assertLess(took, limit_ms / 1000 + (30 if SANITIZED else 5))

    def test_a_thousand_silent_connections_cost_a_kibibyte_each_and_nobody_else_anything(self):
        with Server(config="[timeouts]\nhandshake_ms = 600000\n") as server:
            with Client(server) as c:  # warm-up; a larger one would leave memory to hide in
                c.get("/small")
            server.quiet()
            before, descriptors = server.rss_kib(), server.descriptors()
            crowd = [connect(server) for _ in range(SILENT)]
            try:
                eventually("all are admitted", lambda: server.counters()["open"] == SILENT)
                grown = server.rss_kib() - before
                print(f"-- {SILENT} silent connections: {grown} KiB, {server.threads()} threads")
                if not SANITIZED:
                    self.assertLessEqual(grown, SILENT)
                with Client(server) as c:
                    self.assertEqual([c.get("/small").status for _ in range(100)], [200] * 100)
            finally:
                for s in crowd:
                    s.close()
            server.quiet()
            self.assertEqual(server.descriptors(), descriptors)

    def crowd(self, server):
        with contextlib.ExitStack() as held:
            for _ in range(50):
                held.enter_context(Client(server)).get("/big")
        server.quiet()

    def test_a_thousand_silent_connections_are_closed_by_their_deadline(self):
        with Server(config="[timeouts]\nhandshake_ms = 1500\n") as server, Client(server) as healthy:
            began = time.monotonic()
            crowd = [connect(server) for _ in range(SILENT)]
            try:
                eventually("all are admitted", lambda: server.counters()["admitted"] == SILENT + 1)
                slowest = 0.0
                while server.counters()["open"] > 1:
                    asked = time.monotonic()
                    self.assertEqual(healthy.get("/small").status, 200)
                    slowest = max(slowest, time.monotonic() - asked)
                    self.assertLess(asked - began, 60)
                self.closed_in_time(began, 1500)
                print(f"-- the healthy client's slowest request meanwhile: {slowest * 1000:.1f} ms")
                self.assertTrue(all(read_to_end(s) == b"" for s in crowd))
            finally:
                for s in crowd:
                    s.close()
            counters = check_balance(server.counters())
            self.assertEqual(counters["handshake_timeouts"], SILENT)
            self.assertEqual(counters["rejected"], 0)

    def test_half_a_client_hello_is_closed_by_the_handshake_deadline(self):
        hello = client_hello()
        with Server(config="[timeouts]\nhandshake_ms = 700\n") as server:
            sizes = (1, 4, 5, len(hello) // 2, len(hello) - 1, len(hello))

            def stall(i):
                began = time.monotonic()
                with connect(server) as s:
                    s.sendall(hello[:sizes[i]])
                    answer = read_to_end(s)
                self.assertEqual(answer != b"", sizes[i] == len(hello))
                self.closed_in_time(began, 700)

            together(len(sizes), stall)
            self.assertEqual(server.quiet()["handshake_timeouts"], 6)

    def late(self, server, sent, limit_ms):
        with Client(server) as c:
            began = time.monotonic()
            c.send(sent)
            response = c.response()
            self.assertEqual(response.status, 408)
            self.assertEqual(response["connection"], "close")
            self.assertTrue(c.ended())
            self.closed_in_time(began, limit_ms)

    def test_a_stalled_request_head_is_answered_408(self):
        with Server(config="[timeouts]\nhead_ms = 500\n") as server:
            self.late(server, "GET /small HTTP/1.1\r\nHost: loc", 500)
            self.late(server, "G", 500)
            self.assertEqual(server.quiet()["late"], 2)

    def test_a_head_that_drips_is_not_given_more_time(self):
        with Server(config="[timeouts]\nhead_ms = 500\n") as server, Client(server) as c:
            began = time.monotonic()
            c.send("GET /small HTTP/1.1\r\nHost: localhost\r\nX: ")
            c.socket.settimeout(0.02)
            while not c.buffer:
                c.send("a")
                with contextlib.suppress(TimeoutError, ssl.SSLWantReadError):
                    c._more()  # pylint: disable=protected-access
            self.assertEqual(c.response().status, 408)
            self.closed_in_time(began, 500)

    def test_a_stalled_body_is_answered_408(self):
        with Server(config="[timeouts]\nbody_ms = 500\n") as server:
            head = "POST /echo HTTP/1.1\r\nHost: localhost\r\n"
            self.late(server, head + "Content-Length: 100\r\n\r\nhalf", 500)
            self.late(server, head + "Transfer-Encoding: chunked\r\n\r\n64\r\nhalf", 500)
            self.assertEqual(server.quiet()["late"], 2)

    def test_a_body_slower_than_its_rate_is_answered_408(self):
        with Server(config="[timeouts]\nbody_ms = 300\nbody_rate = 100000\n") as server:
            self.late(server, "POST /echo HTTP/1.1\r\nHost: localhost\r\n"
                      "Content-Length: 99999\r\n\r\n" + "x" * 20000, 300)

    def test_an_idle_connection_is_closed_cleanly(self):
        with Server(config="[timeouts]\nidle_ms = 500\n") as server, Client(server) as c:
            began = time.monotonic()
            self.assertEqual(c.get("/small").status, 200)
            self.assertTrue(c.ended())
            self.closed_in_time(began, 500)

    def test_a_client_that_does_not_read_is_closed_and_costs_no_memory(self):
        ask = b"GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n" * 64
        with Server(config="[timeouts]\nsend_ms = 1500\n") as server:
            self.crowd(server)
            before, most = server.rss_kib(), 0
            with contextlib.ExitStack() as held:
                clients = [held.enter_context(Client(server)) for _ in range(20)]
                for c in clients:
                    c.socket.settimeout(0)
                asked = 0
                admitted = server.counters()["admitted"]
                while server.counters()["open"] > 0:
                    for c in clients:
                        with contextlib.suppress(OSError):
                            asked += 64 if c.socket.send(ask) else 0
                    most = max(most, server.rss_kib() - before)
                self.assertEqual(server.counters()["admitted"], admitted)
            counters = check_balance(server.counters())
            print(f"-- 20 readers that do not read, {asked * 16 >> 10} MiB asked for: {most} KiB")
            self.assertGreater(asked, 1000)
            if not SANITIZED:
                self.assertLess(most, 20 * 1024)
            self.assertEqual(counters["in_flight"], 0)


if __name__ == "__main__":
    main()
