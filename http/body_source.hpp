// Content of a response that comes piece by piece while it is sent.
//
// Belongs to one shard. Whoever sends takes bytes when there is room for them, so the source's
// buffer is all that waits: that is the producer's byte credit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bulkhead::http {

class body_source {
 public:
  virtual ~body_source() = default;

  enum class state : std::uint8_t {
    ready,
    waiting,  // nothing now; the listener is called when that changes
    ended,
    failed,  // there will be no more, and what came is not all: the response must be cut
  };
  // What comes next, if ready: valid until consume() or the next turn.
  [[nodiscard]] virtual state next(std::string_view& bytes) noexcept = 0;
  virtual void consume(std::size_t n) noexcept = 0;

  using listener = void (*)(void* context) noexcept;
  // Null: nobody sends it any more, and what is produced may be thrown away.
  virtual void listen(listener l, void* context) noexcept = 0;

  // All bytes, where that is known: Content-Length. Otherwise chunked.
  [[nodiscard]] virtual std::optional<std::uint64_t> size() const noexcept = 0;
};

}  // namespace bulkhead::http
