"""What is wrong is said: the thing is named, exit status 2, nothing on standard output."""
import os
import re
import socket
import unittest

from certificates import certificate
from harness import PROGRAMS, run, temp, write
from runner import main


def setUpModule():
    certificate("server")
    certificate("other")
    write(temp("empty.pem"), "")
    write(temp("words.pem"), "these are words\n")
    os.mkdir(temp("folder.pem"))


def serve(*options, tls=True, config=None):
    command = [PROGRAMS[0], "serve"]
    if tls:
        command += ["--listen", "127.0.0.1:0", "--cert", temp("server.pem"),
                    "--key", temp("server-key.pem")]
    if config is not None:
        command += ["--config", write(temp("bad.toml"), config)]
    return run(*command, *options)


class BadInput(unittest.TestCase):
    def refused(self, done, *words):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertTrue(done.stderr.startswith("bulkhead: "), done.stderr)
        self.assertLessEqual(len(done.stderr.splitlines()), 2, done.stderr)

    def files(self, cert, key):
        return serve("--listen", "127.0.0.1:0", "--cert", temp(cert), "--key", temp(key), tls=False)

    def test_a_missing_certificate_is_named(self):
        self.refused(self.files("none.pem", "server-key.pem"), temp("none.pem"), "No such file")

    def test_a_missing_key_is_named(self):
        self.refused(self.files("server.pem", "none.pem"), temp("none.pem"), "No such file")

    def test_a_key_of_another_certificate_is_named(self):
        self.refused(self.files("server.pem", "other-key.pem"), temp("other-key.pem"),
                     temp("server.pem"))

    def test_an_empty_file_is_named(self):
        self.refused(self.files("empty.pem", "server-key.pem"), temp("empty.pem"))
        self.refused(self.files("server.pem", "empty.pem"), temp("empty.pem"))

    def test_a_file_that_is_no_pem_is_named(self):
        self.refused(self.files("words.pem", "server-key.pem"), temp("words.pem"))
        self.refused(self.files("server.pem", "words.pem"), temp("words.pem"))

    def test_a_folder_in_place_of_a_file_is_named(self):
        self.refused(self.files("folder.pem", "server-key.pem"), temp("folder.pem"))
        self.refused(self.files("server.pem", "folder.pem"), temp("folder.pem"))

    def test_swapped_files_are_told(self):
        self.refused(self.files("server-key.pem", "server.pem"), temp("server-key.pem"))

    def test_a_bad_client_ca_is_named(self):
        self.refused(serve("--client-ca", temp("none.pem")), temp("none.pem"))
        self.refused(serve("--client-ca", temp("words.pem")), temp("words.pem"))

    def test_a_port_in_use_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            self.refused(serve("--listen", address), address, "in use")
            self.refused(serve("--plain-listen", address), address, "in use")
            self.refused(serve("--admin-listen", address), address, "in use")

    def test_a_bad_address_is_named(self):
        for address in ("nonsense", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:65536", "1.2.3:80",
                        "[::1:80", "unix:relative", ":", ""):
            self.refused(serve("--plain-listen", address, tls=False), f'"{address}"')
        self.refused(serve("--listen", "127.0.0.1"), '"127.0.0.1"')

    def test_a_bad_admin_address_is_named(self):
        self.refused(serve("--admin-listen", "127.0.0.1"), '"127.0.0.1"')

    def test_an_address_of_another_machine_is_named(self):
        self.refused(serve("--listen", "192.0.2.1:0"), "192.0.2.1", "does not have that address")

    def test_an_unknown_option_is_named(self):
        self.refused(serve("--lisen", "127.0.0.1:0"), "--lisen")
        self.refused(serve("surplus"), "surplus")

    def test_a_missing_or_unknown_command_is_told(self):
        self.refused(run(PROGRAMS[0]), "subcommand")
        self.refused(run(PROGRAMS[0], "sreve"), "sreve")

    def test_a_certificate_needs_its_key(self):
        self.refused(serve("--cert", temp("server.pem"), tls=False), "--cert needs --key")
        self.refused(serve("--key", temp("server-key.pem"), tls=False), "--key needs --cert")

    def test_nothing_to_serve_is_told(self):
        self.refused(serve(tls=False), "nothing to serve", "--plain-listen")
        self.refused(serve("--listen", "127.0.0.1:0", tls=False), "--cert")

    def test_a_value_that_is_no_choice_is_named_with_the_choices(self):
        self.refused(serve("--mode", "workers"), "--mode", "workers", "actor or worker")
        self.refused(serve("--log-level", "loud"), "--log-level", "loud", "debug")
        self.refused(serve("--client-auth", "maybe"), "--client-auth", "maybe", "optional")

    def test_a_number_out_of_range_is_named(self):
        for option in ("--threads", "--capacity"):
            for value in ("0", "-1", "many", "1000000000000"):
                self.refused(serve(option, value), option)

    # -- the configuration file

    def test_an_unknown_key_is_refused_with_the_nearest_one_and_its_line(self):
        self.refused(serve(config="[server]\n\nlissen = []\n"), temp("bad.toml") + ":3",
                     '"server.lissen"', 'did you mean "server.listen"?')
        self.refused(serve(config="[timeouts]\nhead = 1\n"), '"timeouts.head"')
        self.refused(serve(config="[sever]\n"), '"sever"', 'did you mean "server"?')

    def test_an_unknown_key_that_resembles_nothing_is_refused_without_a_guess(self):
        done = serve(config="[server]\nzzzzzzzzzz = 1\n")
        self.refused(done, '"server.zzzzzzzzzz"')
        self.assertNotIn("did you mean", done.stderr)

    def test_a_wrong_type_is_refused_with_key_line_and_what_is_expected(self):
        table = {
            '[server]\nthreads = "two"\n': ('"server.threads"', "whole number"),
            "[server]\nthreads = 0\n": ('"server.threads"', "from 1 to 1024"),
            '[server]\nlisten = "127.0.0.1:0"\n': ('"server.listen"', "array of strings"),
            "[server]\ntest_routes = 1\n": ('"server.test_routes"', "true or false"),
            "[tls]\nmin_version = 1.2\n": ('"tls.min_version"', '"1.2", "1.3"'),
            "[tls]\nidentity = [1]\n": ('"tls.identity"', "certificate and key"),
            '[log]\nlevel = "loud"\n': ('"log.level"', '"debug"'),
            "[timeouts]\nidle_ms = -5\n": ('"timeouts.idle_ms"', "whole number"),
        }
        for config, words in table.items():
            self.refused(serve(config=config), temp("bad.toml") + ":2", *words)

    def test_a_file_that_is_no_toml_is_refused_with_its_line(self):
        self.refused(serve(config="[server]\nthreads = = 2\n"), temp("bad.toml") + ":2")

    def test_a_configuration_that_cannot_be_read_is_named(self):
        self.refused(serve("--config", temp("none.toml")), temp("none.toml"), "No such file")
        self.refused(serve("--config", temp("folder.pem")), temp("folder.pem"))

    def test_a_cipher_that_openssl_does_not_know_is_named(self):
        self.refused(serve(config='[tls]\nciphersuites = "TLS_NONE"\n'), "TLS_NONE")
        self.refused(serve(config='[tls]\ngroups = "P-1"\n'), "P-1")
        self.refused(serve(config='[tls]\nmin_version = "1.3"\nmax_version = "1.2"\n'), "version")

    def test_help_and_version_are_no_errors(self):
        done = run(PROGRAMS[0], "serve", "--help", status=0)
        for option in ("--listen", "--cert", "--key", "--mode", "--threads", "--capacity",
                       "--config", "--plain-listen", "--admin-listen", "--log-level"):
            self.assertIn(option, done.stdout)
        self.assertEqual(done.stderr, "")
        self.assertTrue(re.fullmatch(r"\S*\d+\.\d+\.\d+\s*", run(
            PROGRAMS[0], "--version", status=0).stdout))


if __name__ == "__main__":
    main()
