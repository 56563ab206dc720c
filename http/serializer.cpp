#include <bulkhead/http/serializer.hpp>
#include <bulkhead/http/status.hpp>

#include <array>
#include <charconv>

namespace bulkhead::http {
namespace {

constexpr std::string_view days = "SunMonTueWedThuFriSat";
constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";

void append_digits(std::string& out, unsigned value, int width) {
  std::array<char, 4> text{};
  for (int i = width; i-- > 0; value /= 10) {
    text[static_cast<std::size_t>(i)] = static_cast<char>('0' + value % 10);
  }
  out.append(text.data(), static_cast<std::size_t>(width));
}

// IMF-fixdate, RFC 9110 section 5.6.7. Without strftime: its names depend on the locale.
void append_date(std::string& out, runtime::wall_time now) {
  using namespace std::chrono;
  const auto day = floor<std::chrono::days>(now);
  const year_month_day date{day};
  const hh_mm_ss time{floor<seconds>(now - day)};
  out += http::days.substr(weekday{day}.c_encoding() * 3, 3);
  out += ", ";
  append_digits(out, static_cast<unsigned>(date.day()), 2);
  out += ' ';
  out += http::months.substr((static_cast<unsigned>(date.month()) - 1) * 3, 3);
  out += ' ';
  append_digits(out, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  out += ' ';
  append_digits(out, static_cast<unsigned>(time.hours().count()), 2);
  out += ':';
  append_digits(out, static_cast<unsigned>(time.minutes().count()), 2);
  out += ':';
  append_digits(out, static_cast<unsigned>(time.seconds().count()), 2);
  out += " GMT";
}

void append_status_line(std::string& out, std::uint16_t status) {
  out += "HTTP/1.1 ";
  append_digits(out, status, 3);
  out += ' ';
  out += reason_phrase(status);
  out += "\r\n";
}

// RFC 9110 section 8.6. A 304 repeats the length that a 200 would have had, so it needs one.
bool has_length(const response& r) noexcept {
  const std::uint16_t s = r.status();
  if (r.content().source() != nullptr && !r.content().source()->size()) return false;
  return s >= 200 && s != 204 && (s != 304 || r.content().size() != 0);
}
std::uint64_t length(const response& r) noexcept {
  const auto& source = r.content().source();
  return source != nullptr ? source->size().value_or(0) : r.content().size();
}

}  // namespace

serializer::serializer(std::string server) : server_(std::move(server)) {}

void serializer::refresh(runtime::wall_time now) {
  const std::int64_t second =
      std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  if (second == second_) return;
  second_ = second;
  common_.clear();
  if (!server_.empty()) common_.append("Server: ").append(server_).append("\r\n");
  common_ += "Date: ";
  append_date(common_, now);
  common_ += "\r\n";
  ok_.clear();
  append_status_line(ok_, 200);
  ok_ += common_;
}

void serializer::write_chunk_size(std::size_t size, std::string& out) {
  std::array<char, 16> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), size, 16).ptr;
  out.append(text.data(), end).append("\r\n");
}

void serializer::write_head(const response& r, const framing& f, runtime::wall_time now,
                            std::string& out) {
  refresh(now);
  if (r.status() == 200) {
    out += ok_;
  } else {
    append_status_line(out, r.status());
    out += common_;
  }
  if (!r.content_type().empty()) {
    out.append("Content-Type: ").append(r.content_type()).append("\r\n");
  }
  if (!r.field_lines().empty()) out += r.field_lines();

  // The last lines are put together aside and added at once.
  std::array<char, 80> last;
  char* at = last.data();
  const auto put = [&at](std::string_view text) {
    text.copy(at, text.size());
    at += text.size();
  };
  if (has_length(r)) {
    put("Content-Length: ");
    at = std::to_chars(at, last.data() + last.size(), length(r)).ptr;
    put("\r\n");
  }
  if (is_chunked(r, f) && r.status() != 204 && r.status() != 304) {
    put("Transfer-Encoding: chunked\r\n");
  }
  if (!f.keep_alive || r.closes()) {
    put("Connection: close\r\n");
  } else if (f.minor_version == 0) {
    put("Connection: keep-alive\r\n");
  }
  put("\r\n");
  out.append(last.data(), static_cast<std::size_t>(at - last.data()));
}

}  // namespace bulkhead::http
