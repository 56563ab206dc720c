// The shared memory between a server and one worker process: two rings, a bell, a crash record.
//
// A fixed layout without pointers. The server makes it and gives the worker its descriptor; when
// the worker has died, the server unmaps it: memory that a dead process could write is not reused.
#pragma once

#include <bulkhead/runtime/error.hpp>
#include <bulkhead/runtime/unique_fd.hpp>
#include <bulkhead/supervision/cell_bell.hpp>
#include <bulkhead/supervision/cell_ring.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bulkhead::supervision {

// What a dying worker writes on its alternate stack (cell_crash.hpp).
struct crash_record {
  static constexpr std::uint32_t most_frames = 48;

  // 0: nothing; 1: all but the frames; 2: the frames too.
  std::atomic<std::uint32_t> stage;
  std::int32_t signal;
  std::int32_t code;  // si_code
  std::uint32_t stack_overflow;
  std::uint32_t frame_count;
  std::uint64_t address;  // si_addr
  std::uint64_t request;  // http::request::id() of what was being served; 0 without
  std::array<std::uint64_t, most_frames> frames;
};

// Whether a request that lies in the ring has been begun: decided by compare-and-swap, by the
// worker that begins it or the server that takes it back. Holds the request's number, too, since a
// place is used again while a request that was taken back still lies in the ring.
enum class claim : std::uint8_t { waiting, begun, taken_back };

[[nodiscard]] constexpr std::uint64_t claim_word(std::uint64_t request, claim c) noexcept {
  return request << 2U | static_cast<std::uint64_t>(c);
}

struct cell_layout {
  static constexpr std::size_t ring_bytes = 256UL * 1024;
  // Requests that may lie in the ring at once.
  static constexpr std::size_t most_requests = 32;

  cell_bell bell;
  ring_positions requests;
  ring_positions responses;
  std::array<std::atomic<std::uint64_t>, most_requests> claims;  // of request % most_requests
  std::atomic<std::uint32_t> start_failed;                       // 1: `start_error` says why
  std::array<char, 512> start_error;
  crash_record crash;
  alignas(4096) std::array<std::byte, ring_bytes> request_bytes;
  alignas(4096) std::array<std::byte, ring_bytes> response_bytes;
};

class cell_segment {
 public:
  // Server: new memory, all zero. The descriptor is for the worker.
  [[nodiscard]] static result<cell_segment> create();
  // Worker: what the server made; the descriptor may be closed afterwards.
  [[nodiscard]] static result<cell_segment> open(int descriptor);

  cell_segment() = default;
  cell_segment(cell_segment&& other) noexcept;
  cell_segment& operator=(cell_segment&& other) noexcept;
  ~cell_segment();

  [[nodiscard]] int descriptor() const noexcept { return memory_.get(); }
  void close_descriptor() noexcept { memory_.reset(); }
  [[nodiscard]] cell_layout& operator*() const noexcept { return *at_; }
  [[nodiscard]] cell_layout* operator->() const noexcept { return at_; }
  [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }

 private:
  [[nodiscard]] static result<cell_segment> map(runtime::unique_fd memory, int descriptor);

  runtime::unique_fd memory_;
  cell_layout* at_ = nullptr;
};

}  // namespace bulkhead::supervision
