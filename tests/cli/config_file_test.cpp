// The TOML configuration: each key sets its option, everything else is refused by name and line.
#include <bulkhead/cli/config_file.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <tests/tls/certificates.hpp>
#include <vector>

namespace bulkhead::cli {
namespace {

using namespace std::chrono_literals;

struct reading {
  explicit reading(const std::string& text) {
    const auto ok = read_config(directory.write("bulkhead.toml", text), settings);
    if (!ok) why = ok.why().message();
    if (!ok) category = ok.why().category();
  }
  [[nodiscard]] bool says(const std::string& part) const {
    return why.find(part) != std::string::npos;
  }
  tests::temporary_directory directory;
  serve_settings settings;
  std::string why;
  error_category category = error_category::internal;
};

TEST_CASE("an empty file changes nothing") {
  const reading r("# nothing\n");
  CHECK(r.why.empty());
  CHECK(r.settings.server.capacity == serve_settings{}.server.capacity);
}

TEST_CASE("each key sets its own option") {
  struct row {
    std::string section, line;
    std::function<bool(const serve_settings&)> set;
  };
  using s = const serve_settings&;
  const std::vector<row> rows = {
      {"server", R"(listen = ["a:1", "b:2"])",
       [](s x) {
         return x.server.listen == std::vector<std::string>{"a:1", "b:2"};
       }},
      {"server", R"(plain_listen = ["c:3"])",
       [](s x) { return x.server.plain_listen == std::vector<std::string>{"c:3"}; }},
      {"server", R"(admin_listen = "d:4")", [](s x) { return x.server.admin_listen == "d:4"; }},
      {"server", R"(mode = "worker")",
       [](s x) { return x.server.mode == supervision::mode::worker; }},
      {"server", "threads = 3", [](s x) { return x.server.threads == 3; }},
      {"server", "handler_threads = 5", [](s x) { return x.server.handler_threads == 5; }},
      {"server", "capacity = 77", [](s x) { return x.server.capacity == 77; }},
      {"server", "drain_limit_ms = 0", [](s x) { return x.server.drain_limit == 0ms; }},
      {"server", "liveness_limit_ms = 5",
       [](s x) { return x.server.liveness_limit == std::chrono::milliseconds(5); }},
      {"server", "abandoned_threads = 3", [](s x) { return x.server.abandoned_threads == 3; }},
      {"server", "stall_threshold_ms = 0", [](s x) { return x.server.stall_threshold == 0ms; }},
      {"server", R"(server_name = "")", [](s x) { return x.server.server_name.empty(); }},
      {"server", "test_routes = true", [](s x) { return x.test_routes; }},
      {"tls", R"(min_version = "1.3")",
       [](s x) { return x.server.tls.min_version == tls::version::tls1_3; }},
      {"tls", R"(max_version = "1.2")",
       [](s x) { return x.server.tls.max_version == tls::version::tls1_2; }},
      {"tls", R"(client_auth = "optional")",
       [](s x) { return x.server.tls.clients == tls::client_auth::optional; }},
      {"tls", R"(client_ca = "ca.pem")", [](s x) { return x.server.tls.client_ca == "ca.pem"; }},
      {"tls", R"(ciphersuites = "X")", [](s x) { return x.server.tls.ciphersuites == "X"; }},
      {"tls", R"(cipher_list = "Y")", [](s x) { return x.server.tls.cipher_list == "Y"; }},
      {"tls", R"(groups = "Z")", [](s x) { return x.server.tls.groups == "Z"; }},
      {"tls", "tickets = 0", [](s x) { return x.server.tls.tickets == 0; }},
      {"tls", "certificate_check_ms = 250",
       [](s x) { return x.server.certificate_check == 250ms; }},
      {"timeouts", "handshake_ms = 11",
       [](s x) { return x.server.connections.timeouts.handshake == 11ms; }},
      {"timeouts", "head_ms = 12", [](s x) { return x.server.connections.timeouts.head == 12ms; }},
      {"timeouts", "body_ms = 13", [](s x) { return x.server.connections.timeouts.body == 13ms; }},
      {"timeouts", "body_rate = 14",
       [](s x) { return x.server.connections.timeouts.body_rate == 14; }},
      {"timeouts", "send_ms = 15", [](s x) { return x.server.connections.timeouts.send == 15ms; }},
      {"timeouts", "idle_ms = 16", [](s x) { return x.server.connections.timeouts.idle == 16ms; }},
      {"timeouts", "linger_ms = 17",
       [](s x) { return x.server.connections.timeouts.linger == 17ms; }},
      {"limits", "request_line = 1000",
       [](s x) { return x.server.connections.limits.request_line == 1000; }},
      {"limits", "field_section = 1001",
       [](s x) { return x.server.connections.limits.field_section == 1001; }},
      {"limits", "fields = 21", [](s x) { return x.server.connections.limits.fields == 21; }},
      {"limits", "body = 0", [](s x) { return x.server.connections.limits.body == 0; }},
      {"limits", "pipeline_window = 22",
       [](s x) { return x.server.connections.limits.pipeline_window == 22; }},
      {"limits", "pending_handshakes = 23",
       [](s x) { return x.server.connections.pending_handshakes == 23; }},
      {"log", R"(level = "debug")", [](s x) { return x.log_level == runtime::log::level::debug; }},
  };
  for (const row& r : rows) {
    CAPTURE(r.line);
    CHECK_FALSE(r.set(serve_settings{}));  // so the default does not pass for it
    const reading read("[" + r.section + "]\n" + r.line + "\n");
    CHECK(read.why == "");
    CHECK(r.set(read.settings));
  }
}

TEST_CASE("identities are tables with a certificate and a key") {
  const reading r(
      "[[tls.identity]]\ncertificate = \"a.pem\"\nkey = \"a.key\"\n"
      "[[tls.identity]]\ncertificate = \"b.pem\"\nkey = \"b.key\"\n");
  REQUIRE(r.why == "");
  REQUIRE(r.settings.server.tls.identities.size() == 2);
  CHECK(r.settings.server.tls.identities[0].certificate == "a.pem");
  CHECK(r.settings.server.tls.identities[1].key == "b.key");
}

TEST_CASE("an identity without its key, or with more than it needs, is refused") {
  for (const char* text : {"[[tls.identity]]\ncertificate = \"a.pem\"\n",
                           "[[tls.identity]]\ncertificate = \"a\"\nkey = \"k\"\nmore = 1\n",
                           "[tls]\nidentity = \"a.pem\"\n", "[tls]\nidentity = [1]\n",
                           "[[tls.identity]]\ncertificate = 1\nkey = \"k\"\n"}) {
    CAPTURE(text);
    CHECK(reading(text).says("[[tls.identity]] tables with certificate and key"));
  }
}

TEST_CASE("an unknown key is refused with its line and the nearest known one") {
  const reading r("[server]\nthreads = 1\ncapasity = 3\n");
  CHECK(r.category == error_category::configuration);
  CHECK(r.says("bulkhead.toml:3"));
  CHECK(r.says("unknown key \"server.capasity\""));
  CHECK(r.says("did you mean \"server.capacity\"?"));
}

TEST_CASE("an unknown section is refused with the nearest known one") {
  const reading r("[timeout]\nidle_ms = 1\n");
  CHECK(r.says(":1"));
  CHECK(r.says("unknown section \"timeout\""));
  CHECK(r.says("did you mean \"timeouts\"?"));
}

TEST_CASE("an unknown key that resembles nothing is refused without a guess") {
  const reading r("[server]\nzzzzzzzzzzzz = 1\n");
  CHECK(r.says("unknown key \"server.zzzzzzzzzzzz\""));
  CHECK_FALSE(r.says("did you mean"));
}

TEST_CASE("a key of another section is unknown where it stands") {
  CHECK(reading("[server]\nidle_ms = 5\n").says("unknown key \"server.idle_ms\""));
}

TEST_CASE("a section given as a value is refused and says how to write it") {
  CHECK(reading("server = 5\n").says("write [server]"));
}

TEST_CASE("a wrong type is refused with its key, its line and what is expected") {
  struct row {
    std::string section, line, expects;
  };
  for (const row& r : std::vector<row>{
           {"server", "listen = \"a:1\"", "\"server.listen\" expects an array of strings"},
           {"server", "listen = [1]", "\"server.listen\" expects an array of strings"},
           {"server", "admin_listen = 8080", "\"server.admin_listen\" expects a string"},
           {"server", "threads = \"two\"", "\"server.threads\" expects a whole number"},
           {"server", "threads = 1.5", "\"server.threads\" expects a whole number"},
           {"server", "test_routes = 1", "\"server.test_routes\" expects true or false"},
           {"server", "mode = \"aktor\"", "expects one of \"actor\", \"worker\""},
           {"server", "mode = 1", "expects one of \"actor\", \"worker\""},
           {"tls", "min_version = 1.3", "expects one of \"1.2\", \"1.3\""},
           {"timeouts", "idle_ms = \"75s\"", "\"timeouts.idle_ms\" expects a whole number"},
           {"log", "level = \"loud\"", "\"trace\", \"debug\", \"info\""},
       }) {
    CAPTURE(r.line);
    const reading read("\n[" + r.section + "]\n" + r.line + "\n");
    CAPTURE(read.why);
    CHECK(read.says(":3: "));
    CHECK(read.says(r.expects));
  }
}

TEST_CASE("a number out of range is refused with the range; its ends are taken") {
  struct row {
    std::string section, key;
    long least, most;
  };
  for (const row& r : std::vector<row>{
           {"server", "threads", 1, 1024},
           {"server", "capacity", 1, 10'000'000},
           {"server", "drain_limit_ms", 0, 7L * 24 * 3600 * 1000},
           {"tls", "tickets", 0, 16},
           {"timeouts", "idle_ms", 1, 7L * 24 * 3600 * 1000},
           {"limits", "pipeline_window", 1, 10'000},
           {"limits", "body", 0, 1024L * 1024 * 1024},
       }) {
    CAPTURE(r.key);
    const auto read = [&](long value) {
      return reading("[" + r.section + "]\n" + r.key + " = " + std::to_string(value) + "\n").why;
    };
    const std::string range = "from " + std::to_string(r.least) + " to " + std::to_string(r.most);
    CHECK(read(r.least) == "");
    CHECK(read(r.most) == "");
    CHECK(read(r.least - 1).find(range) != std::string::npos);
    CHECK(read(r.most + 1).find(range) != std::string::npos);
  }
}

TEST_CASE("a file that is no TOML is refused with its line") {
  const reading r("[server]\nthreads = = 1\n");
  CHECK(r.category == error_category::configuration);
  CHECK(r.says("bulkhead.toml:2: "));
}

TEST_CASE("a file that cannot be read is refused by name") {
  serve_settings s;
  for (const char* path : {"/nowhere/bulkhead.toml", "/"}) {
    const auto ok = read_config(path, s);
    REQUIRE_FALSE(ok);
    CHECK(ok.why().message().find(path) == 0);
    CHECK(ok.why().message().find("cannot be read") != std::string::npos);
  }
}

TEST_CASE("nearest() finds slips, and nothing where there is none") {
  const std::vector<std::string> known = {"listen", "threads", "capacity"};
  CHECK(nearest("listen", known) == "listen");
  CHECK(nearest("lisen", known) == "listen");
  CHECK(nearest("litsen", known) == "listen");
  CHECK(nearest("thread", known) == "threads");
  CHECK(nearest("kapazity", known) == "capacity");
  CHECK(nearest("banana", known) == "");
  CHECK(nearest("", known) == "");
  CHECK(nearest("listen", {}) == "");
}

}  // namespace
}  // namespace bulkhead::cli
