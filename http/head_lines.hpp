// The lines of a head or of trailers, watched ahead of llhttp, in any split of the bytes.
//
// llhttp 8.1 lets pass what RFC 9112 calls invalid and others read differently: a bare LF, folded
// lines, white space before a field. It has no limits either. This finds the first byte that must
// not reach it, so an error depends on the bytes alone and never on how they were split.
#pragma once

#include <bulkhead/http/limits.hpp>

#include <cstddef>
#include <cstdint>

namespace bulkhead::http {

class head_lines {
 public:
  explicit head_lines(const limits& l) noexcept;

  void start_request() noexcept;
  void start_trailers() noexcept;  // counts on: trailers share the limits of the head

  enum class verdict : std::uint8_t {
    more,     // all bytes may be parsed; the head goes on
    end,      // the empty line ends at `upto`
    refused,  // bytes before `upto` may be parsed, then `status` and `why` are the answer
  };
  struct found {
    const char* upto;
    verdict what;
    std::uint16_t status;
    const char* why;
  };
  [[nodiscard]] found scan(const char* begin, const char* end) noexcept;

  // Keeps the last bytes of [begin, end), for before() on the next piece.
  void remember(const char* begin, const char* end) noexcept;
  // The byte `distance` (1 to 8) before p, where [begin, p) is the current piece; NUL where the
  // request had not begun.
  [[nodiscard]] char before(const char* p, const char* begin, unsigned distance) const noexcept {
    const auto here = static_cast<std::size_t>(p - begin);
    if (here >= distance) return *(p - distance);
    return static_cast<char>(recent_ >> (8 * (distance - here - 1)) & 0xFFU);
  }

  // Chunk extensions are metadata as fields are, and share their limit. False once it is crossed.
  [[nodiscard]] bool charge(std::uint32_t bytes) noexcept;

  [[nodiscard]] std::uint32_t request_line_limit() const noexcept { return max_line_; }

 private:
  std::uint64_t recent_ = 0;  // the last 8 bytes, the latest lowest
  std::uint32_t max_line_, max_section_, max_fields_;
  std::uint32_t line_ = 0;     // bytes of the request line so far
  std::uint32_t section_ = 0;  // bytes of field lines so far, with the empty line
  std::uint32_t fields_ = 0;
  bool in_fields_ = false;
};

}  // namespace bulkhead::http
