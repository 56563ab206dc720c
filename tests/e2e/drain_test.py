"""A graceful stop: what is in flight is answered, the rest is closed, nothing is cut."""
import contextlib
import json
import os
import re
import signal
import socket
import threading
import unittest

from certificates import certificate
from client import Client, connect, read_to_end
from harness import PATIENCE, Server, check_balance, eventually
from runner import main

DELAY = "GET /delay/800 HTTP/1.1\r\nHost: localhost\r\n\r\n"


def setUpModule():
    certificate("server")


def refused(server):
    try:
        connect(server).close()
        return False
    except (ConnectionRefusedError, ConnectionResetError):
        return True


class Drain(unittest.TestCase):
    def test_no_thread_but_the_one_that_stops_the_server_takes_a_signal(self):
        wanted = sum(1 << (n - 1) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
        with Server() as server:
            for task in os.listdir(f"/proc/{server.pid}/task"):
                with open(f"/proc/{server.pid}/task/{task}/status", encoding="ascii") as f:
                    status = f.read()
                blocked = int(re.search(r"^SigBlk:\s*(\w+)", status, re.M)[1], 16)
                self.assertEqual(blocked & wanted, wanted, status.splitlines()[0])

    def in_flight(self, server, count=1):
        eventually("requests are in flight", lambda: server.counters()["in_flight"] == count)

    def stopped(self, server, status=0):
        got, output = server.ended()
        self.assertEqual(got, status, server.log()[-2000:])
        return output

    def test_a_request_in_flight_is_answered_while_everything_else_is_closed(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Server("--test-routes") as server:
                idle = Client(server)
                self.assertEqual(idle.get("/small").status, 200)
                busy = Client(server)
                busy.send(DELAY)
                self.in_flight(server)
                self.assertEqual(server.admin("/ready"), (200, {"ready": True}))

                server.signal(number)
                eventually("not ready", lambda: server.admin("/ready") == (
                    503, {"ready": False, "reasons": ["draining"]}))
                self.assertEqual(server.admin("/live"), (200, {"live": True}))
                eventually("new connections are refused", lambda: refused(server))
                self.assertTrue(idle.ended(), "an idle connection is closed with close_notify")
                idle.close()
                self.assertEqual(server.counters()["in_flight"], 1, "the request was over too soon")

                response = busy.response()
                self.assertEqual((response.status, response.body), (200, b"800"))
                self.assertEqual(response["connection"], "close")
                self.assertTrue(busy.ended())
                busy.close()
                counters = check_balance(json.loads(self.stopped(server)))
                self.assertEqual((counters["completed"], counters["aborted"]), (2, 0))

    def test_pipelined_requests_in_flight_are_all_answered(self):
        with Server() as server, Client(server) as c:
            c.send(DELAY + DELAY.replace("800", "10") + DELAY.replace("800", "300"))
            self.in_flight(server, 3)
            server.signal(signal.SIGTERM)
            self.assertEqual([c.response().body for _ in range(3)], [b"800", b"10", b"300"])
            self.assertTrue(c.ended())
            c.close()
            self.stopped(server)

    def test_a_request_whose_head_is_half_sent_is_answered(self):
        with Server() as server, Client(server) as c:
            self.assertEqual(c.get("/small").status, 200)
            c.send("GET /small HTTP/1.1\r\nHost: lo")
            # The admin interface has no gauge for this; an answer on a second connection shows
            # that the shard has been through its loop since.
            with Client(server) as other:
                self.assertEqual(other.get("/small").status, 200)
            server.signal(signal.SIGTERM)
            eventually("not ready", lambda: server.admin("/ready")[0] == 503)
            c.send("calhost\r\n\r\n")
            response = c.response()
            self.assertEqual((response.status, response["connection"]), (200, "close"))
            c.close()
            self.stopped(server)

    def test_a_second_signal_changes_nothing(self):
        with Server() as server, Client(server) as c:
            c.send(DELAY)
            self.in_flight(server)
            server.signal(signal.SIGTERM)
            eventually("not ready", lambda: server.admin("/ready")[0] == 503)
            server.signal(signal.SIGTERM)
            server.signal(signal.SIGINT)
            self.assertEqual(c.response().status, 200)
            c.close()
            self.stopped(server)

    def test_a_stalled_handshake_does_not_hold_a_stop(self):
        with Server() as server, connect(server) as silent, connect(server) as half:
            half.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
            eventually("both are admitted", lambda: server.counters()["admitted"] == 2)
            server.signal(signal.SIGTERM)
            self.stopped(server)
            self.assertEqual(read_to_end(silent), b"")
            self.assertEqual(read_to_end(half), b"")

    def test_a_client_that_never_closes_does_not_hold_a_stop(self):
        with Server(config="[timeouts]\nlinger_ms = 200\n") as server:
            with Client(server) as c:
                self.assertEqual(c.get("/small").status, 200)
                server.signal(signal.SIGTERM)
                self.stopped(server)

    def test_a_server_with_nothing_to_do_stops_at_once(self):
        for threads in ("1", "2"):
            with Server("--threads", threads) as server:
                server.signal(signal.SIGTERM)
                self.stopped(server)

    def test_a_worker_stops_as_gracefully(self):
        with Server("--mode", "worker") as server, Client(server) as c:
            c.send(DELAY)
            self.in_flight(server)
            server.signal(signal.SIGTERM)
            self.assertEqual(c.response().status, 200)
            c.close()
            self.stopped(server)

    def test_what_outlasts_the_drain_limit_is_cut(self):
        with Server(config="[server]\ndrain_limit_ms = 300\n") as server, Client(server) as c:
            c.send(DELAY.replace("800", "60000"))
            self.in_flight(server)
            server.signal(signal.SIGTERM)
            with self.assertRaises((EOFError, OSError)):
                c.response()
            self.assertEqual(server.ended()[0], 1)

    def test_without_test_routes_there_is_no_way_to_stop_from_outside(self):
        with Server() as server, Client(server) as c:
            self.assertEqual(c.request("POST", "/stop", b"").status, 404)
            self.assertEqual(c.get("/small").status, 200)

    def test_stop_over_http_answers_its_own_client_first(self):
        with Server("--test-routes", "--threads", "2") as server, Client(server) as c:
            response = c.request("POST", "/stop", b"")
            self.assertEqual((response.status, response.body), (200, b"stopping\n"))
            c.close()
            counters = check_balance(json.loads(self.stopped(server)))
            self.assertEqual(counters["completed"], 1)

    def test_a_unix_socket_is_gone_after_a_stop(self):
        with Server() as server:
            path = server.admin_path
            server.signal(signal.SIGTERM)
            self.stopped(server)
            with socket.socket(socket.AF_UNIX) as s, self.assertRaises(OSError):
                s.connect(path)

    def test_a_stop_amid_new_connections_cuts_no_answer(self):
        with Server("--threads", "2") as server:
            over, halves = threading.Event(), []

            def knock():
                while not over.is_set():
                    with contextlib.suppress(OSError):
                        with Client(server) as c:
                            c.send("GET /big HTTP/1.1\r\nHost: a\r\n\r\n")
                            try:
                                c.response()
                            except EOFError:
                                if c.buffer:
                                    halves.append(c.buffer)

            knockers = [threading.Thread(target=knock) for _ in range(4)]
            for t in knockers:
                t.start()
            try:
                eventually("some were served", lambda: server.counters()["completed"] > 50)
                server.signal(signal.SIGTERM)
                self.stopped(server)
            finally:
                over.set()
                for t in knockers:
                    t.join(PATIENCE)
            self.assertEqual(halves, [])


if __name__ == "__main__":
    main()
