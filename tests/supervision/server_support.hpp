// What the tests of a whole server on loopback share.
#pragma once

#include <bulkhead/supervision/server.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <tests/actors/loopback.hpp>

namespace bulkhead::supervision::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tests::ask_once;
using tests::loopback;

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline server_options plain() {
  server_options o;
  o.plain_listen = {"127.0.0.1:0"};
  o.handle_signals = false;
  o.threads = 1;
  o.handler_threads = 1;
  return o;
}

inline router routes() {
  child_spec on_scheduler;
  on_scheduler.placement = placement::actor;
  return router()
      .get("/", [](const http::request&) { return http::response::text("hello"); })
      .get("/trap",
           [](const http::request&) -> http::response { throw std::runtime_error("secret"); })
      .get("/made",
           [](const http::request&) -> http::task<http::response> {
             co_return http::response::produced(
                 "text/plain", [](const http::body_writer& write) { write("made while sent"); });
           })
      .get(
          "/actor", [](const http::request&) { return http::response::text("from an actor"); },
          on_scheduler);
}

inline int run_and(server& s, const std::function<void()>& then) {
  auto status = std::async(std::launch::async, [&] { return s.run(); });
  then();
  REQUIRE(status.wait_for(seconds(30)) == std::future_status::ready);
  return status.get();
}

}  // namespace bulkhead::supervision::testing
