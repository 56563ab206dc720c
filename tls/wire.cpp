#include <bulkhead/tls/native.hpp>
#include <bulkhead/tls/wire.hpp>

#include <algorithm>
#include <cstring>
#include <new>

namespace bulkhead::tls {

namespace {

struct buffers {
  const std::byte* in = nullptr;
  const std::byte* in_end = nullptr;
  std::byte* out = nullptr;
  std::byte* out_end = nullptr;
};
thread_local constinit buffers current;

int read_wire(BIO* bio, char* data, std::size_t size, std::size_t* taken) {
  BIO_clear_retry_flags(bio);
  const std::size_t n = std::min(size, static_cast<std::size_t>(current.in_end - current.in));
  *taken = n;
  if (n == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::memcpy(data, current.in, n);
  current.in += n;
  return 1;
}

// All or nothing: a record is never cut in two by a full block.
int write_wire(BIO* bio, const char* data, std::size_t size, std::size_t* written) {
  BIO_clear_retry_flags(bio);
  if (size > static_cast<std::size_t>(current.out_end - current.out)) {
    *written = 0;
    BIO_set_retry_write(bio);
    return 0;
  }
  if (size > 0) std::memcpy(current.out, data, size);
  current.out += size;
  *written = size;
  return 1;
}

long control_wire(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

// Lives as long as the process: BIOs of threads that are still ending refer to it.
const BIO_METHOD* wire_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "bulkhead wire");
    if (m == nullptr) throw std::bad_alloc();
    BIO_meth_set_read_ex(m, read_wire);
    BIO_meth_set_write_ex(m, write_wire);
    BIO_meth_set_ctrl(m, control_wire);
    return m;
  }();
  return method;
}

}  // namespace

wire_scope::wire_scope(std::span<const std::byte> in, runtime::block& out) noexcept
    : begin_(in.data()), out_(out) {
  const auto room = out.room();
  current = {in.data(), in.data() + in.size(), room.data(), room.data() + room.size()};
}

wire_scope::~wire_scope() {
  out_.filled(static_cast<std::size_t>(current.out - out_.room().data()));
  current = {};
}

std::size_t wire_scope::consumed() const noexcept {
  return static_cast<std::size_t>(current.in - begin_);
}

BIO* wire_bio() {
  thread_local bio_ptr bio;
  if (bio == nullptr) {
    bio.reset(BIO_new(wire_method()));
    if (bio == nullptr) throw std::bad_alloc();
    BIO_set_init(bio.get(), 1);
  }
  return bio.get();
}

}  // namespace bulkhead::tls
