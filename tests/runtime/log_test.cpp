#include <bulkhead/runtime/log.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>

#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace bulkhead::runtime {
namespace {

using namespace testing;

// Standard error is a pipe for the time of a test; the log is stopped before it is given back.
class captured_stderr {
 public:
  captured_stderr() {
    std::array<int, 2> fds{};
    REQUIRE(::pipe2(fds.data(), O_CLOEXEC) == 0);
    read_.reset(fds[0]);
    write_.reset(fds[1]);
    saved_.reset(::fcntl(2, F_DUPFD_CLOEXEC, 3));
    REQUIRE(::dup2(write_.get(), 2) == 2);
  }
  ~captured_stderr() { restore(); }

  // Stops the log, reading meanwhile, and gives what was written.
  std::string finish() {
    std::string all;
    std::thread reader([&] {
      std::array<char, 4096> part{};
      for (ssize_t n = 0; (n = ::read(read_.get(), part.data(), part.size())) > 0;) {
        all.append(part.data(), static_cast<std::size_t>(n));
      }
    });
    log::stop();
    restore();
    reader.join();
    return all;
  }

 private:
  void restore() {
    if (!saved_) return;
    ::dup2(saved_.get(), 2);
    saved_.reset();
    write_.reset();
  }
  unique_fd read_, write_, saved_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TEST_CASE("a line has a UTC time, a level, a component and the text") {
  captured_stderr out;
  log::start(log::level::info);
  log::warn("listener", "accepting pauses");
  const std::string text = out.finish();
  CHECK_MESSAGE(
      std::regex_match(text, std::regex("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z "
                                        "warn listener: accepting pauses\n")),
      text);
}

TEST_CASE("control characters are escaped, so a peer cannot forge a line") {
  captured_stderr out;
  log::start(log::level::info);
  log::info("http", "path /a\r\n2026-01-01T00:00:00.000Z error tls: forged\x1b[2J\x7f\t");
  log::info("h\nx", std::string_view("\0z", 2));
  log::info("http", "caf\u00e9 \u009b31m");
  const auto lines = lines_of(out.finish());
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].ends_with(
      "info http: path /a\\r\\n2026-01-01T00:00:00.000Z error tls: forged\\x1b[2J\\x7f\\t"));
  CHECK(lines[1].ends_with("info h\\nx: \\x00z"));
  CHECK(lines[2].ends_with("caf\u00e9 \xc2\\x9b31m"));
}

TEST_CASE("text that looks like a format is taken as text") {
  captured_stderr out;
  log::start(log::level::info);
  log::info("http", "{} %v {0:d}");
  CHECK(out.finish().ends_with("{} %v {0:d}\n"));
}

TEST_CASE("levels below the least go nowhere") {
  captured_stderr out;
  log::start(log::level::warn);
  CHECK_FALSE(log::enabled(log::level::info));
  CHECK(log::enabled(log::level::error));
  log::info("tls", "not this");
  log::error("tls", "this");
  const auto lines = lines_of(out.finish());
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].ends_with("error tls: this"));
}

TEST_CASE("before start and after stop lines go nowhere") {
  captured_stderr out;
  log::error("tls", "before");
  CHECK_FALSE(log::enabled(log::level::error));
  log::start(log::level::info);
  log::stop();
  log::stop();
  log::error("tls", "after");
  CHECK(out.finish().empty());
}

TEST_CASE("start twice has one writer and the later level") {
  captured_stderr out;
  log::start(log::level::error);
  log::start(log::level::info);
  log::info("tls", "once");
  CHECK(lines_of(out.finish()).size() == 1);
}

TEST_CASE("a full queue drops the oldest lines, counts them and never blocks") {
  captured_stderr out;
  const auto before = log::dropped();
  log::start(log::level::info, 16);
  // Nobody reads the pipe: the writer blocks in it after 64 KiB, and still this returns.
  const std::string big(2000, 'x');
  constexpr int count = 500;
  for (int i = 0; i < count; ++i) log::info("flood", std::to_string(i) + " " + big);
  const auto dropped = log::dropped() - before;
  CHECK(dropped > 0);
  const auto lines = lines_of(out.finish());
  CHECK(lines.size() + dropped == count);
  REQUIRE_FALSE(lines.empty());
  CHECK(lines.back().find("flood: 499 ") != std::string::npos);
  CHECK(log::dropped() - before == dropped);  // stop() does not forget
}

TEST_CASE("threads may log while the log stops and starts") {
  captured_stderr out;
  std::thread writer([] {
    for (int i = 0; i < 300; ++i) log::info("a", "line");
  });
  for (int i = 0; i < 5; ++i) {
    log::start(log::level::info, 8);
    log::info("b", "line");
    log::stop();
  }
  writer.join();
  CHECK(out.finish().find(" info b: line\n") != std::string::npos);
}

TEST_CASE("a forked child neither logs into a writer that it does not have nor hangs") {
  captured_stderr out;
  log::start(log::level::info);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool off = !log::enabled(log::level::error);
    log::error("cell", "from the child");
    log::flush();
    log::stop();
    ::_exit(off ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  log::info("main", "from the parent");
  const auto lines = lines_of(out.finish());
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].ends_with("info main: from the parent"));
}

TEST_CASE("a level is parsed by its exact name") {
  log::level l = log::level::off;
  CHECK(log::parse_level("trace", l));
  CHECK(l == log::level::trace);
  CHECK(log::parse_level("off", l));
  CHECK(l == log::level::off);
  CHECK_FALSE(log::parse_level("Info", l));
  CHECK_FALSE(log::parse_level("", l));
  CHECK(l == log::level::off);
}

}  // namespace
}  // namespace bulkhead::runtime
