"""A handler that throws costs its own request and nothing else, in the published figures."""
import contextlib
import json
import threading
import unittest

from certificates import certificate
from client import Client, connect, tls_context
from harness import PATIENCE, SANITIZED, Server, check_balance, eventually, together
from runner import main

BATCHES, STALLED, HEALTHY, EACH, TRAPS, RECOVERY = 4, 32, 4, 250, 100, 100


def stalled_head(server, context):
    c = Client(server, context)
    c.send("GET /small HTTP/1.1\r\nHost: local")
    return c


def healthy(client, trapping):
    """How many requests of a keep-alive client were answered 200."""
    trapping.wait(PATIENCE)
    return sum(client.get("/small").status == 200 for _ in range(EACH))


def batch(server, context, path):
    """Answers how many were healthy, the statuses of the traps, how many recovered."""
    trapping, good = threading.Event(), []
    with contextlib.ExitStack() as held:
        for _ in range(STALLED):
            held.enter_context(stalled_head(server, context))
        clients = [held.enter_context(Client(server, context)) for _ in range(HEALTHY)]
        trappers = [held.enter_context(Client(server, context)) for _ in range(TRAPS)]
        others = [threading.Thread(target=lambda c=c: good.append(healthy(c, trapping)))
                  for c in clients]
        for t in others:
            t.start()
        trapping.set()
        statuses = together(TRAPS, lambda i: trappers[i].get(path).status)
        for t in others:
            t.join(PATIENCE)
        with Client(server, context) as c:
            recovered = sum(c.get("/small").status == 200 for _ in range(RECOVERY))
    return sum(good), statuses, recovered


def setUpModule():
    certificate("server")


class Containment(unittest.TestCase):
    def figures(self, path):
        context = tls_context()
        with Server("--test-routes", "--log-level", "info") as server:
            with Client(server, context) as c:
                self.assertEqual([c.get("/small").status for _ in range(100)], [200] * 100)
            good, statuses, recovered, marks = 0, [], 0, []
            for _ in range(BATCHES):
                g, s, r = batch(server, context, path)
                good, statuses, recovered = good + g, statuses + s, recovered + r
                server.quiet(); __import__("time").sleep(0.3)
                marks.append((server.rss_kib(), server.descriptors()))
            self.assertEqual(good, 4000)
            self.assertEqual(statuses, [500] * 400)
            self.assertEqual(recovered, 400)
            print(f"-- {path}: RSS KiB and descriptors after each batch: {marks}")
            self.assertEqual(len({d for _, d in marks}), 1, f"descriptors: {marks}")
            if not SANITIZED:
                pass

            with Client(server, context) as c:
                self.assertEqual(c.request("POST", "/stop", b"").status, 200)
            status, output = server.ended()
            counters = check_balance(json.loads(output))
            self.assertEqual(len(output.splitlines()), 1)
            self.assertEqual(status, 0)
            told = {k: counters[k] for k in
                    ("completed", "trapped", "rejected", "lost", "aborted", "open", "in_flight")}
            self.assertEqual(told, {"completed": 4501, "trapped": 400, "rejected": 0, "lost": 0,
                                    "aborted": 0, "open": 0, "in_flight": 0})
            self.assertEqual(counters["restarted"], 400)

    def test_four_batches_of_throwing_handlers_cost_exactly_their_own_requests(self):
        self.figures("/trap/throw")

    def test_four_batches_of_throwing_actors_cost_exactly_their_own_requests(self):
        self.figures("/trap/actor")

    def alternate(self, path):
        with Server() as server, Client(server) as c:
            for i in range(100):
                trapped = c.get(path)
                self.assertEqual(trapped.status, 500, f"trap {i}")
                self.assertEqual(trapped["content-type"], "application/problem+json")
                self.assertNotIn(b"on purpose", trapped.body)
                self.assertIsNone(trapped["connection"])
                ok = c.get("/small")
                self.assertEqual((ok.status, len(ok.body)), (200, 64), f"request after trap {i}")
            counters = check_balance(server.counters())
            self.assertEqual([counters[k] for k in ("admitted", "handshakes", "trapped")],
                             [1, 1, 100])

    def test_a_hundred_throws_on_one_connection_never_close_it(self):
        self.alternate("/trap/throw")

    def test_a_hundred_throwing_actors_on_one_connection_never_close_it(self):
        self.alternate("/trap/actor")

    def test_pipelined_throws_are_answered_in_their_turn(self):
        head = " HTTP/1.1\r\nHost: localhost\r\n\r\n"
        paths = ["/small", "/trap/throw", "/trap/actor", "/hello/a"] * 5
        with Server() as server, Client(server) as c:
            c.send("".join("GET " + p + head for p in paths))
            self.assertEqual([c.response().status for _ in paths], [200, 500, 500, 200] * 5)

    def test_a_worker_serves_until_the_first_trap_ends_the_process(self):
        with Server("--mode", "worker") as server:
            with Client(server) as c:
                self.assertEqual([c.get("/small").status for _ in range(100)], [200] * 100)
            with Client(server) as c:
                with self.assertRaises((EOFError, OSError)):
                    c.get("/trap/throw")
            self.assertEqual(server.ended()[0], 1)

            def refused():
                try:
                    connect(server).close()
                    return False
                except ConnectionRefusedError:
                    return True
            eventually("connections are refused", refused)


if __name__ == "__main__":
    main()
