// The bytes that an SSL object sees during one call: the caller's input and the caller's block.
//
// One BIO serves all sessions of a thread. It keeps nothing between calls, so it costs no memory a
// session, and OpenSSL reads and writes the shard's own buffers without a copy of its own.
#pragma once

#include <bulkhead/runtime/buffer_pool.hpp>

#include <openssl/bio.h>

#include <cstddef>
#include <span>

namespace bulkhead::tls {

// Connects the thread's BIO to buffers for the duration of one SSL_* call. What was taken from
// the input is asked for with consumed(); what was written is in the block when this is gone.
class wire_scope {
 public:
  wire_scope(std::span<const std::byte> in, runtime::block& out) noexcept;
  ~wire_scope();
  wire_scope(const wire_scope&) = delete;
  wire_scope& operator=(const wire_scope&) = delete;

  [[nodiscard]] std::size_t consumed() const noexcept;

 private:
  const std::byte* begin_;
  runtime::block& out_;
};

// The thread's BIO; not a new reference. Throws std::bad_alloc. An SSL object that was made on
// one thread may be freed on another.
[[nodiscard]] BIO* wire_bio();

}  // namespace bulkhead::tls
