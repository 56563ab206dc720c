// A server whose handlers may fail three times a minute, for the tests of restart intensity.
//
// Takes the options of `bulkhead serve` that the harness gives: --listen, --cert, --key,
// --admin-listen, --threads.
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;

bulkhead::child_spec fragile(bulkhead::placement where) {
  return {.placement = where,
          .intensity = {.restarts = 3, .period = 60s},
          .backoff = {.initial = 300ms, .factor = 2.0, .cap = 2s, .jitter = 0.0},
          .instances = 1};
}

// Counts within one instance, and the calls of all instances together.
auto counting(std::shared_ptr<std::atomic<int>> calls) {
  return bulkhead::factory{[calls] {
    return [calls, count = 0](const bulkhead::request& r) mutable {
      ++*calls;
      ++count;
      if (r.param("what") == "throw") throw std::runtime_error("secret of the handler");
      return bulkhead::response::text(std::to_string(count));
    };
  }};
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> given;
  for (int i = 2; i + 1 < argc; i += 2) given[argv[i]] = argv[i + 1];

  const auto calls = std::make_shared<std::atomic<int>>(0);
  bulkhead::router routes;
  routes.get("/inline/:what", counting(calls), fragile(bulkhead::placement::inline_));
  routes.get("/actor/:what", counting(calls), fragile(bulkhead::placement::actor));
  routes.get("/sibling", [](const bulkhead::request&) { return bulkhead::response::text("well"); });
  routes.get("/calls", [calls](const bulkhead::request&) {
    return bulkhead::response::text(std::to_string(*calls));
  });

  bulkhead::log::start(bulkhead::log::level::info);
  bulkhead::server server{{.listen = {given["--listen"]},
                           .admin_listen = given["--admin-listen"],
                           .tls = bulkhead::tls_files(given["--cert"], given["--key"]),
                           .threads = static_cast<unsigned>(std::stoul(given["--threads"]))},
                          routes};
  const int status = server.run();
  bulkhead::log::stop();
  return status;
}
