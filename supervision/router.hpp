// The routes of a server: patterns, their handlers, and how these are supervised.
//
// Built once, before the server starts; not used by any other thread after that.
#pragma once

#include <bulkhead/http/request.hpp>
#include <bulkhead/supervision/child_spec.hpp>
#include <bulkhead/supervision/handler.hpp>

#include <string>
#include <utility>
#include <vector>

namespace bulkhead::supervision {

struct route {
  http::method method;
  std::string pattern;
  child_spec spec;
  handler_factory make;
};

class router {
 public:
  // `pattern`: "/users/:id", "/files/*path". `h`: a callable that takes a const request& and
  // returns a response or a task<response>, or a factory of such callables. A bad pattern is
  // reported by server::start(), with the pattern.
  template <class H>
  router& on(http::method m, std::string pattern, H&& h, child_spec spec = {}) {
    routes_.push_back({m, std::move(pattern), std::move(spec), make_factory(std::forward<H>(h))});
    return *this;
  }
  template <class H>
  router& get(std::string pattern, H&& h, child_spec spec = {}) {
    return on(http::method::get, std::move(pattern), std::forward<H>(h), std::move(spec));
  }
  template <class H>
  router& post(std::string pattern, H&& h, child_spec spec = {}) {
    return on(http::method::post, std::move(pattern), std::forward<H>(h), std::move(spec));
  }
  template <class H>
  router& put(std::string pattern, H&& h, child_spec spec = {}) {
    return on(http::method::put, std::move(pattern), std::forward<H>(h), std::move(spec));
  }
  template <class H>
  router& patch(std::string pattern, H&& h, child_spec spec = {}) {
    return on(http::method::patch, std::move(pattern), std::forward<H>(h), std::move(spec));
  }
  template <class H>
  router& del(std::string pattern, H&& h, child_spec spec = {}) {
    return on(http::method::delete_, std::move(pattern), std::forward<H>(h), std::move(spec));
  }

  [[nodiscard]] const std::vector<route>& routes() const noexcept { return routes_; }

 private:
  std::vector<route> routes_;
};

}  // namespace bulkhead::supervision
