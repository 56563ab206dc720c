// Ciphertext on its way to OpenSSL, handed out in complete TLS records only.
//
// Lives in its session. OpenSSL allocates 16.7 KiB for a record of which one byte has arrived; an
// incomplete one therefore waits here, in a buffer of exactly its size, and no buffer exists
// while nothing waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

namespace bulkhead::tls {

class incoming {
 public:
  // Precondition: end_feed() was called since the last feed(). The span stays with the caller.
  // Throws std::bad_alloc.
  void feed(std::span<const std::byte> bytes);
  // Copies what was not consumed; the fed span may go.
  void end_feed();

  // The first complete record; empty when there is none. A change_cipher_spec comes together
  // with the record after it: it only means something there (RFC 8446 section 5). What is no TLS
  // record at all comes whole, for OpenSSL to refuse with the right alert; see malformed().
  [[nodiscard]] std::span<const std::byte> next() const noexcept;
  [[nodiscard]] bool malformed() const noexcept;
  void consume(std::size_t bytes) noexcept;
  void clear() noexcept;

  // Bytes of memory that are held.
  [[nodiscard]] std::size_t held() const noexcept { return kept_capacity_; }

 private:
  struct freed {
    void operator()(std::byte* p) const noexcept { std::free(p); }
  };
  [[nodiscard]] std::span<const std::byte> kept() const noexcept {
    return {kept_.get() + kept_begin_, kept_size_};
  }
  [[nodiscard]] std::span<const std::byte> front() const noexcept {
    return kept_size_ != 0 ? kept() : fed_;
  }
  void keep(std::span<const std::byte> bytes, std::size_t reserve);
  void top_up();

  // At most one record lies partly in `kept_` and partly in `fed_`, and only within feed().
  std::unique_ptr<std::byte[], freed> kept_;
  std::uint32_t kept_begin_ = 0;
  std::uint32_t kept_size_ = 0;
  std::uint32_t kept_capacity_ = 0;
  std::span<const std::byte> fed_;
};

}  // namespace bulkhead::tls
