#include <bulkhead/runtime/shard.hpp>

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

namespace bulkhead::runtime {

namespace {

thread_local shard* current_shard = nullptr;

// Makes the calling thread the shard's until the end of the scope.
class on_shard {
 public:
  explicit on_shard(shard* s) noexcept : before_(std::exchange(current_shard, s)) {}
  on_shard(const on_shard&) = delete;
  on_shard& operator=(const on_shard&) = delete;
  ~on_shard() { current_shard = before_; }

 private:
  shard* before_;
};

unique_fd checked(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return unique_fd(fd);
}

}  // namespace

// A stack that producers push on with one compare-and-swap and the shard takes whole. Its top is
// the `asleep` mark while the shard blocks: the producer that replaces the mark, and no other,
// writes the eventfd.
struct shard::inbox {
  class mark final : public runnable {
    void run(shard&) noexcept override {}  // never queued
  };
  class post_runner final : public runnable {
   public:
    explicit post_runner(inbox& of) noexcept : of_(of) {}
    void run(shard&) noexcept override { of_.run_posts(); }

   private:
    inbox& of_;
  };

  alignas(64) std::atomic<runnable*> top{nullptr};
  std::atomic<bool> stopping{false};
  std::atomic<std::uint64_t> wake_ups{0};

  alignas(64) mark asleep;
  post_runner runner{*this};
  std::mutex lock;
  bool closed = false;
  bool runner_queued = false;
  std::vector<std::function<void()>> posts;

  void run_posts() noexcept {
    std::vector<std::function<void()>> batch;
    {
      const std::lock_guard hold(lock);
      batch.swap(posts);
      runner_queued = false;
    }
    for (auto& f : batch) {
      f();
      f = nullptr;  // what it owns goes now, not when the last one has run
    }
  }

