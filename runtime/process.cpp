#include <bulkhead/runtime/process.hpp>

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

namespace bulkhead::runtime {

namespace {

std::chrono::nanoseconds read_clock(clockid_t which) {
  timespec t{};
  ::clock_gettime(which, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

}  // namespace

wall_time process_start() {
  std::ifstream stat("/proc/self/stat");
  std::string text;
  std::getline(stat, text);
  // proc(5): the second field is the program's name in parentheses and may hold anything; the 22nd
  // is the start in ticks since boot, so the 20th after the name.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  if (!fields || field.find_first_not_of("0123456789") != std::string::npos) return {};
  const std::chrono::milliseconds after_boot(std::stoll(field) * 1000 / ::sysconf(_SC_CLK_TCK));
  const auto age = read_clock(CLOCK_BOOTTIME) - after_boot;
  return wall_time(
      std::chrono::duration_cast<wall_time::duration>(read_clock(CLOCK_REALTIME) - age));
}

}  // namespace bulkhead::runtime
