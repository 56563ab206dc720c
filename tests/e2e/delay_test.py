"""Handlers that wait hold no thread, and a client that leaves ends what it asked for."""
import time
import unittest

from certificates import certificate
from client import Client, tls_context
from harness import SANITIZED, Server, check_balance, eventually, together
from runner import main


def setUpModule():
    certificate("server")


class Delay(unittest.TestCase):
    def test_two_hundred_delays_on_one_shard_pass_at_the_same_time(self):
        context = tls_context()
        with Server() as server:
            clients = [Client(server, context) for _ in range(200)]
            threads, began = server.threads(), time.monotonic()
            self.assertEqual(together(200, lambda i: clients[i].get("/delay/200").status),
                             [200] * 200)
            took = time.monotonic() - began
            print(f"-- 200 delays of 200 ms at once: {took:.2f} s, {server.threads()} threads")
            self.assertGreaterEqual(took, 0.2)
            self.assertLess(took, 20 if SANITIZED else 4)  # one after the other: 40 s
            self.assertEqual(server.threads(), threads)
            for c in clients:
                c.close()
            self.assertEqual(server.quiet()["completed"], 200)

    def test_a_client_that_leaves_in_the_middle_is_counted_aborted(self):
        for how, path in (("reset", "/delay/60000"), ("drop", "/delay/60000")):
            with Server() as server, Client(server) as healthy:
                gone = [Client(server) for _ in range(10)]
                for c in gone:
                    c.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
                eventually("all wait", lambda: server.counters()["in_flight"] == 10)
                for c in gone:
                    if how == "reset":
                        c.reset()
                    else:  # FIN without close_notify
                        c.socket.close()
                counters = check_balance(eventually("nothing is in flight", lambda: (
                    lambda k: k if k["in_flight"] == 0 and k["open"] == 1 else None)(
                        server.counters())))
                self.assertEqual((counters["aborted"], counters["completed"]), (10, 0), how)
                self.assertEqual(healthy.get("/small").status, 200)

    def test_a_client_that_says_close_notify_still_gets_its_answer(self):
        with Server("--plain-listen", "127.0.0.1:0", tls=False) as server:
            with Client(server, plain=True) as c:
                c.send("GET /delay/100 HTTP/1.1\r\nHost: localhost\r\n\r\n")
                c.socket.shutdown(1)
                self.assertEqual(c.response().body, b"100")

    def test_answers_come_in_the_order_of_the_requests(self):
        with Server() as server, Client(server) as c:
            delays = [b"60", b"0", b"40", b"5", b"20"]
            c.send(b"".join(b"GET /delay/" + d + b" HTTP/1.1\r\nHost: a\r\n\r\n" for d in delays))
            self.assertEqual([c.response().body for _ in delays], delays)

    def test_a_delay_that_is_no_number_is_the_clients_mistake(self):
        with Server() as server, Client(server) as c:
            for bad in ("x", "-1", "60001", "1e3", "99999999999999999999", "1%20"):
                self.assertEqual(c.get("/delay/" + bad).status, 400, bad)
            self.assertEqual(server.counters()["trapped"], 0)


if __name__ == "__main__":
    main()
