// What answers requests: a callable, made anew by its factory whenever it is restarted.
#pragma once

#include <bulkhead/http/request.hpp>
#include <bulkhead/http/response.hpp>
#include <bulkhead/http/task.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace bulkhead::supervision {

// A handler answers at once, or with a coroutine that answers later.
using outcome = std::variant<http::response, http::task<http::response>>;

// One instance: its own state, called by one thread at a time.
class handler {
 public:
  virtual ~handler() = default;
  [[nodiscard]] virtual outcome handle(const http::request& r) = 0;
};

using handler_factory = std::function<std::shared_ptr<handler>()>;

template <class F>
concept synchronous_handler = std::is_invocable_r_v<http::response, F&, const http::request&>;
template <class F>
concept coroutine_handler =
    std::is_invocable_r_v<http::task<http::response>, F&, const http::request&> &&
    !synchronous_handler<F>;
template <class F>
concept any_handler = synchronous_handler<F> || coroutine_handler<F>;

template <any_handler F>
class callable_handler final : public handler {
 public:
  explicit callable_handler(F f) : f_(std::move(f)) {}
  [[nodiscard]] outcome handle(const http::request& r) override { return outcome(f_(r)); }

 private:
  F f_;
};

// Marks a callable that makes handlers: state is rebuilt by it at each restart, and each shard (or
// each instance) has its own. Without it, the handler given to a route is copied for each instance.
template <class G>
struct factory {
  G make;
};
template <class G>
factory(G) -> factory<G>;

template <class F>
requires any_handler<std::decay_t<F>>
[[nodiscard]] handler_factory make_factory(F&& prototype) {
  using callable = std::decay_t<F>;
  static_assert(std::copy_constructible<callable>,
                "a handler is copied for each shard and each restart; use bulkhead::factory for "
                "one that cannot be copied");
  return [p = callable(std::forward<F>(prototype))] {
    return std::make_shared<callable_handler<callable>>(p);
  };
}

template <class G>
[[nodiscard]] handler_factory make_factory(factory<G> g) {
  using callable = std::invoke_result_t<G&>;
  static_assert(any_handler<callable>, "a factory must make a callable that takes a request");
  return [g = std::move(g)]() mutable {
    return std::make_shared<callable_handler<callable>>(g.make());
  };
}

}  // namespace bulkhead::supervision
