#include <bulkhead/tls/incoming.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using bulkhead::tls::incoming;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string record(char type, std::size_t size) {
  std::string bytes{type, 3, 3};
  bytes += static_cast<char>(size >> 8U);
  bytes += static_cast<char>(size & 0xffU);
  return bytes + std::string(size, static_cast<char>('a' + size % 26));
}

constexpr char change_cipher_spec = 20, handshake = 22, data = 23;

std::vector<std::string> take_all(incoming& in) {
  std::vector<std::string> records;
  for (auto next = in.next(); !next.empty(); next = in.next()) {
    records.push_back(text_of(next));
    in.consume(next.size());
  }
  return records;
}

}  // namespace

TEST_CASE("records come out whole and in order, whatever the pieces") {
  const std::vector<std::string> records = {record(handshake, 200), record(data, 1),
                                            record(data, 0), record(data, 700), record(data, 3)};
  std::string stream;
  for (const auto& r : records) stream += r;
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    CAPTURE(piece);
    incoming in;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      const std::string fed = stream.substr(at, piece);
      in.feed(bytes_of(fed));
      for (auto& r : take_all(in)) got.push_back(std::move(r));
      in.end_feed();
    }
    CHECK(got == records);
    CHECK(in.held() == 0);
  }
}

TEST_CASE("what waits takes exactly the memory of its bytes, and none once it is consumed") {
  incoming in;
  const std::string one = record(data, 1000);
  in.feed(bytes_of(one));
  CHECK(in.held() == 0);
  take_all(in);
  in.end_feed();
  CHECK(in.held() == 0);

  in.feed(bytes_of(one).first(3));
  in.end_feed();
  CHECK(in.held() == 3);
  in.feed(bytes_of(one).subspan(3, 400));
  in.end_feed();
  CHECK(in.held() == 403);
  CHECK(in.next().empty());
  in.feed(bytes_of(one).subspan(403));
  CHECK(text_of(in.next()) == one);
  take_all(in);
  in.end_feed();
  CHECK(in.held() == 0);
}

TEST_CASE("records that were not read are kept, and later ones follow them") {
  incoming in;
  const std::string first = record(data, 10), second = record(data, 20), third = record(data, 30);
  const std::string fed = first + second + third.substr(0, 4);
  in.feed(bytes_of(fed));
  in.consume(in.next().size());
  in.end_feed();
  CHECK(text_of(in.next()) == second);
  const std::string rest = third.substr(4) + first;
  in.feed(bytes_of(rest));
  CHECK(take_all(in) == std::vector<std::string>{second, third, first});
}

TEST_CASE("a change_cipher_spec comes with the record after it") {
  incoming in;
  const std::string both = record(change_cipher_spec, 1) + record(data, 50);
  in.feed(bytes_of(both));
  CHECK(text_of(in.next()) == both);
  in.clear();
  const std::string alone = record(change_cipher_spec, 1) + std::string{data, 3};
  in.feed(bytes_of(alone));
  CHECK(text_of(in.next()) == record(change_cipher_spec, 1));
}

TEST_CASE("what is no record comes out at once and is called malformed") {
  for (const std::string& wrong :
       {std::string("GET"), std::string{handshake, 2}, std::string("\x17\x03\x03\x48\x01", 5)}) {
    CAPTURE(wrong);
    incoming in;
    in.feed(bytes_of(wrong).first(1));
    in.end_feed();
    in.feed(bytes_of(wrong).subspan(1));
    CHECK(text_of(in.next()) == wrong);
    CHECK(in.malformed());
  }
  incoming in;
  const std::string longest("\x17\x03\x03\x48\x00", 5);
  in.feed(bytes_of(longest));
  CHECK(in.next().empty());
  CHECK_FALSE(in.malformed());
}
