// What stat(2) says about a set of files: differs when any of them was written, replaced or
// reached through another symbolic link.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

namespace bulkhead::tls {

class file_signature {
 public:
  // Of now, links followed. A file that is not there has a signature as well.
  [[nodiscard]] static file_signature of(const std::vector<std::string>& paths);

  [[nodiscard]] bool operator==(const file_signature& other) const noexcept {
    return files_ == other.files_;
  }
  // False when a file changed so recently that a second change could carry the same time stamp:
  // the kernel's clock for them moves in ticks of up to 10 ms.
  [[nodiscard]] bool settled() const noexcept { return settled_; }

 private:
  struct file {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = -1;
    timespec modified{};
    timespec changed{};
    [[nodiscard]] bool operator==(const file& other) const noexcept;
  };
  std::vector<file> files_;
  bool settled_ = true;
};

}  // namespace bulkhead::tls
