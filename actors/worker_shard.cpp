#include <bulkhead/actors/worker_shard.hpp>
#include <bulkhead/runtime/log.hpp>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bulkhead::actors {

class worker_shard::plain_connection final : public connection_core {
 public:
  explicit plain_connection(worker_shard& home) : connection_core(home.env_), home_(home) {}

 private:
  void on_over(ending) noexcept override { home_.remove(*this); }
  void on_fault(std::exception_ptr) noexcept override {
    runtime::log::error("worker", "a connection failed");
  }
  [[nodiscard]] std::unique_ptr<reply_port> make_reply_port() override { return nullptr; }

  worker_shard& home_;
};

worker_shard::worker_shard(plan p) : serving_shard(std::move(p)) {}

worker_shard::~worker_shard() {
  stop_and_join();
  for (plain_connection* c : std::exchange(connections_, {})) delete c;
}

void worker_shard::open_connection(arrival a) {
  auto made = std::make_unique<plain_connection>(*this);
  auto transport = loop_.adopt(std::move(a.socket), *made);
  if (!transport) throw std::runtime_error("epoll: " + errno_text(errno));
  connections_.insert(made.get());
  made.release()->open(std::move(transport), a.peer, a.secure);
}

void worker_shard::drain_connections() {
  const std::vector<plain_connection*> all(connections_.begin(), connections_.end());
  for (plain_connection* c : all) c->drain();
}

void worker_shard::abort_connections() {
  const std::vector<plain_connection*> all(connections_.begin(), connections_.end());
  for (plain_connection* c : all) c->abort(ending::stopped);
}

void worker_shard::remove(plain_connection& c) noexcept {
  if (connections_.erase(&c) == 0) return;
  loop_.bury([](void* dead) noexcept { delete static_cast<plain_connection*>(dead); }, &c);
  connection_over();
}

void worker_trap(std::exception_ptr why) noexcept {
  try {
    std::rethrow_exception(std::move(why));
  } catch (const std::exception& e) {
    runtime::log::error("worker", std::string("a handler threw: ") + e.what() +
                                      "; there is no supervision in worker mode: exit status 1");
  } catch (...) {
    runtime::log::error("worker", "a handler threw; exit status 1");
  }
  runtime::log::flush();
  std::_Exit(1);
}

void worker_dispatcher::dispatch(exchange& x) {
  try {
    serve_(x);
  } catch (...) {
    worker_trap(std::current_exception());
  }
}

}  // namespace bulkhead::actors
