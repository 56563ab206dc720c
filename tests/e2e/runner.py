"""Runs the cases of a test file: one line each, "ok NAME" or "FAIL NAME why"."""
import os
import resource
import shutil
import sys
import time
import unittest

from harness import PROGRAMS, TEMP


def raise_descriptor_limit():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Plain(unittest.TestResult):
    """One line a case: "ok NAME" or "FAIL NAME why"."""

    @staticmethod
    def name(test):
        return str(test).split(" ", maxsplit=1)[0].removeprefix("test_").replace("_", " ")

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def addSuccess(self, test):
        print(f"ok {self.name(test)} ({time.monotonic() - self.began:.1f} s)", flush=True)

    def addSkip(self, test, reason):
        print(f"ok {self.name(test)} # skipped: {reason}", flush=True)

    def _bad(self, test, error):
        trace = self._exc_info_to_string(error, test)
        why = trace.strip().splitlines()[-1]
        print(f"FAIL {self.name(test)} {why}\n{trace}", flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._bad(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._bad(test, err)


def main():
    """`python3 FILE PROGRAM [FIXTURE] [-k WORD]`"""
    arguments = sys.argv[1:]
    word = ""
    if "-k" in arguments:
        at = arguments.index("-k")
        word = arguments[at + 1]
        del arguments[at:at + 2]
    if not arguments:
        sys.exit("usage: python3 FILE PROGRAM [FIXTURE] [-k WORD]")
    PROGRAMS[:] = [os.path.abspath(a) for a in arguments]
    raise_descriptor_limit()
    try:
        result = Plain()
        loader = unittest.TestLoader()
        loader.testNamePatterns = [f"*{word}*"]
        loader.loadTestsFromModule(sys.modules["__main__"]).run(result)
        sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
    finally:
        shutil.rmtree(TEMP, ignore_errors=True)
