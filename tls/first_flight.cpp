#include <bulkhead/tls/first_flight.hpp>

#include <array>

namespace bulkhead::tls {

namespace {

first_flight classify_record(std::span<const std::byte> bytes) {
  const auto octet = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  constexpr std::size_t header = 5;
  constexpr unsigned longest = 16384;
  // RFC 8446 section 5.1: the minor version says nothing.
  if (bytes.size() > 1 && octet(1) != 3) return first_flight::garbage;
  if (bytes.size() > 3 && octet(3) << 8U > longest) return first_flight::garbage;
  if (bytes.size() < header) return first_flight::incomplete;
  const unsigned length = octet(3) << 8U | octet(4);
  if (length == 0 || length > longest) return first_flight::garbage;
  return bytes.size() < header + length ? first_flight::incomplete : first_flight::record;
}

}  // namespace

first_flight classify(std::span<const std::byte> bytes) noexcept {
  if (bytes.empty()) return first_flight::incomplete;
  if (bytes[0] == std::byte{0x16}) return classify_record(bytes);
  // RFC 9110 section 9.3, RFC 5789, and the preface of HTTP/2. No name begins another, so that
  // a whole one decides.
  static constexpr std::array<std::string_view, 10> methods = {
      "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "PRI"};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const std::string_view method : methods) {
    if (text.starts_with(method)) return first_flight::plain_http;
    if (method.starts_with(text)) return first_flight::incomplete;
  }
  return first_flight::garbage;
}

}  // namespace bulkhead::tls
