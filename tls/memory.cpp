#include <bulkhead/tls/memory.hpp>
#include <bulkhead/tls/slabs.hpp>

#include <openssl/crypto.h>

namespace bulkhead::tls {

bool own_openssl_memory() noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  static const bool installed =
      CRYPTO_set_mem_functions(
          [](std::size_t size, const char*, int) { return slab_allocate(size); },
          [](void* p, std::size_t size, const char*, int) { return slab_resize(p, size); },
          [](void* p, const char*, int) { slab_release(p); }) == 1;
  return installed;
#endif
}

}  // namespace bulkhead::tls
