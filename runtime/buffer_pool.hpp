// Fixed-size blocks that connections lease while bytes are on their way out.
//
// Lives on one shard. An idle connection holds no block, so memory follows activity.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bulkhead::runtime {

class buffer_pool;

// A leased block: bytes are appended at its end and consumed from its front. Returns to its pool
// when destroyed. An empty (default or moved-from) block has no capacity.
class block {
 public:
  // Room for four full TLS records of 16,384 bytes with their overhead, and an alert.
  static constexpr std::size_t size = 4 * (16384 + 256) + 1024;

  block() = default;
  block(block&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        begin_(std::exchange(other.begin_, 0)),
        end_(std::exchange(other.end_, 0)) {}
  block& operator=(block&& other) noexcept {
    if (this != &other) {
      release();
      pool_ = std::exchange(other.pool_, nullptr);
      data_ = std::exchange(other.data_, nullptr);
      begin_ = std::exchange(other.begin_, 0);
      end_ = std::exchange(other.end_, 0);
    }
    return *this;
  }
  ~block() { release(); }

  [[nodiscard]] explicit operator bool() const noexcept { return data_ != nullptr; }
  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {data_ + begin_, end_ - begin_};
  }
  [[nodiscard]] std::span<std::byte> room() noexcept { return {data_ + end_, capacity() - end_}; }
  [[nodiscard]] std::size_t room_left() const noexcept { return capacity() - end_; }
  // Says that `n` bytes of room() were filled.
  void filled(std::size_t n) noexcept { end_ += n; }
  // Precondition: bytes.size() <= room_left().
  void append(std::span<const std::byte> bytes) noexcept {
    std::memcpy(data_ + end_, bytes.data(), bytes.size());
    end_ += bytes.size();
  }
  void consume(std::size_t n) noexcept { begin_ += n; }

 private:
  friend class buffer_pool;
  block(buffer_pool* pool, std::byte* data) noexcept : pool_(pool), data_(data) {}
  [[nodiscard]] std::size_t capacity() const noexcept { return data_ != nullptr ? size : 0; }
  void release() noexcept;

  buffer_pool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class buffer_pool {
 public:
  // `keep`: how many free blocks are kept for reuse; more are given back to the allocator.
  explicit buffer_pool(std::size_t keep = 16) : keep_(keep) { free_.reserve(keep); }
  buffer_pool(const buffer_pool&) = delete;
  buffer_pool& operator=(const buffer_pool&) = delete;

  // Throws std::bad_alloc when memory is out.
  [[nodiscard]] block lease();
  [[nodiscard]] std::size_t leased() const noexcept { return leased_; }
  [[nodiscard]] std::size_t idle() const noexcept { return free_.size(); }

 private:
  friend class block;
  void give_back(std::byte* data) noexcept;

  std::size_t keep_;
  std::size_t leased_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> free_;
};

inline void block::release() noexcept {
  if (data_ != nullptr) pool_->give_back(std::exchange(data_, nullptr));
}

}  // namespace bulkhead::runtime
