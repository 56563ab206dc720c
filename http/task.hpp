// A coroutine that produces one value; started by whoever awaits or drives it.
//
// Lives on one shard. Destroying a task that is suspended cancels it: its locals are destroyed, and
// with them whatever it was waiting for.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace bulkhead::http {

template <class T>
class [[nodiscard]] task {
 public:
  struct promise_type {
    std::optional<T> value;
    std::exception_ptr thrown;
    std::coroutine_handle<> awaiting;           // a coroutine that co_awaits this one, or
    void (*on_done)(void*) noexcept = nullptr;  // what drives it from outside
    void* driver = nullptr;

    task get_return_object() noexcept {
      return task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct final_awaiter {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> done) noexcept {
        promise_type& p = done.promise();
        if (p.awaiting) return p.awaiting;
        if (p.on_done != nullptr) p.on_done(p.driver);  // may destroy the coroutine
        return std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    final_awaiter final_suspend() noexcept { return {}; }
    template <class U = T>
    void return_value(U&& v) {
      value.emplace(std::forward<U>(v));
    }
    void unhandled_exception() noexcept { thrown = std::current_exception(); }
  };

  task() = default;
  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~task() { destroy(); }

  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }
  [[nodiscard]] bool done() const noexcept { return handle_ && handle_.done(); }

  // Runs until the first suspension. `on_done(driver)` is called when it finishes later; not when
  // it finishes at once: ask done().
  void start(void (*on_done)(void*) noexcept, void* driver) {
    handle_.resume();
    if (!handle_.done()) {
      handle_.promise().driver = driver;
      handle_.promise().on_done = on_done;
    }
  }
  // Precondition: done(). Rethrows what the coroutine threw.
  [[nodiscard]] T take() {
    promise_type& p = handle_.promise();
    if (p.thrown) std::rethrow_exception(std::exchange(p.thrown, nullptr));
    return std::move(*p.value);
  }

  auto operator co_await() && noexcept {
    struct awaiter {
      std::coroutine_handle<promise_type> handle;
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
        handle.promise().awaiting = caller;
        return handle;
      }
      T await_resume() {
        promise_type& p = handle.promise();
        if (p.thrown) std::rethrow_exception(std::exchange(p.thrown, nullptr));
        return std::move(*p.value);
      }
    };
    return awaiter{handle_};
  }

 private:
  explicit task(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}
  void destroy() noexcept {
    if (handle_) std::exchange(handle_, nullptr).destroy();
  }
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace bulkhead::http
