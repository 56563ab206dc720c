#include "wire_replay.hpp"

#include <bulkhead/http/request_parser.hpp>

#include <doctest/doctest.h>

#include <memory>

namespace bulkhead::http::test {
namespace {

using progress = request_parser::progress;

void describe(std::string& events, const request& r) {
  events += "request " + std::string(r.method_name()) + ' ' + escaped(r.target()) + " HTTP/1." +
            std::to_string(r.minor_version()) + (r.keep_alive() ? " keep-alive\n" : " close\n");
  if (r.path() != r.target()) events += "  path " + escaped(r.path()) + '\n';
  if (!r.query().empty()) events += "  query " + escaped(r.query()) + '\n';
  for (std::size_t i = 0; i < r.field_count(); ++i) {
    const field_view f = r.field_at(i);
    events += "  " + escaped(f.name) + ':' + (f.value.empty() ? "" : " ") + escaped(f.value) + '\n';
  }
  if (!r.body().empty()) events += "  body " + escaped(r.body()) + '\n';
}

struct player {
  explicit player(const limits& l) : parser(l) {}

  request_parser parser;
  request into;
  std::string events;
  bool failed = false;

  // The piece gets a heap block of its own size, so that a sanitizer sees a read past its end.
  void feed(std::string_view piece) {
    const auto copy = std::make_unique<char[]>(piece.size());
    piece.copy(copy.get(), piece.size());
    std::string_view rest(copy.get(), piece.size());
    while (!rest.empty() && !failed) {
      const request_parser::step s = parser.parse(rest, into);
      REQUIRE(s.consumed <= rest.size());
      rest.remove_prefix(s.consumed);
      switch (s.state) {
        case progress::more:
          REQUIRE(rest.empty());
          break;
        case progress::head:
          events += parser.expects_continue() ? "head, waits for 100\n" : "head\n";
          break;
        case progress::complete:
          describe(events, into);
          into.reset();
          break;
        case progress::failed:
          failed = true;
          events += "failed " + std::to_string(parser.error_status()) + ": " +
                    std::string(parser.error_reason()) + '\n';
          break;
      }
    }
  }
  std::string finish() {
    if (!failed && parser.in_request()) events += "incomplete\n";
    return std::move(events);
  }
};

}  // namespace

std::string replay(std::string_view bytes, const limits& l, const std::vector<std::size_t>& cuts) {
  player p(l);
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    p.feed(bytes.substr(from, cut - from));
    from = cut;
  }
  p.feed(bytes.substr(from));
  return p.finish();
}

std::string replay_byte_by_byte(std::string_view bytes, const limits& l) {
  player p(l);
  for (std::size_t i = 0; i < bytes.size(); ++i) p.feed(bytes.substr(i, 1));
  return p.finish();
}

std::string escaped(std::string_view bytes) {
  static constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\r') {
      out += "\\r";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\\') {
      out += "\\\\";
    } else if (byte < 0x20 || byte >= 0x7F) {
      out += {'\\', 'x', hex[byte >> 4U], hex[byte & 15U]};
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace bulkhead::http::test
