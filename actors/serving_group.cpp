#include <bulkhead/actors/actor_shard.hpp>
#include <bulkhead/actors/serving_group.hpp>
#include <bulkhead/actors/worker_shard.hpp>
#include <bulkhead/runtime/log.hpp>
#include <bulkhead/tls/memory.hpp>

#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace bulkhead::actors {

namespace {

constexpr runtime::milliseconds trim_pause = runtime::seconds(2);

void give_memory_back() noexcept {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

serving_group::serving_group(options o, runtime::shard& control)
    : options_(std::move(o)),
      control_(control),
      admissions_(options_.capacity),
      trim_timer_([](void*) noexcept { give_memory_back(); }, nullptr) {
  admissions_.on_crowd_left = [this] { crowd_left(); };
}

// What a crowd of connections needed lies free all over the C library's heap, which keeps it unless
// told otherwise. Told once a crowd has left, and after a pause: the next may follow at once.
void serving_group::crowd_left() noexcept {
  try {
    control_.post([this] {
      if (!trim_timer_.armed()) control_.timers().arm(trim_timer_, control_.now() + trim_pause);
    });
  } catch (const std::exception&) {
    // Out of memory: the next crowd's end brings it up again.
  }
}

serving_group::~serving_group() {
  stop_and_join();
  remove_unix_sockets();
}

// A path that is left behind would be in the way of whoever comes next with other rights.
void serving_group::remove_unix_sockets() noexcept {
  for (const runtime::endpoint& e : bound_) {
    if (e.family() == AF_UNIX) ::unlink(e.unix_path().c_str());
  }
}

result<std::unique_ptr<serving_group>> serving_group::open(options o, runtime::shard& control,
                                                           actor_runtime* actors) {
  std::unique_ptr<serving_group> group(new serving_group(std::move(o), control));
  const options& options = group->options_;

  if (!options.secure.empty()) {
    if (options.own_openssl_memory) static_cast<void>(tls::own_openssl_memory());
    auto store = tls::configuration_store::open(options.tls, options.shards, control.timers(),
                                                control.time());
    if (!store) return store.why();
    group->store_ = std::move(*store);
  }

  for (unsigned i = 0; i < options.shards; ++i) {
    serving_shard::plan plan{.index = i,
                             .time = &control.time(),
                             .settings = options.connections,
                             .server_name = options.server_name,
                             .admissions = &group->admissions_,
                             .handlers = options.make_dispatcher(i),
                             .tls = group->store_ ? group->store_->contexts()[i] : nullptr};
    if (options.mode == serving_mode::actor) {
      group->shards_.push_back(std::make_unique<actor_shard>(
          std::move(plan), actors->native_system(),
          [report = options.on_connection_fault, i](const std::string& why) { report(i, why); }));
    } else {
      group->shards_.push_back(std::make_unique<worker_shard>(std::move(plan)));
    }
    group->admissions_.shards.push_back(group->shards_.back().get());
  }

  for (const bool secure : {true, false}) {
    for (const runtime::endpoint& e : secure ? options.secure : options.plain) {
      auto bound = runtime::bind_endpoint(e, options.shards);
      if (!bound) return bound.why();
      group->bound_.push_back(bound->where);
      for (unsigned i = 0; i < options.shards; ++i) {
        group->shards_[i]->listen(std::move(bound->sockets[i]), secure);
      }
    }
  }
  return group;
}

void serving_group::start() {
  for (auto& s : shards_) s->start();
  if (!store_) return;
  store_->watch(options_.certificate_check,
                [this](std::vector<std::shared_ptr<const tls::context>> fresh) {
                  for (std::size_t i = 0; i < shards_.size(); ++i) {
                    shards_[i]->publish(std::move(fresh[i]));
                  }
                });
}

void serving_group::reload() {
  if (store_) static_cast<void>(store_->reload());
}

void serving_group::drain(runtime::milliseconds limit, std::function<void()> done) {
  draining_ = static_cast<unsigned>(shards_.size());
  for (auto& s : shards_) {
    s->drain(limit, [this, done] {
      control_.post([this, done] {
        if (--draining_ == 0) done();
      });
    });
  }
}

void serving_group::stop_and_join() {
  for (auto& s : shards_) s->stop_and_join();
}

bool serving_group::stop_within(runtime::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  bool all = true;
  for (auto& s : shards_) all = s->stop_until(until) && all;
  return all;
}

bool serving_group::cut_off() const noexcept {
  return std::any_of(shards_.begin(), shards_.end(), [](const auto& s) { return s->cut_off(); });
}

std::vector<std::string> serving_group::addresses() const {
  std::vector<std::string> all;
  all.reserve(bound_.size());
  for (const runtime::endpoint& e : bound_) all.push_back(e.to_string());
  return all;
}

counters_snapshot serving_group::counters() const {
  counters_snapshot sum;
  for (const auto& s : shards_) sum.add(s->counters());
  return sum;
}

}  // namespace bulkhead::actors
