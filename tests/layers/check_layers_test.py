#!/usr/bin/env python3
"""Proves that check_layers.py fails on a violating file and passes an innocent one."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import check_layers


def run_on(files, internal=""):
    """Exit status and messages of the checker on a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**files, "cmake/internal-headers.txt": internal}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        messages = io.StringIO()
        with contextlib.redirect_stderr(messages), contextlib.redirect_stdout(io.StringIO()):
            status = check_layers.main(folder)
        return status, messages.getvalue()


class Layers(unittest.TestCase):
    def assert_clean(self, files, internal=""):
        self.assertEqual((0, ""), run_on(files, internal))

    def assert_violation(self, files, says, internal=""):
        status, messages = run_on(files, internal)
        self.assertEqual(1, status)
        self.assertIn(says, messages)

    def test_a_layer_may_include_itself_and_what_is_below(self):
        self.assert_clean({
            "runtime/a.hpp": "#include <bulkhead/runtime/b.hpp>\n#include <vector>\n",
            "tls/a.hpp": "#include <bulkhead/runtime/a.hpp>\n",
            "http/a.cpp": "#include <bulkhead/http/b.hpp>\n#include <bulkhead/tls/peer.hpp>\n",
            "actors/a.cpp": "#include <bulkhead/tls/session.hpp>\n",
            "supervision/a.hpp": "#include <bulkhead/tls/options.hpp>\n",
            "fixtures/a.cpp": "#include <bulkhead/supervision/server.hpp>\n",
            "cli/a.cpp": "#include <bulkhead/fixtures/a.hpp>\n#include <bulkhead/version.hpp>\n",
            "bulkhead.hpp": "#include <bulkhead/supervision/server.hpp>\n",
        })

    def test_no_layer_may_include_what_is_above_or_beside_it(self):
        for layer, target in [
            ("runtime", "http/request.hpp"), ("runtime", "bulkhead.hpp"),
            ("tls", "http/request.hpp"), ("http", "tls/session.hpp"),
            ("http", "actors/connection.hpp"), ("actors", "supervision/tree.hpp"),
            ("supervision", "tls/session.hpp"), ("supervision", "fixtures/demo.hpp"),
            ("fixtures", "cli/serve.hpp"),
        ]:
            with self.subTest(layer=layer, target=target):
                self.assert_violation({f"{layer}/a.cpp": f"#include <bulkhead/{target}>\n"},
                                      f"{layer}/a.cpp includes <bulkhead/{target}>")

    def test_spaces_do_not_hide_an_include(self):
        self.assert_violation({"tls/a.cpp": "  #  include  <bulkhead/http/request.hpp>\n"},
                              "an arrow only points down")

    def test_an_include_in_quotes_is_refused_in_a_layer(self):
        self.assert_violation({"tls/a.cpp": '#include "../http/request.hpp"\n'},
                              'includes "../http/request.hpp"')

    def test_caf_stays_in_actors_and_supervision(self):
        self.assert_clean({"actors/a.cpp": "#include <caf/actor.hpp>\n",
                           "supervision/a.cpp": "#include <caf/actor.hpp>\n",
                           "tests/actors/a.cpp": "#include <caf/actor.hpp>\n"})
        for layer in ("runtime", "tls", "http", "fixtures", "cli"):
            with self.subTest(layer=layer):
                self.assert_violation({f"{layer}/a.cpp": "#include <caf/actor.hpp>\n"},
                                      "only actors and supervision may")

    def test_openssl_stays_in_tls(self):
        self.assert_clean({"tls/a.cpp": "#include <openssl/ssl.h>\n",
                           "fixtures/a.cpp": "#include <openssl/x509.h>\n"})
        for layer in ("runtime", "http", "actors", "supervision", "cli"):
            with self.subTest(layer=layer):
                self.assert_violation({f"{layer}/a.cpp": "#include <openssl/ssl.h>\n"},
                                      "only tls may")

    def test_the_other_libraries_stay_where_they_are_wrapped(self):
        for layer, header in [("http", "llhttp.h"), ("runtime", "spdlog/spdlog.h"),
                              ("runtime", "fmt/format.h"), ("cli", "CLI/CLI.hpp"),
                              ("cli", "toml++/toml.h")]:
            with self.subTest(header=header):
                self.assert_clean({f"{layer}/a.cpp": f"#include <{header}>\n"})
                self.assert_violation({"actors/a.cpp": f"#include <{header}>\n"},
                                      f"only {layer} may")

    def test_an_installed_header_may_not_include_caf_or_openssl(self):
        self.assert_violation({"actors/a.hpp": "#include <caf/actor.hpp>\n"}, "is installed")
        self.assert_violation({"tls/a.hpp": "#include <openssl/ssl.h>\n"}, "is installed")
        self.assert_clean({"actors/a.hpp": "#include <caf/actor.hpp>\n"}, "actors/a.hpp\n")

    def test_an_installed_header_may_not_include_an_internal_one(self):
        files = {"actors/a.hpp": "#include <caf/actor.hpp>\n",
                 "actors/b.hpp": "#include <bulkhead/actors/a.hpp>\n"}
        self.assert_violation(files, "actors/b.hpp is installed", "actors/a.hpp\n")
        self.assert_clean(files, "actors/a.hpp\nactors/b.hpp\n")

    def test_an_internal_header_that_does_not_exist_is_reported(self):
        self.assert_violation({"tls/a.hpp": ""}, "does not exist", "tls/gone.hpp\n")

    def test_an_empty_tree_is_a_failure(self):
        self.assertEqual(1, run_on({})[0])


if __name__ == "__main__":
    unittest.main()
