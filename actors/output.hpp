// Responses on their way out: first as plain bytes of this turn, then, if the peer does not read,
// as a backlog of their connection.
//
// Lives on the shard. Heads and small bodies are joined; large bodies are never copied whole.
#pragma once

#include <bulkhead/http/body.hpp>

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::actors {

// Everything that one connection produced in one turn, in order.
class turn_output {
 public:
  // Bodies up to this size are copied behind their head; above, only as far as that saves a
  // TLS record.
  static constexpr std::size_t small_body = 4096;
  static constexpr std::size_t record = 16384;  // RFC 8446 section 5.1

  // Where heads are written: append only.
  [[nodiscard]] std::string& text() noexcept { return text_; }
  void add(http::body content);

  [[nodiscard]] bool empty() const noexcept { return text_.empty() && large_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size() + large_bytes_; }
  void clear() noexcept;

  // Gives the pieces in order to `take`, which answers how many bytes it took. Stops at the first
  // piece that is not taken whole; the caller moves what is left with leave().
  template <class Take>
  bool drain(Take&& take);

 private:
  friend class backlog;
  struct piece {
    std::size_t text_end;  // text up to here comes before it
    http::body content;
    std::size_t offset;  // what was copied into the text already
  };

  std::string text_;
  std::vector<piece> large_;
  std::size_t large_bytes_ = 0;
  std::size_t text_at_ = 0;  // how far drain() has come
  std::size_t piece_at_ = 0;
};

// What a slow reader has not taken yet. Exists only while there is such a thing.
class backlog {
 public:
  // Takes what `output` has left, by copying text and moving bodies.
  void take_rest(turn_output& output);

  [[nodiscard]] bool empty() const noexcept { return pieces_.empty(); }
  template <class Take>
  bool drain(Take&& take);

 private:
  struct piece {
    http::body content;
    std::size_t offset;
  };
  std::deque<piece> pieces_;
};

// -- templates ------------------------------------------------------------------------------------

template <class Take>
bool turn_output::drain(Take&& take) {
  for (;;) {
    const bool more = piece_at_ < large_.size();
    const std::size_t text_end = more ? large_[piece_at_].text_end : text_.size();
    if (text_at_ < text_end) {
      const std::string_view rest(text_.data() + text_at_, text_end - text_at_);
      const std::size_t n = take(std::as_bytes(std::span(rest)));
      text_at_ += n;
      if (n < rest.size()) return false;
    }
    if (!more) return true;
    piece& p = large_[piece_at_];
    const std::string_view rest = p.content.view().substr(p.offset);
    const std::size_t n = take(std::as_bytes(std::span(rest)));
    p.offset += n;
    if (n < rest.size()) return false;
    ++piece_at_;
  }
}

template <class Take>
bool backlog::drain(Take&& take) {
  while (!pieces_.empty()) {
    piece& p = pieces_.front();
    const std::string_view rest = p.content.view().substr(p.offset);
    const std::size_t n = take(std::as_bytes(std::span(rest)));
    p.offset += n;
    if (n < rest.size()) return false;
    pieces_.pop_front();
  }
  return true;
}

}  // namespace bulkhead::actors
