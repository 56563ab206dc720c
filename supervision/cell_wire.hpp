// The fixed parts of the frames between a server and a worker (cell_ring.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace bulkhead::supervision {

// Before the head of a response.
struct response_prefix {
  static constexpr std::uint64_t unknown_size = ~std::uint64_t{0};

  std::uint64_t body_size = 0;     // unknown_size: body frames follow until body_end
  std::uint32_t head_bytes = 0;    // of message_codec; the rest of the frame is body
  std::uint32_t microseconds = 0;  // that the handler took
};
static_assert(sizeof(response_prefix) == 16);

// Before the type and the text of what a handler threw.
struct fault_prefix {
  std::uint32_t type_bytes = 0;
  std::uint32_t memory = 0;  // 1: an allocation failed: the worker is to be replaced
};
static_assert(sizeof(fault_prefix) == 8);

// A body frame holds at most this much, so that both sides work at once.
inline constexpr std::size_t body_piece = 32UL * 1024;

}  // namespace bulkhead::supervision
