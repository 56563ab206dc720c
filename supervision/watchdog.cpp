#include <bulkhead/runtime/log.hpp>
#include <bulkhead/runtime/signals.hpp>
#include <bulkhead/supervision/watchdog.hpp>

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

namespace bulkhead::supervision {

namespace {

// How often all shards must be found asleep in a row before the watchdog sleeps as well: to wake it
// costs a shard a few microseconds, which is much at each turn and nothing twice a second.
constexpr int looks_until_sleep = 40;

// A thread that does not answer in this time waits in the kernel for something that no signal
// interrupts.
constexpr runtime::milliseconds sample_patience{200};

}  // namespace

watchdog::watchdog(runtime::milliseconds threshold, std::function<void(const stall&)> on_stall)
    : threshold_(std::max(threshold, runtime::milliseconds(1))), on_stall_(std::move(on_stall)) {}

watchdog::~watchdog() {
  stop();
}

void watchdog::watch(unsigned shard, runtime::heartbeat& heart) {
  heart.watched_by(this);
  watched_.push_back({shard, &heart, stall_detector(threshold_)});
}

void watchdog::start() {
  if (!runtime::prepare_stack_samples()) {
    runtime::log::warn("watchdog", "the program uses signal " +
                                       std::to_string(runtime::sampling_signal()) +
                                       " itself: stalls are reported without route and backtrace");
  }
  const runtime::all_signals_blocked for_the_watchdog;
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "watchdog");
    run();
  });
}

void watchdog::stop() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void watchdog::on_awake() noexcept {
  {
    const std::lock_guard lock(mutex_);
    set_asleep(false);
  }
  changed_.notify_all();
}

void watchdog::run() {
  const auto pause = std::chrono::duration_cast<std::chrono::nanoseconds>(threshold_) / 2;
  int in_a_row = 0;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    in_a_row = look() ? in_a_row + 1 : 0;
    lock.lock();
    if (in_a_row < looks_until_sleep) {
      changed_.wait_for(lock, pause, [this] { return stopping_; });
      continue;
    }
    in_a_row = 0;
    set_asleep(true);
    if (unchanged()) changed_.wait(lock, [this] { return stopping_ || !asleep(); });
    set_asleep(false);
  }
}

// True if all shards sleep, and slept before.
bool watchdog::look() {
  looks_.fetch_add(1, std::memory_order_relaxed);
  const auto now = std::chrono::steady_clock::now();
  bool all_asleep = true;
  for (watched& w : watched_) {
    const std::uint64_t pulse = w.heart->pulse();
    const bool awake = runtime::heartbeat::awake(pulse);
    if (awake || pulse != w.detector.last_pulse()) all_asleep = false;
    const auto starved =
        awake ? runtime::waited_for_processor(*w.heart) : std::chrono::nanoseconds(0);
    if (const auto s = w.detector.look(pulse, now, starved)) report(w, *s);
  }
  return all_asleep;
}

bool watchdog::unchanged() const noexcept {
  return std::all_of(watched_.begin(), watched_.end(),
                     [](const watched& w) { return w.heart->pulse() == w.detector.last_pulse(); });
}

void watchdog::report(watched& w, const stall_detector::stall& s) {
  try {
    stall found{.shard = w.shard, .held = s.held, .others = s.unsaid};
    if (s.say) found.where = runtime::look_at(*w.heart, sample_patience);
    // Before it is counted: who waits for the number finds the report.
    if (s.say) on_stall_(found);
  } catch (const std::exception& e) {
    runtime::log::error("watchdog", std::string("a stall could not be reported: ") + e.what());
  }
  if (s.first) stalls_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace bulkhead::supervision
