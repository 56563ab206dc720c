"""mTLS: who may come in, who they are said to be, and that a ticket opens no other door.

That a ticket of a server without client authentication is worth nothing to one that requires it
cannot be shown through the program, whose policy is fixed and whose ticket keys die with it: unit
tests of tls/ do. What the program can do is rotate the client CA file, and that is shown here.
"""
import os
import shutil
import ssl
import unittest

from certificates import authority, certificate
from client import Client, tls_context
from harness import Server, check_balance, eventually, temp
from runner import main

VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


def setUpModule():
    certificate("server")
    authority("staff")
    authority("strangers")
    certificate("anna", by="staff", subject="/O=Bulkhead/CN=anna", usage="clientAuth")
    certificate("eve", by="strangers", subject="/CN=eve", usage="clientAuth")
    certificate("misused", by="staff", subject="/CN=server only", usage="serverAuth")


def whoami(server, context, session=None):
    with Client(server, context, session=session) as c:
        response = c.get("/whoami")
        assert response.status == 200, response.status
        return response.body.decode().strip(), c.socket.session, c.socket.session_reused


class ClientCertificates(unittest.TestCase):
    def refused(self, server, context, session=None):
        # In TLS 1.3 the client hears of it at its first read.
        with self.assertRaises((ssl.SSLError, ConnectionResetError)):
            whoami(server, context, session)

    def test_a_client_without_a_certificate_is_refused(self):
        with Server("--client-ca", temp("staff.pem")) as server:
            for version in VERSIONS:
                self.refused(server, tls_context(version=version))
            counters = check_balance(server.quiet())
            self.assertEqual(counters["started"], 0)
            self.assertEqual(counters["handshake_failures"], 2)

    def test_a_client_with_a_certificate_is_served_under_its_name(self):
        with Server("--client-ca", temp("staff.pem")) as server:
            for version in VERSIONS:
                subject, _, _ = whoami(server, tls_context(version=version, certificate="anna"))
                self.assertIn("anna", subject)
                self.assertIn("Bulkhead", subject)

    def test_a_certificate_of_another_authority_is_refused(self):
        with Server("--client-ca", temp("staff.pem")) as server:
            for name in ("eve", "misused"):
                for version in VERSIONS:
                    self.refused(server, tls_context(version=version, certificate=name))

    def test_an_optional_certificate_may_be_missing_but_not_bad(self):
        with Server("--client-ca", temp("staff.pem"), "--client-auth", "optional") as server:
            for version in VERSIONS:
                self.assertEqual(whoami(server, tls_context(version=version))[0],
                                 "no client certificate")
                self.assertIn("anna", whoami(server, tls_context(version=version,
                                                                 certificate="anna"))[0])
                self.refused(server, tls_context(version=version, certificate="eve"))

    def test_without_client_authentication_nobody_is_anybody(self):
        with Server() as server:
            self.assertEqual(whoami(server, tls_context(certificate="anna"))[0],
                             "no client certificate")

    def test_a_resumed_session_keeps_its_name(self):
        with Server("--client-ca", temp("staff.pem"), "--threads", "2") as server:
            for version in VERSIONS:
                context = tls_context(version=version, certificate="anna")
                name, session, _ = whoami(server, context)
                for _ in range(4):
                    again, _, reused = whoami(server, context, session)
                    self.assertTrue(reused)
                    self.assertEqual(again, name)

    def test_a_ticket_is_worth_nothing_once_its_authority_is_not_trusted_any_more(self):
        for version in VERSIONS:
            shutil.copy(temp("staff.pem"), temp("trusted.pem"))
            with Server("--client-ca", temp("trusted.pem"),
                        config="[tls]\ncertificate_check_ms = 20\n") as server:
                context = tls_context(version=version, certificate="anna")
                _, session, _ = whoami(server, context)
                self.assertTrue(whoami(server, context, session)[2])
                shutil.copy(temp("strangers.pem"), temp("trusted.new"))
                os.rename(temp("trusted.new"), temp("trusted.pem"))
                server.logged("configuration rotated")
                eve = tls_context(version=version, certificate="eve")
                self.assertIn("eve", eventually("eve is trusted", lambda e=eve: trusted(server, e)))
                self.refused(server, context, session)
                self.refused(server, context)


def trusted(server, context):
    try:
        return whoami(server, context)[0]
    except (ssl.SSLError, ConnectionResetError):
        return None


if __name__ == "__main__":
    main()
