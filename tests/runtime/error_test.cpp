#include <bulkhead/runtime/error.hpp>

#include <doctest/doctest.h>

#include <cerrno>
#include <memory>

namespace bulkhead {
namespace {

result<std::unique_ptr<int>> half(int n) {
  if (n % 2 != 0) return error{error_category::usage, std::to_string(n) + " is odd"};
  return std::make_unique<int>(n / 2);
}

TEST_CASE("a result is a value or the reason why there is none") {
  auto four = half(8);
  REQUIRE(four);
  CHECK(**four == 4);
  const std::unique_ptr<int> moved = *std::move(four);
  CHECK(*moved == 4);
  const auto none = half(7);
  REQUIRE_FALSE(none);
  CHECK(none.why().message() == "7 is odd");
  CHECK(to_string(none.why().category()) == "usage");
}

TEST_CASE("a result without a value is good unless it holds an error") {
  CHECK(result<void>());
  const result<void> bad = error{error_category::network, "gone"};
  REQUIRE_FALSE(bad);
  CHECK(bad.why().category() == error_category::network);
}

TEST_CASE("an errno is told in words") {
  CHECK(errno_text(ECONNREFUSED) == "Connection refused");
}

}  // namespace
}  // namespace bulkhead
