// The words of supervision, as OTP has them, and their names in configurations and the tree.
//
// Plain values; any thread. Source: OTP Design Principles, "Supervisor Behaviour".
#pragma once

#include <bulkhead/runtime/error.hpp>
#include <bulkhead/supervision/child_spec.hpp>

#include <cstdint>
#include <string_view>

namespace bulkhead::supervision {

// Which children are started again when one of them has ended and is to be restarted.
enum class strategy : std::uint8_t {
  one_for_one,         // that one: children that do not need each other
  one_for_all,         // all: children that cannot do without each other
  rest_for_one,        // that one and those started after it: each needs those before it
  simple_one_for_one,  // that one; children are made at run time, from one template
};

[[nodiscard]] std::string_view to_string(strategy s) noexcept;
[[nodiscard]] std::string_view to_string(restart_type r) noexcept;

// `name` as to_string() writes it. Another one is an error that names `key`, where the name was
// found ("supervisor.strategy"), and lists the names there are.
[[nodiscard]] result<strategy> parse_strategy(std::string_view name, std::string_view key);
[[nodiscard]] result<restart_type> parse_restart_type(std::string_view name, std::string_view key);

}  // namespace bulkhead::supervision
