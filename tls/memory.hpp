// OpenSSL's memory: size classes in slabs of each thread, instead of the C library's allocator.
//
// A handshake makes some 800 allocations. Slabs make them about 4 % cheaper, and one crowd of
// connections leaves no holes that the next one does not fit, so that memory stays flat after a
// peak. What a slab holds is reused, never given back to the system.
#pragma once

namespace bulkhead::tls {

// Installs it for the whole process. Works only before OpenSSL's first allocation: false when that
// is over, or in a build with sanitizers, which want to see each allocation. Any thread, once.
bool own_openssl_memory() noexcept;

}  // namespace bulkhead::tls
