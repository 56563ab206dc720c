#include <bulkhead/http/head_lines.hpp>
#include <bulkhead/http/token.hpp>

#include <algorithm>
#include <cstring>

namespace bulkhead::http {
namespace {

// Longest method, two spaces, version and CRLF: the rest of a request line beside its target.
constexpr std::uint32_t line_frame = 32;
constexpr std::uint32_t empty_line = 2;

std::uint32_t clamp(std::size_t n) noexcept {
  return static_cast<std::uint32_t>(std::min<std::size_t>(n, 1U << 30U));
}

}  // namespace

head_lines::head_lines(const limits& l) noexcept
    : max_line_(clamp(l.request_line)),
      max_section_(clamp(l.field_section)),
      max_fields_(clamp(l.fields)) {}

void head_lines::start_request() noexcept {
  recent_ = 0;
  line_ = section_ = fields_ = 0;
  in_fields_ = false;
}

void head_lines::start_trailers() noexcept {
  recent_ = ('\r' << 8) | '\n';  // the last chunk's size line ended so
  in_fields_ = true;
  section_ -= std::min(section_, empty_line);
}

void head_lines::remember(const char* begin, const char* end) noexcept {
  if (end - begin > 8) begin = end - 8;
  for (; begin != end; ++begin) recent_ = recent_ << 8U | static_cast<unsigned char>(*begin);
}

bool head_lines::charge(std::uint32_t bytes) noexcept {
  section_ += std::min(bytes, max_section_ + empty_line + 1);
  return section_ <= max_section_ + empty_line;
}

head_lines::found head_lines::scan(const char* begin, const char* end) noexcept {
  const char* p = begin;
  bool line_begins = before(p, begin, 1) == '\n';
  while (p != end) {
    if (line_begins) {
      if (is_blank(*p)) return {p, verdict::refused, 400, "white space in front of a field line"};
      if (*p != '\r' && ++fields_ > max_fields_) {
        return {p, verdict::refused, 431, "too many field lines"};
      }
    }
    std::uint32_t& count = in_fields_ ? section_ : line_;
    const std::uint32_t budget =
        (in_fields_ ? max_section_ + empty_line : max_line_ + line_frame) - count;
    const auto available = static_cast<std::size_t>(end - p);
    const auto* lf =
        static_cast<const char*>(std::memchr(p, '\n', std::min<std::size_t>(available, budget)));
    if (lf == nullptr) {
      if (available > budget) {
        return in_fields_ ? found{p + budget, verdict::refused, 431, "field section too large"}
                          : found{p + budget, verdict::refused, 414, "request line too long"};
      }
      count += static_cast<std::uint32_t>(available);
      return {end, verdict::more, 0, nullptr};
    }
    if (before(lf, begin, 1) != '\r') return {lf, verdict::refused, 400, "bare LF"};
    count += static_cast<std::uint32_t>(lf + 1 - p);
    if (lf - p < 2 && before(lf, begin, 2) == '\n') return {lf + 1, verdict::end, 0, nullptr};
    in_fields_ = line_begins = true;
    p = lf + 1;
  }
  return {end, verdict::more, 0, nullptr};
}

}  // namespace bulkhead::http
