// What a peer may make grow, and how far.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bulkhead::http {

struct limits {
  std::size_t request_line = 8 * 1024;    // bytes of the target; over: 414
  std::size_t field_section = 16 * 1024;  // bytes of all field lines, trailers too; over: 431
  std::size_t fields = 100;               // field lines, trailers too; over: 431
  std::size_t body = 1024 * 1024;         // bytes of a buffered body; over: 413
  // Requests of one connection that may be in flight; at zero credit the socket is not read.
  std::uint32_t pipeline_window = 32;
};

}  // namespace bulkhead::http
