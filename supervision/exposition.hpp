// Writes the text format that Prometheus scrapes, version 0.0.4: families of samples.
//
// Pure. Names are literals of ours and must be valid; label values may be any text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace bulkhead::supervision {

class exposition {
 public:
  static constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";

  using label = std::pair<std::string_view, std::string_view>;  // name, value

  // Begins a family, whose samples follow. A counter's name ends in "_total" and only a counter's.
  void counter(std::string_view name, std::string_view help) { family(name, "counter", help); }
  void gauge(std::string_view name, std::string_view help) { family(name, "gauge", help); }

  // Each with other labels.
  void sample(std::uint64_t value, std::initializer_list<label> labels = {});
  // Whole microseconds as seconds: "1.5".
  void seconds(std::uint64_t microseconds, std::initializer_list<label> labels = {});

  // A family with one sample.
  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    counter(name, help);
    sample(value);
  }
  void gauge(std::string_view name, std::string_view help, std::uint64_t value) {
    gauge(name, help);
    sample(value);
  }

  [[nodiscard]] const std::string& page() const noexcept { return out_; }

 private:
  void family(std::string_view name, std::string_view type, std::string_view help);
  void add(const std::string& value, std::initializer_list<label> labels);

  std::string out_;
  std::string name_;  // of the family that was begun last
};

}  // namespace bulkhead::supervision
