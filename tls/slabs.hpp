// Size classes in slabs of each thread: the allocator behind memory.hpp. Private to this layer.
//
// A piece may be released by any thread. What a thread releases beyond what it took serves all, as
// do the pieces of a thread that ended. Small pieces never go back to the system; of those above 4
// KiB a few are kept and the rest is the C library's, as is everything above 64 KiB.
#pragma once

#include <cstddef>

namespace bulkhead::tls {

// Aligned to 16 bytes; null for no bytes and when the system has no memory.
[[nodiscard]] void* slab_allocate(std::size_t size) noexcept;
// As realloc(): keeps the content, moves it if it must, releases it for no bytes.
[[nodiscard]] void* slab_resize(void* content, std::size_t size) noexcept;
void slab_release(void* content) noexcept;

// What all slabs took from the system.
[[nodiscard]] std::size_t slab_bytes() noexcept;

}  // namespace bulkhead::tls
