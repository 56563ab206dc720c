// Text as bytes and back, without a copy.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace bulkhead::actors {

[[nodiscard]] inline std::span<const std::byte> as_bytes(std::string_view text) noexcept {
  return std::as_bytes(std::span(text));
}

[[nodiscard]] inline std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // NOLINT(*-reinterpret-cast)
}

}  // namespace bulkhead::actors