  void close() noexcept {
    std::vector<std::function<void()>> unrun;
    const std::lock_guard hold(lock);
    closed = true;
    unrun.swap(posts);  // destroyed after the lock is released
  }
};

// -- life -----------------------------------------------------------------------------------------

shard::shard(unsigned index, const clock& time)
    : index_(index),
      time_(time),
      now_(time.now()),
      timers_(now_),
      epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      wake_(checked(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd")),
      receive_buffer_(std::make_unique_for_overwrite<std::byte[]>(receive_size)),
      inbox_(std::make_unique<inbox>()) {
  graveyard_.reserve(batch);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;  // each write is an edge of its own: nobody needs to read it
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

shard::~shard() {
  const on_shard scope(this);
  inbox_->close();
  hold_burials();
}

shard* shard::current() noexcept {
  return current_shard;
}

// -- the loop -------------------------------------------------------------------------------------

void shard::run() {
  const on_shard scope(this);
  now_ = time_.now();  // the shard may have been built long ago
  heart_.wake_up();
  while (!inbox_->stopping.load(std::memory_order_acquire)) turn(true);
  drain();
  inbox_->close();
  hold_burials();
  heart_.fall_asleep();  // for good
}

void shard::drain() noexcept {
  // Bounded: what queues itself for ever must not keep the program from ending.
  constexpr int most_rounds = 1000;
  for (int round = 0; round < most_rounds; ++round) {
    take_inbox();
    if (head_ == nullptr) return;
    run_queue();
    hold_burials();
  }
}

void shard::turn(bool may_block) {
  const on_shard scope(this);
  heart_.beat();
  take_inbox();
  int timeout = 0;
  if (may_block && head_ == nullptr && graveyard_.empty()) {
    timeout = sleep_limit();
    for (turn_hook* h : hooks_) {
      if (timeout != 0 && !h->may_sleep()) timeout = 0;
    }
    runnable* empty = nullptr;
    if (timeout != 0 &&
        !inbox_->top.compare_exchange_strong(empty, &inbox_->asleep, std::memory_order_relaxed)) {
      timeout = 0;
    }
  }
  if (timeout != 0) heart_.fall_asleep();
  const int ready = ::epoll_wait(epoll_.get(), events_.data(), batch, timeout);
  if (timeout != 0) heart_.wake_up();
  now_ = time_.now();
  take_inbox();  // and the mark, if it is still there
  for (int i = 0; i < ready; ++i) {
    const epoll_event& event = events_[static_cast<std::size_t>(i)];
    heart_.beat();
    if (auto* source = static_cast<io_source*>(event.data.ptr)) source->on_ready(event.events);
  }
  timers_.advance(now_);
  run_queue();
  hold_burials();
  for (turn_hook* h : hooks_) h->at_turn_end();
}

int shard::sleep_limit() const noexcept {
  const auto next = timers_.next();
  if (!next) return -1;
  if (*next <= now_) return 0;
  // Rounded up: to wake a moment early would be to spin until the tick.
  const auto wait = std::chrono::ceil<milliseconds>(*next - now_).count();
  return static_cast<int>(std::min<milliseconds::rep>(wait, std::numeric_limits<int>::max()));
}

void shard::push_local(runnable& r) noexcept {
  r.next_ = nullptr;
  if (head_ == nullptr) {
    head_ = &r;
  } else {
    tail_->next_ = &r;
  }
  tail_ = &r;
}

void shard::take_inbox() noexcept {
  if (inbox_->top.load(std::memory_order_relaxed) == nullptr) return;
  runnable* newest = inbox_->top.exchange(nullptr, std::memory_order_acquire);
  if (newest == nullptr || newest == &inbox_->asleep) return;
  runnable* oldest = nullptr;  // turn the stack over: first come, first served
  for (runnable* r = newest; r != nullptr;) {
    runnable* below = std::exchange(r->next_, oldest);
    oldest = r;
    r = below;
  }
  if (head_ == nullptr) {
    head_ = oldest;
  } else {
    tail_->next_ = oldest;
  }
  tail_ = newest;
}

void shard::run_queue() noexcept {
  // What is queued meanwhile waits for the next turn, so sockets are looked at in between.
  runnable* r = std::exchange(head_, nullptr);
  tail_ = nullptr;
  while (r != nullptr) {
    runnable* next = r->next_;
    heart_.beat();
    r->run(*this);
    r = next;
  }
}

void shard::hold_burials() noexcept {
  for (std::size_t i = 0; i < graveyard_.size(); ++i) {  // one may bring another
    const burial b = graveyard_[i];
    b.release(b.object);
  }
  graveyard_.clear();
}

// -- any thread -----------------------------------------------------------------------------------

void shard::schedule(runnable& r) noexcept {
  if (current_shard == this) {
    push_local(r);
    return;
  }
  runnable* top = inbox_->top.load(std::memory_order_relaxed);
  do {
    r.next_ = top == &inbox_->asleep ? nullptr : top;
  } while (!inbox_->top.compare_exchange_weak(top, &r, std::memory_order_release,
                                              std::memory_order_relaxed));
  if (top == &inbox_->asleep) wake();
}

void shard::post(std::function<void()> f) {
  {
    const std::lock_guard hold(inbox_->lock);
    if (inbox_->closed) return;
    inbox_->posts.push_back(std::move(f));
    if (std::exchange(inbox_->runner_queued, true)) return;
  }
  schedule(inbox_->runner);
}

void shard::stop() noexcept {
  inbox_->stopping.store(true, std::memory_order_release);
  wake();
}

void shard::wake() noexcept {
  inbox_->wake_ups.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

std::uint64_t shard::wake_ups() const noexcept {
  return inbox_->wake_ups.load(std::memory_order_relaxed);
}

// -- the shard's own thread -----------------------------------------------------------------------

bool shard::watch(int fd, std::uint32_t events, io_source& source) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &source;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void shard::rewatch(int fd, std::uint32_t events, io_source& source) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &source;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void shard::unwatch(int fd) noexcept {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void shard::bury(std::unique_ptr<io_source> source) {
  bury([](void* object) noexcept { delete static_cast<io_source*>(object); }, source.release());
}

void shard::bury(void (*release)(void* object) noexcept, void* object) {
  graveyard_.push_back({release, object});
}

std::span<std::byte> shard::receive_buffer() noexcept {
  return {receive_buffer_.get(), receive_size};
}

}  // namespace bulkhead::runtime
