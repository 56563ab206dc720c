"""Restart intensity: a child that fails too often is taken out of service, and comes back.

The fixture's routes may be restarted 3 times a minute; then they back off for 300 ms, 600 ms, ...
"""
import unittest

from certificates import certificate
from client import Client
from harness import PROGRAMS, Server, check_balance, eventually
from runner import main


def setUpModule():
    certificate("server")


class Intensity(unittest.TestCase):
    def server(self):
        return Server(program=PROGRAMS[1])

    def number(self, client, path):
        response = client.get(path)
        self.assertEqual(response.status, 200, path)
        return int(response.body)

    def fail_until_backing_off(self, client, path):
        """Three faults within the intensity, each followed by service at once, and a fourth."""
        for _ in range(3):
            self.assertEqual(client.get(path + "/throw").status, 500)
            self.assertEqual(self.number(client, path + "/count"), 1, "the state was not rebuilt")
            self.assertEqual(self.number(client, path + "/count"), 2)
        self.assertEqual(client.get(path + "/throw").status, 500)

    def back_in_service(self, client, path):
        response = eventually(f"{path} is back", lambda: (
            lambda r: r if r.status != 503 else None)(client.get(path + "/count")))
        self.assertEqual((response.status, response.body), (200, b"1"))

    def unavailable(self, client, path):
        response = client.get(path + "/count")
        self.assertEqual(response.status, 503)
        self.assertEqual(response["retry-after"], "1")
        self.assertEqual(response["content-type"], "application/problem+json")
        self.assertIsNone(response["connection"], "the session is kept")

    def check(self, placement):
        path, child = f"/{placement}", f"GET /{placement}/:what"
        with self.server() as server, Client(server) as client:
            self.assertEqual(self.number(client, path + "/count"), 1)
            self.fail_until_backing_off(client, path)
            calls = self.number(client, "/calls")
            self.unavailable(client, path)
            route = self.route(server, child)
            self.assertEqual((route["state"], route["faults"]), ("backing_off", 4))
            self.assertLessEqual(route["retry_after_ms"], 300)
            for _ in range(10):
                self.assertEqual(client.get("/sibling").status, 200)
            self.assertEqual(self.number(client, "/calls"), calls, "a handler was called")

            self.back_in_service(client, path)
            self.assertEqual(self.route(server, child)["state"], "in_service")
            self.assertEqual(client.get(path + "/throw").status, 500)
            self.unavailable(client, path)
            self.back_in_service(client, path)

            total, faults = server.admin("/faults")[1].values()
            self.assertEqual(total, 5)
            self.assertEqual([f["action"] for f in faults], ["restarted"] * 3 +
                             ["backing off for 300 ms", "backing off for 600 ms"])
            for fault in faults:
                self.assertEqual([fault[k] for k in ("child", "kind", "what", "route")],
                                 [child, "std::runtime_error", "secret of the handler",
                                  f"GET {path}/throw"])
                self.assertGreater(fault["request"], 0)
            self.assertEqual([f["number"] for f in faults], [1, 2, 3, 4, 5])
            self.assertEqual([f["requests_failed"] for f in faults], [1] * 5)
            eventually("every restart has its time", lambda: all(
                f["restart_us"] > 0 for f in server.admin("/faults?limit=5")[1]["faults"][:4]))
            counters = check_balance(server.counters())
            self.assertEqual((counters["trapped"], counters["admitted"]), (5, 1))
            server.logged(r"warn ledger: fault 5 in .*secret of the handler.*backing off for 600 ms")

    def route(self, server, child):
        return next(r for r in server.nodes("route") if r["id"] == child)

    def test_an_inline_handler_beyond_its_intensity_answers_503_and_comes_back(self):
        self.check("inline")

    def test_a_handler_actor_beyond_its_intensity_answers_503_and_comes_back(self):
        self.check("actor")

    def test_one_childs_faults_do_not_count_against_its_sibling(self):
        with self.server() as server, Client(server) as client:
            self.fail_until_backing_off(client, "/inline")
            self.fail_until_backing_off(client, "/actor")
            self.unavailable(client, "/inline")
            self.unavailable(client, "/actor")
            self.back_in_service(client, "/inline")
            self.back_in_service(client, "/actor")

    def test_a_fault_says_nothing_to_the_client(self):
        with self.server() as server, Client(server) as client:
            for path in ("/inline/throw", "/actor/throw"):
                response = client.get(path)
                self.assertNotIn(b"secret", response.body)
                self.assertFalse([h for h in response.headers.values() if "secret" in h])


if __name__ == "__main__":
    main()
