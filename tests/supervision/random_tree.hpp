// Supervision trees by chance, from a seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "tree_support.hpp"

namespace bulkhead::supervision::testing {

struct dice {
  explicit dice(std::uint64_t seed) : engine(seed) {}
  std::mt19937_64 engine;
  long between(long a, long z) { return std::uniform_int_distribution<long>(a, z)(engine); }
  bool one_in(long n) { return between(1, n) == 1; }
};

inline child_spec random_child(dice& d, const std::string& id) {
  child_spec s;
  s.id = id;
  s.restart = d.one_in(6)   ? restart_type::temporary
              : d.one_in(4) ? restart_type::transient
                            : restart_type::permanent;
  s.intensity = {static_cast<std::uint32_t>(d.between(0, 4)), milliseconds(d.between(1, 20'000))};
  s.backoff.initial = milliseconds(d.between(1, 2'000));
  s.backoff.cap = s.backoff.initial + milliseconds(d.between(0, 10'000));
  s.backoff.factor = 1.0 + static_cast<double>(d.between(0, 4)) / 2.0;
  s.backoff.jitter = 0;
  s.shutdown = seconds(1);
  return s;
}

inline tree_spec random_tree(dice& d, int depth, int& named) {
  tree_spec t{.spec = random_child(d, "s" + std::to_string(named++))};
  t.spec.shutdown = infinity;
  t.supervisor =
      flags(static_cast<strategy>(d.between(0, 2)), static_cast<std::uint32_t>(d.between(0, 8)),
            milliseconds(d.between(1, 20'000)));
  for (long n = d.between(1, 4); n > 0; --n) {
    if (depth > 0 && d.one_in(3)) {
      t.children.push_back(random_tree(d, depth - 1, named));
    } else {
      t.children.push_back(tree_spec::worker(random_child(d, "w" + std::to_string(named++))));
    }
  }
  return t;
}

}  // namespace bulkhead::supervision::testing
