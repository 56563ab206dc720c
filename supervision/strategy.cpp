#include <bulkhead/supervision/strategy.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

namespace bulkhead::supervision {

namespace {

// In the order of their enumerators.
constexpr std::array<std::string_view, 4> strategies = {"one_for_one", "one_for_all",
                                                        "rest_for_one", "simple_one_for_one"};
constexpr std::array<std::string_view, 3> restarts = {"permanent", "transient", "temporary"};

template <class Enum, std::size_t N>
std::string_view name_of(const std::array<std::string_view, N>& names, Enum e) noexcept {
  const auto at = static_cast<std::size_t>(e);
  return at < N ? names[at] : "unknown";
}

template <class Enum, std::size_t N>
result<Enum> find(const std::array<std::string_view, N>& names, std::string_view name,
                  std::string_view key) {
  std::string known;
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
    known += (i == 0 ? "" : i + 1 == N ? " or " : ", ") + std::string(names[i]);
  }
  return error(error_category::configuration,
               std::string(key) + ": unknown \"" + std::string(name) + "\"; use " + known);
}

}  // namespace

std::string_view to_string(strategy s) noexcept {
  return name_of(strategies, s);
}

std::string_view to_string(restart_type r) noexcept {
  return name_of(restarts, r);
}

result<strategy> parse_strategy(std::string_view name, std::string_view key) {
  return find<strategy>(strategies, name, key);
}

result<restart_type> parse_restart_type(std::string_view name, std::string_view key) {
  return find<restart_type>(restarts, name, key);
}

}  // namespace bulkhead::supervision
