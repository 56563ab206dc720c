// What the tests of supervision share: routes behind a supervised dispatcher, on connections in
// memory and a virtual clock.
#pragma once

#include <bulkhead/runtime/sleep.hpp>
#include <bulkhead/supervision/route_set.hpp>
#include <bulkhead/supervision/supervised_dispatcher.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <tests/actors/support.hpp>
#include <utility>

namespace bulkhead::supervision::testing {

using namespace actors::testing;

// A child spec with so many restarts in ten seconds.
inline child_spec allowing(std::uint32_t restarts) {
  child_spec s;
  s.intensity.restarts = restarts;
  s.backoff.jitter = 0.0;
  return s;
}

struct served : bench {
  router routes;
  ledger faults;
  std::unique_ptr<route_set> set;
  std::unique_ptr<supervised_dispatcher> dispatcher;

  // After the routes were added.
  void start() {
    auto made = route_set::make(routes, time, faults, nullptr);
    REQUIRE(made);
    set = std::move(*made);
    dispatcher = std::make_unique<supervised_dispatcher>(*set, 7);
    handlers.serve = [this](actors::exchange& x) { dispatcher->dispatch(x); };
  }
  [[nodiscard]] const route_supervisor& supervisor(std::size_t route = 0) const {
    return *set->routes()[route].supervisor;
  }
};

// One request on a line, its one answer.
inline answer_text ask(line& l, std::string_view request) {
  l.take();
  l.deliver(request);
  const auto all = answers(l.take());
  return all.size() == 1 ? all[0] : answer_text{};
}
inline int status_of(line& l, std::string_view target) {
  return ask(l, get(target)).status;
}

// Counts its requests; "/n" answers with the number, "/throw" throws. Copied by its factory, so the
// count starts anew with each instance.
struct counting {
  int n = 0;
  http::response operator()(const http::request& r) {
    ++n;
    if (r.query() == "throw") throw std::runtime_error("secret text");
    return http::response::text(std::to_string(n));
  }
};

// Sleeps as many seconds as the query says, then throws or answers with its number of requests.
struct sleeper {
  std::shared_ptr<int> alive;  // one more holder for each instance
  int n = 0;
  http::task<http::response> operator()(const http::request& r) {
    const bool fails = r.path() == "/x/throw";
    co_await runtime::sleep_for(seconds(std::stoi(std::string(r.query()))));
    if (fails) throw std::runtime_error("after suspension");
    co_return http::response::text(std::to_string(++n));
  }
};

}  // namespace bulkhead::supervision::testing
