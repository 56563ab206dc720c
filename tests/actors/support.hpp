// What the tests of connections share: a shard that the test turns by hand, a virtual clock, wires
// in memory, and handlers that the test answers when it likes.
#pragma once

#include <bulkhead/actors/connection_core.hpp>
#include <bulkhead/actors/dispatcher.hpp>
#include <bulkhead/actors/environment.hpp>
#include <bulkhead/runtime/memory_transport.hpp>
#include <bulkhead/runtime/shard.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bulkhead::actors::testing {

using runtime::milliseconds;
using runtime::receive_end;
using runtime::seconds;

// "GET /a" or "POST /b hello": what the default handler answers with.
inline std::string echo_of(const http::request& r) {
  return std::string(r.method_name()) + ' ' + std::string(r.target()) +
         (r.body().empty() ? "" : ' ' + std::string(r.body()));
}

// Answers at once with echo_of(), unless the test says what to do instead.
class scripted final : public dispatcher {
 public:
  std::function<void(exchange&)> serve = [](exchange& x) {
    x.answer(http::response::text(echo_of(x.request)));
  };
  std::size_t requests = 0;

  // Keeps requests unanswered in `held`.
  void hold() {
    serve = [this](exchange& x) { held.emplace_back(x); };
  }
  std::vector<exchange_ref> held;

  void dispatch(exchange& x) override {
    ++requests;
    serve(x);
  }
};

// One shard and what its connections share. Everything happens inside turns of the loop, so that
// shard::current() is what it is in a server.
struct bench {
  runtime::virtual_clock time;
  runtime::shard loop{7, time};
  scripted handlers;
  environment env{loop, connection_settings{}, handlers, "test"};

  ~bench() {
    on([this] { handlers.held.clear(); });
  }

  void on(const std::function<void()>& f) {
    loop.post(f);
    settle();
  }
  // Enough turns for everything that was queued, and what that queued in turn.
  void settle() {
    for (int i = 0; i < 4; ++i) loop.turn(false);
  }
  void advance(milliseconds by) {
    time.advance(by);
    settle();
  }
  void answer(std::size_t i, http::response r, verdict v = verdict::completed) {
    on([this, i, &r, v] { handlers.held[i]->answer(std::move(r), v); });
  }
  void answer(std::size_t i, std::string text) { answer(i, http::response::text(std::move(text))); }
  [[nodiscard]] counters_snapshot counters() const {
    counters_snapshot s;
    s.add(env.counters);
    return s;
  }
};

class test_connection final : public connection_core {
 public:
  explicit test_connection(environment& e) : connection_core(e) {}
  std::optional<ending> ended;
  int ends = 0;
  std::string fault;

 private:
  void on_over(ending how) noexcept override {
    ended = how;
    ++ends;
  }
  void on_fault(std::exception_ptr why) noexcept override {
    try {
      std::rethrow_exception(std::move(why));
    } catch (const std::exception& e) {
      fault = e.what();
    }
  }
  std::unique_ptr<reply_port> make_reply_port() override { return nullptr; }
};

// A client's end of one connection, opened at once.
struct line {
  explicit line(bench& on, bool secure = false) : b(on) {
    b.on([this, secure] {
      connection = std::make_unique<test_connection>(b.env);
      b.env.counters.admitted.add();
      connection->open(wire.open(*connection), {}, secure);
    });
  }
  ~line() {
    b.on([this] {
      if (!connection->over()) connection->abort(ending::stopped);
      b.handlers.held.clear();
      connection.reset();
    });
  }
  line(const line&) = delete;
  line& operator=(const line&) = delete;

  void deliver(std::string_view bytes) {
    b.on([this, bytes] { wire.deliver(bytes); });
  }
  void end(receive_end how = receive_end::fin) {
    b.on([this, how] { wire.end(how); });
  }
  void open_window(std::size_t bytes) {
    b.on([this, bytes] { wire.open_window(bytes); });
  }
  void drain() {
    b.on([this] { connection->drain(); });
  }
  std::string take() { return wire.take_sent(); }
  // How the connection ended; nothing while it lives.
  [[nodiscard]] std::optional<ending> ended() const { return connection->ended; }
  // Ends it and says whether every counter balances after that.
  [[nodiscard]] bool balances() {
    b.on([this] {
      if (!connection->over()) connection->abort(ending::stopped);
    });
    const counters_snapshot s = b.counters();
    return s.in_flight == 0 && s.lost == 0 && s.admitted == s.closed + s.open && s.open == 0 &&
           connection->in_flight() == 0 && connection->ends == 1 && b.env.pending_handshakes == 0 &&
           b.loop.buffers().leased() == 0;
  }

  bench& b;
  runtime::memory_wire wire;
  std::unique_ptr<test_connection> connection;
};

// -- requests and responses as text
// ------------------------------------------------------------------

inline std::string get(std::string_view target, std::string_view fields = {}) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n";
}
inline std::string post(std::string_view target, std::string_view body,
                        std::string_view fields = {}) {
  return "POST " + std::string(target) +
         " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(fields) + "\r\n" + std::string(body);
}

struct answer_text {
  int status = 0;
  std::string head;
  std::string body;
  [[nodiscard]] bool says_close() const {
    return head.find("Connection: close\r\n") != std::string::npos;
  }
};

// Splits what a server sent. `heads_only`: as answers to HEAD. What is left over that is no whole
// response comes last, with status 0.
inline std::vector<answer_text> answers(std::string_view wire, bool heads_only = false) {
  std::vector<answer_text> all;
  while (!wire.empty()) {
    answer_text a;
    const auto end = wire.find("\r\n\r\n");
    if (end == std::string_view::npos || wire.substr(0, 9) != "HTTP/1.1 ") {
      a.head = wire;
      all.push_back(a);
      return all;
    }
    a.head = wire.substr(0, end + 2);
    a.status = std::stoi(a.head.substr(9, 3));
    wire.remove_prefix(end + 4);
    if (const auto at = a.head.find("Content-Length: "); at != std::string::npos && !heads_only) {
      const auto size = std::stoul(a.head.substr(at + 16));
      if (wire.size() < size) {
        a.status = 0;
        a.head += wire;
        all.push_back(a);
        return all;
      }
      a.body = wire.substr(0, size);
      wire.remove_prefix(size);
    }
    all.push_back(std::move(a));
  }
  return all;
}

// "a b c": the bodies in order.
inline std::string bodies(std::string_view wire) {
  std::string out;
  for (const answer_text& a : answers(wire)) out += (out.empty() ? "" : " ") + a.body;
  return out;
}
inline std::string statuses(std::string_view wire) {
  std::string out;
  for (const answer_text& a : answers(wire)) {
    out += (out.empty() ? "" : " ") + std::to_string(a.status);
  }
  return out;
}

}  // namespace bulkhead::actors::testing
