// Content of a worker's response on its way from the ring to the connection.
//
// On one shard; shared by the cell that fills it and the connection that empties it, either of
// which may end first.
#pragma once

#include <bulkhead/http/body_source.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bulkhead::supervision {

class cell_stream final : public http::body_source {
 public:
  // `size`: of all content; nothing when the worker does not know yet.
  explicit cell_stream(std::optional<std::uint64_t> size) noexcept : size_(size) {}

  // -- the cell

  // More would wait here: the ring is not read further, so that its worker waits in turn.
  [[nodiscard]] bool full() const noexcept { return buffer_.size() - at_ >= enough; }
  // Nobody wants it any more: what comes may be thrown away.
  [[nodiscard]] bool abandoned() const noexcept { return abandoned_; }
  // False when it is more than was announced.
  [[nodiscard]] bool add(std::string_view piece);
  // All that was announced has come.
  [[nodiscard]] bool complete() const noexcept { return size_ && added_ == *size_; }
  void end() noexcept;
  void fail() noexcept;

  // -- the connection

  [[nodiscard]] state next(std::string_view& bytes) noexcept override;
  void consume(std::size_t n) noexcept override;
  void listen(listener l, void* context) noexcept override;
  [[nodiscard]] std::optional<std::uint64_t> size() const noexcept override { return size_; }

 private:
  static constexpr std::size_t enough = 128UL * 1024;
  void tell() noexcept;

  std::optional<std::uint64_t> size_;
  std::uint64_t added_ = 0;
  std::string buffer_;
  std::size_t at_ = 0;
  state then_ = state::waiting;  // once the buffer is empty
  bool abandoned_ = false;
  listener listener_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace bulkhead::supervision
