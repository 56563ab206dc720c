// Which route a method and path belong to: literal segments before ":param" before "*wild".
//
// Pure; built once, then read by any thread. Values are indices that the caller chose. The most
// specific path wins before the method is looked at, so one path is one resource with one Allow.
#pragma once

#include <bulkhead/http/request.hpp>
#include <bulkhead/runtime/error.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace bulkhead::http {

class route_table {
 public:
  route_table();
  ~route_table();
  route_table(route_table&&) noexcept;
  route_table& operator=(route_table&&) noexcept;

  // "/users/:id/files/*path": a ":name" takes one non-empty segment, a "*name" the rest and must
  // be last. Refused: a pattern without a leading "/", an unnamed parameter, a duplicate name or
  // route, a method that routes cannot have.
  [[nodiscard]] result<void> add(method m, std::string_view pattern, std::size_t value);

  enum class outcome { found, not_found, method_not_allowed, options };
  struct match {
    outcome what = outcome::not_found;
    std::size_t value = 0;
    // With method_not_allowed and options: "GET, HEAD, OPTIONS", for the Allow field. Lives as
    // long as the table.
    std::string_view allow;
  };

  // Binds parameters into the request. HEAD finds the GET route where there is no HEAD route;
  // OPTIONS without a route of its own is answered `options` (RFC 9110 section 9.3.7).
  [[nodiscard]] match find(request& r) const;

 private:
  struct node;
  struct tree;
  std::unique_ptr<tree> tree_;
};

}  // namespace bulkhead::http
