// One request on its way to a handler and its response on the way back.
//
// Belongs to its connection's shard. A handler on another thread shares it read-only through a
// reference; its answer comes back as a message, never as a write to this object.
#pragma once

#include <bulkhead/http/request.hpp>
#include <bulkhead/http/response.hpp>
#include <bulkhead/http/task.hpp>
#include <bulkhead/runtime/shard.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bulkhead::actors {

class exchange;
class exchange_pool;

// Counted by hand, because the connection and one handler thread may hold it at once.
class exchange_ref {
 public:
  exchange_ref() = default;
  explicit exchange_ref(exchange& x) noexcept;
  exchange_ref(const exchange_ref& other) noexcept;
  exchange_ref(exchange_ref&& other) noexcept : x_(std::exchange(other.x_, nullptr)) {}
  exchange_ref& operator=(exchange_ref other) noexcept {
    std::swap(x_, other.x_);
    return *this;
  }
  ~exchange_ref() { reset(); }

  void reset() noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return x_ != nullptr; }
  [[nodiscard]] exchange& operator*() const noexcept { return *x_; }
  [[nodiscard]] exchange* operator->() const noexcept { return x_; }
  [[nodiscard]] exchange* get() const noexcept { return x_; }

 private:
  exchange* x_ = nullptr;
};

// How an answer came about; decides what the request is counted as.
enum class verdict : std::uint8_t {
  completed,
  trapped,  // the handler faulted
  aborted,  // its deadline ended it
};

// The way back from another thread. Thread-safe; holds one credit of the connection's mailbox.
class reply_port {
 public:
  virtual ~reply_port() = default;
  // Delivers the answer to the connection's mailbox. The connection may be gone: no error.
  virtual void deliver(exchange_ref x, http::response r, verdict v) noexcept = 0;
};

// The connection, as an exchange sees it.
class exchange_owner {
 public:
  // The exchange has its answer. On the shard's thread; may destroy the exchange.
  virtual void on_answered(exchange& x) noexcept = 0;
  // For handlers on other threads; null where there is no mailbox (worker twin).
  [[nodiscard]] virtual std::unique_ptr<reply_port> make_reply_port() = 0;

 protected:
  ~exchange_owner() = default;
};

class exchange final : private runtime::runnable {
 public:
  http::request request;
  http::response response;

  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;
  ~exchange() = default;

  [[nodiscard]] bool answered() const noexcept { return answered_; }
  [[nodiscard]] verdict how() const noexcept { return verdict_; }
  // Null once the connection has let go of it: nobody is left to answer.
  [[nodiscard]] exchange_owner* owner() const noexcept { return owner_; }

  // Gives the answer, once, on the shard's thread.
  void answer(http::response r, verdict v = verdict::completed) noexcept {
    response = std::move(r);
    verdict_ = v;
    answered_ = true;
    if (owner_ != nullptr) owner_->on_answered(*this);
  }
  // Calls the owner's on_answered() (or the task's continuation) from the loop, not from here.
  void wake_owner_later() noexcept;

  // -- coroutine handlers ------------------------------------------------------------------------

  // Called on the shard, outside the coroutine, when a task that was still suspended has finished.
  using on_task_done = void (*)(exchange& x, void* context) noexcept;

  // Starts the task; true if it finished at once. `keep` (the handler that the coroutine runs in)
  // lives until the exchange ends, also when the handler is restarted meanwhile.
  bool run_task(http::task<http::response> t, std::shared_ptr<void> keep, on_task_done done,
                void* context) {
    task_ = std::move(t);
    keep_ = std::move(keep);
    done_ = done;
    context_ = context;
    task_.start(&exchange::task_finished, this);
    return task_.done();
  }
  // For the dispatcher's own use while the task runs: whose handler this is.
  void set_child(void* child) noexcept { child_ = child; }
  [[nodiscard]] void* child() const noexcept { return child_; }
  // The handler that run_task() was given to keep; null without.
  [[nodiscard]] const void* kept() const noexcept { return keep_.get(); }
  // Precondition: the task is done. Rethrows what the handler, or its body's producer, threw.
  [[nodiscard]] http::response take_task_result() {
    http::response r = task_.take();
    r.collect();
    return r;
  }

 private:
  friend class exchange_ref;
  friend class exchange_pool;
  friend class connection_core;

  explicit exchange(exchange_pool* home) noexcept : pool_(home) {}

  // The coroutine is suspended at its end and may not be destroyed from here: finish in the loop.
  static void task_finished(void* self) noexcept;
  void run(runtime::shard& on) noexcept override;
  void reset() noexcept;

  std::atomic<std::uint32_t> references_{0};
  bool answered_ = false;
  bool counted_ = false;  // as started: parser errors are answered, but no handler saw them
  verdict verdict_ = verdict::completed;
  exchange_owner* owner_ = nullptr;
  exchange* next_in_line_ = nullptr;  // the connection's requests, in order of arrival
  exchange_pool* pool_;
  on_task_done done_ = nullptr;
  void* context_ = nullptr;
  void* child_ = nullptr;
  // The task after what it runs in: destroyed first.
  std::shared_ptr<void> keep_;
  http::task<http::response> task_;
};

// Reuses exchanges of one shard, so that a request allocates nothing once the shard is warm.
class exchange_pool {
 public:
  explicit exchange_pool(std::size_t keep = 64) : keep_(keep) { free_.reserve(keep); }
  exchange_pool(const exchange_pool&) = delete;
  exchange_pool& operator=(const exchange_pool&) = delete;
  ~exchange_pool();

  [[nodiscard]] exchange_ref take();

 private:
  friend class exchange_ref;
  void give_back(exchange* x) noexcept;

  std::size_t keep_;
  std::vector<exchange*> free_;
  runtime::shard* shard_ = nullptr;
};

}  // namespace bulkhead::actors
