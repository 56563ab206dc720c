// Responses whose content comes piece by piece: framing, order, credit, and the cut.
#include <optional>
#include <string>

#include "support.hpp"

namespace bulkhead::actors {
namespace {

using namespace testing;

// What a producer gave so far; the test adds to it from the loop.
class script final : public http::body_source {
 public:
  explicit script(std::optional<std::uint64_t> size = {}) : size_(size) {}
  void add(std::string_view piece) {
    waiting_ += piece;
    tell();
  }
  void end() { finish(state::ended); }
  void fail() { finish(state::failed); }

  state next(std::string_view& bytes) noexcept override {
    if (waiting_.empty()) return then_;
    bytes = waiting_;
    return state::ready;
  }
  void consume(std::size_t n) noexcept override {
    waiting_.erase(0, n);
    most = std::max(most, n);
  }
  void listen(listener l, void* context) noexcept override {
    listener_ = l;
    context_ = context;
    if (l == nullptr) abandoned = true;
  }
  std::optional<std::uint64_t> size() const noexcept override { return size_; }

  bool abandoned = false;
  std::size_t most = 0;
  [[nodiscard]] std::size_t left() const { return waiting_.size(); }

 private:
  void finish(state how) {
    then_ = how;
    tell();
  }
  void tell() {
    if (listener_ != nullptr) listener_(context_);
  }
  std::optional<std::uint64_t> size_;
  std::string waiting_;
  state then_ = state::waiting;
  listener listener_ = nullptr;
  void* context_ = nullptr;
};

struct stream_bench : bench {
  explicit stream_bench(std::optional<std::uint64_t> size = {})
      : source(std::make_shared<script>(size)) {
    handlers.serve = [this](exchange& x) {
      if (x.request.path() != "/stream") return x.answer(http::response::text("plain"));
      http::response r;
      r.content(http::body(std::shared_ptr<http::body_source>(source)));
      x.answer(std::move(r));
    };
  }
  std::shared_ptr<script> source;
};

TEST_CASE("content of unknown size goes in chunks as it comes, and the connection stays") {
  stream_bench b;
  line l(b);
  l.deliver(get("/stream"));
  CHECK(l.take().find("Transfer-Encoding: chunked\r\n\r\n") != std::string::npos);
  b.on([&] { b.source->add("hello"); });
  CHECK(l.take() == "5\r\nhello\r\n");
  CHECK(b.counters().in_flight == 1);
  b.on([&] { b.source->add(std::string(17, 'x')); });
  CHECK(l.take() == "11\r\n" + std::string(17, 'x') + "\r\n");
  b.on([&] { b.source->end(); });
  CHECK(l.take() == "0\r\n\r\n");
  CHECK(b.counters().completed == 1);
  l.deliver(get("/after"));
  CHECK(bodies(l.take()) == "plain");
  CHECK(l.balances());
}

TEST_CASE("100 (Continue) for what is asked behind a stream comes behind it, not amid it") {
  stream_bench b;
  line l(b);
  l.deliver(get("/stream") +
            "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n");
  CHECK(l.take().find("100 Continue") == std::string::npos);
  b.on([&] {
    b.source->add("x");
    b.source->end();
  });
  CHECK(l.take() == "1\r\nx\r\n0\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n");
}

TEST_CASE("content of known size has its length, and is not chunked") {
  stream_bench b(10);
  line l(b);
  l.deliver(get("/stream"));
  b.on([&] { b.source->add("01234"); });
  b.on([&] {
    b.source->add("56789");
    b.source->end();
  });
  const auto all = answers(l.take());
  REQUIRE(all.size() == 1);
  CHECK(all[0].head.find("Content-Length: 10\r\n") != std::string::npos);
  CHECK(all[0].body == "0123456789");
}

TEST_CASE("what was asked behind a stream is answered behind it") {
  stream_bench b;
  line l(b);
  l.deliver(get("/stream") + get("/a") + get("/b"));
  CHECK(l.take().find("plain") == std::string::npos);
  b.on([&] {
    b.source->add("x");
    b.source->end();
  });
  const std::string got = l.take();
  CHECK(got.find("1\r\nx\r\n0\r\n\r\nHTTP/1.1 200") == 0);
  CHECK(bodies(got.substr(got.find("HTTP/1.1"))) == "plain plain");
  CHECK(l.balances());
}

TEST_CASE("a stream that fails is cut: no last chunk, a reset, and its request counts as trapped") {
  stream_bench b;
  line l(b);
  l.deliver(get("/stream") + get("/a"));
  b.on([&] {
    b.source->add("part");
    b.source->fail();
  });
  CHECK(l.take().find("0\r\n\r\n") == std::string::npos);
  CHECK(l.wire.aborted());
  CHECK(l.connection->ended == ending::cut);
  CHECK(b.counters().trapped == 1);
  CHECK(b.counters().aborted == 1);  // what was asked behind it
  CHECK(b.counters().connection_faults == 0);
  CHECK(l.balances());
}

TEST_CASE("a peer that does not read leaves the rest with the source") {
  stream_bench b;
  line l(b);
  l.wire.set_window(0);
  l.deliver(get("/stream"));
  for (int i = 0; i < 50; ++i) b.on([&] { b.source->add(std::string(100'000, 'x')); });
  CHECK(b.source->left() > 4'000'000);
  CHECK(b.loop.buffers().leased() <= 2);
  b.on([&] { b.source->end(); });
  std::string got = l.take();
  for (int i = 0; i < 10'000 && b.counters().completed == 0; ++i) {
    l.open_window(40'000);
    got += l.take();
  }
  CHECK(b.counters().completed == 1);
  CHECK(got.size() > 5'000'000);
  CHECK(b.source->most <= 64UL * 1024);
}

TEST_CASE("a client that leaves amid a stream is an abort, and the source is told") {
  stream_bench b;
  line l(b);
  l.deliver(get("/stream"));
  b.on([&] { b.source->add("part"); });
  b.on([&] { l.wire.end(runtime::receive_end::reset); });
  CHECK(b.source->abandoned);
  CHECK(b.counters().aborted == 1);
  CHECK(b.counters().trapped == 0);
  b.on([&] { b.source->add("for nobody"); });
  CHECK(l.balances());
}

TEST_CASE("news of a source that comes while its connection ends are not waited for") {
  stream_bench b;
  line l(b);
  l.deliver(get("/stream"));
  b.on([&] {
    b.source->add("x");  // queued in the loop
    l.connection->abort(ending::stopped);
  });
  b.settle();
  CHECK(b.source->abandoned);
  CHECK(l.balances());
}

TEST_CASE("a client of HTTP/1.0 gets content of unknown size until the connection is closed") {
  stream_bench b;
  line l(b);
  l.deliver("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  b.on([&] {
    b.source->add("all of it");
    b.source->end();
  });
  const std::string got = l.take();
  CHECK(got.find("Transfer-Encoding") == std::string::npos);
  CHECK(got.find("Connection: close\r\n") != std::string::npos);
  CHECK(got.ends_with("\r\n\r\nall of it"));
  CHECK(l.wire.finished());
}

TEST_CASE("HEAD of a stream has its head and lets go of the source") {
  stream_bench b;
  line l(b);
  l.deliver("HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(l.take().ends_with("Transfer-Encoding: chunked\r\n\r\n"));
  CHECK(b.counters().completed == 1);
  CHECK(b.source.use_count() == 1);
}

TEST_CASE("a stop waits for a stream that is under way, and closes behind it") {
  stream_bench b;
  line l(b);
  l.deliver(get("/stream"));
  b.on([&] { l.connection->drain(); });
  CHECK_FALSE(l.wire.finished());
  b.on([&] {
    b.source->add("x");
    b.source->end();
  });
  CHECK(l.take().ends_with("0\r\n\r\n"));
  CHECK(l.wire.finished());
}

TEST_CASE("the send deadline holds for a stream whose peer does not read, not for a slow source") {
  stream_bench b;
  line l(b);
  l.deliver(get("/stream"));
  b.advance(b.env.settings.timeouts.send * 3);
  CHECK_FALSE(l.connection->over());
  l.wire.set_window(0);
  b.on([&] { b.source->add(std::string(1'000'000, 'x')); });
  b.advance(b.env.settings.timeouts.send + milliseconds(10));
  CHECK(l.connection->ended == ending::timed_out);
}

}  // namespace
}  // namespace bulkhead::actors
