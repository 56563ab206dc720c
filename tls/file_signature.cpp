#include <bulkhead/tls/file_signature.hpp>

#include <ctime>

namespace bulkhead::tls {

namespace {

bool same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

constexpr double settling_seconds = 0.1;

}  // namespace

bool file_signature::file::operator==(const file& other) const noexcept {
  return device == other.device && inode == other.inode && size == other.size &&
         same(modified, other.modified) && same(changed, other.changed);
}

file_signature file_signature::of(const std::vector<std::string>& paths) {
  file_signature signature;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  for (const std::string& path : paths) {
    struct stat facts {};
    file f;
    if (::stat(path.c_str(), &facts) == 0) {
      f = {facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim, facts.st_ctim};
      const double age = static_cast<double>(now.tv_sec - facts.st_ctim.tv_sec) +
                         static_cast<double>(now.tv_nsec - facts.st_ctim.tv_nsec) * 1e-9;
      if (age < settling_seconds) signature.settled_ = false;
    }
    signature.files_.push_back(f);
  }
  return signature;
}

}  // namespace bulkhead::tls
