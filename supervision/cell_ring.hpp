// One direction between a server and a worker process: frames in a ring of shared memory.
//
// One writer and one reader, each in its own process. Each side keeps its own position in private
// memory and only publishes it: what the other side wrote is read once, checked, and never trusted.
// A reader copies a frame out before it looks at it. No locks, no system calls; see cell_bell.hpp
// for waking a side that sleeps. The free room is the writer's byte credit.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace bulkhead::supervision {

// Counted in bytes since the start; their difference is what lies in the ring. In shared memory.
struct ring_positions {
  alignas(64) std::atomic<std::uint64_t> written{0};
  alignas(64) std::atomic<std::uint64_t> read{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

enum class frame_kind : std::uint32_t {
  padding = 1,    // the rest of the ring is skipped; never seen by users of a reader
  request_head,   // http::message_codec
  response_head,  // response_prefix, then http::message_codec
  body,
  body_end,  // of a response whose size was not known
  fault,     // the handler threw: fault_prefix, then its type and text
  ready,     // the worker has its handler
  quit,      // the server asks the worker to end
};

struct frame_header {
  std::uint32_t size = 0;  // of the content
  frame_kind kind{};
  std::uint64_t request = 0;  // the number of the request between these two sides
};
static_assert(sizeof(frame_header) == 16);

class ring_writer {
 public:
  // `bytes`: a power of two, at least 4 KiB.
  ring_writer(ring_positions& shared, std::span<std::byte> bytes) noexcept;

  // The largest content that a frame may have now; 0 when not even an empty one fits, or broken().
  [[nodiscard]] std::size_t room() noexcept;
  // Writes and publishes one frame; false when there is no room for it.
  [[nodiscard]] bool write(frame_kind kind, std::uint64_t request,
                           std::initializer_list<std::string_view> content) noexcept;
  // The other side published a position that cannot be.
  [[nodiscard]] bool broken() const noexcept { return broken_; }
  // Everything was read.
  [[nodiscard]] bool drained() noexcept;

 private:
  [[nodiscard]] std::size_t free_bytes() noexcept;
  void copy_in(const void* from, std::size_t size) noexcept;

  ring_positions& shared_;
  std::span<std::byte> bytes_;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;  // as last seen
  bool broken_ = false;
};

class ring_reader {
 public:
  ring_reader(ring_positions& shared, std::span<std::byte> bytes) noexcept;

  enum class outcome : std::uint8_t {
    nothing,
    frame,
    nonsense,  // the writer broke the format: nothing more can be read
  };
  // Copies the next frame out and gives its room back. `content` keeps its capacity.
  [[nodiscard]] outcome read(frame_header& header, std::string& content);
  // Whether read() would find something. Costs one load.
  [[nodiscard]] bool pending() const noexcept;

 private:
  void copy_out(void* to, std::size_t size) noexcept;

  ring_positions& shared_;
  std::span<std::byte> bytes_;
  std::uint64_t read_ = 0;
};

}  // namespace bulkhead::supervision
