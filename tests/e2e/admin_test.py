"""The admin pages of a server at work: they agree with each other, and reveal nothing."""
import re
import shutil
import subprocess
import unittest

from certificates import certificate
from client import Client
from harness import PATIENCE, Server, eventually, temp
from runner import main


def setUpModule():
    certificate("server")


def figures(page):
    """The samples of a metrics page, by name and labels."""
    return dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))


def at_work(server):
    """Requests of several kinds, two faults among them."""
    with Client(server) as c:
        for path in ("/small", "/hello/you", "/trap/throw", "/trap/actor", "/nothing"):
            c.get(path)
    server.quiet()


class Admin(unittest.TestCase):
    def test_the_metrics_say_what_the_counters_say(self):
        with Server("--threads", "2") as server:
            at_work(server)
            counters = server.counters()
            metrics = figures(server.admin_page("/metrics")[2])
            for counter, name in (("admitted", "bulkhead_connections_admitted_total"),
                                  ("open", "bulkhead_connections"),
                                  ("started", "bulkhead_requests_started_total"),
                                  ("trapped", "bulkhead_requests_trapped_total"),
                                  ("handshakes",
                                   'bulkhead_tls_handshakes_total{result="completed"}'),
                                  ("messages_handled", "bulkhead_messages_handled_total")):
                self.assertEqual(int(metrics[name]), counters[counter], name)
            self.assertEqual(metrics["bulkhead_faults_total"], "2")
            self.assertEqual(
                metrics['bulkhead_route_faults_total{route="GET /trap/throw",child="GET /trap/throw"}'],
                "1")

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_promtool_finds_nothing_in_the_metrics(self):
        for mode in ("actor", "worker"):
            with Server("--mode", mode) as server:
                if mode == "actor":
                    at_work(server)
                page = server.admin_page("/metrics")[2]
                checked = subprocess.run(["promtool", "check", "metrics"], input=page.encode(),
                                         capture_output=True, timeout=PATIENCE, check=False)
                said = checked.stdout + checked.stderr
                self.assertEqual((checked.returncode, said), (0, b""), page)

    def test_the_process_start_is_the_kernels(self):
        with Server() as server:
            metrics = figures(server.admin_page("/metrics")[2])
            with open(f"/proc/{server.pid}/stat", encoding="ascii") as f:
                ticks = int(f.read().rsplit(")", 1)[1].split()[19])
            with open("/proc/stat", encoding="ascii") as f:
                boot = int(re.search(r"^btime (\d+)", f.read(), re.M)[1])
            # btime has whole seconds only.
            self.assertAlmostEqual(float(metrics["process_start_time_seconds"]),
                                   boot + ticks / 100, delta=1.5)

    def test_no_page_shows_a_key_a_query_or_a_field_of_a_request(self):
        with open(temp("server-key.pem"), encoding="ascii") as f:
            key = f.read().splitlines()[1]
        with Server() as server:
            with Client(server) as c:
                c.send("GET /trap/throw?token=hunter2 HTTP/1.1\r\nHost: hunter2.example\r\n"
                       "Authorization: Bearer hunter2\r\nCookie: a=hunter2\r\n\r\n")
                self.assertEqual(c.response().status, 500)
            pages = [p["path"] for p in server.admin("/")[1]["pages"]]
            self.assertGreaterEqual(len(pages), 9)
            for path in pages:
                status, _, text = server.admin_page(path)
                self.assertEqual(status, 200, path)
                for secret in ("hunter2", key, "PRIVATE KEY", "-key.pem"):
                    self.assertNotIn(secret, text, path)
            self.assertIn("thrown on purpose", server.admin_page("/faults.txt")[2])

    def test_the_faults_can_be_followed_by_number(self):
        with Server() as server, Client(server) as c:
            last = 0
            for path in ("/trap/throw", "/trap/actor", "/trap/throw"):
                self.assertEqual(c.get(path).status, 500)
                fresh = eventually("the fault is there", lambda since=last: server.admin(
                    f"/faults?since={since}")[1]["faults"])
                self.assertEqual([f["child"] for f in fresh], [f"GET {path}"])
                last = fresh[-1]["number"]
            of_one = server.admin("/faults?child=GET%20/trap/throw&limit=5")[1]
            self.assertEqual((of_one["total"], [f["number"] for f in of_one["faults"]]), (3, [1, 3]))
            status, fields, text = server.admin_page("/faults?limit=all")
            self.assertEqual((status, fields["Content-Type"]), (400, "application/problem+json"))
            self.assertIn("limit", text)

    def test_the_tree_is_drawn_with_the_connections_of_now(self):
        with Server() as server, Client(server) as c:
            c.get("/small")
            tree = server.admin_page("/tree", Accept="text/plain")[2]
            self.assertEqual(tree, server.admin_page("/tree.txt")[2])
            self.assertRegex(tree, r"\Aserver bulkhead \[ready\] mode=actor\n")
            self.assertIn("├─ shard 0 connections=1\n", tree)
            self.assertIn(f"├─ listener 127.0.0.1:{server.port} protocol=https\n", tree)
            self.assertRegex(tree, r"├─ route GET /trap/actor \[in_service\] placement=actor ")


if __name__ == "__main__":
    main()
