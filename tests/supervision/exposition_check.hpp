// Holds a page against the text format that Prometheus scrapes (version 0.0.4), and stricter: it
// refuses what `promtool check metrics` would, and what only our own pages need not have.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bulkhead::supervision::testing {

struct scraped {
  // By name and labels as written: {"x_total{a=\"b\"}", "3"}.
  std::map<std::string, std::string> samples;
  std::map<std::string, std::string> types;  // by family
  std::string error;                         // empty: the page is good
  int line = 0;                              // where the error is

  [[nodiscard]] std::string value(const std::string& sample) const {
    const auto at = samples.find(sample);
    return at == samples.end() ? "missing" : at->second;
  }
};

[[nodiscard]] scraped check_exposition(std::string_view page);

}  // namespace bulkhead::supervision::testing
