#include <bulkhead/runtime/pidfd.hpp>
#include <bulkhead/supervision/cell_worker.hpp>
#include <bulkhead/supervision/cell_zygote.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

namespace bulkhead::supervision {

namespace {

using runtime::unique_fd;

// From the server's thread: a new channel, with its descriptor.
struct channel_order {
  std::uint32_t route = 0;
};

constexpr std::size_t most_descriptors = 2;

unsigned threads_of_this_process() noexcept {
  unsigned n = 0;
  if (DIR* tasks = ::opendir("/proc/self/task")) {
    while (const dirent* entry = ::readdir(tasks)) {  // NOLINT(concurrency-mt-unsafe): own stream
      if (entry->d_name[0] != '.') ++n;
    }
    ::closedir(tasks);
  }
#if defined(__SANITIZE_THREAD__)
  if (n > 1) --n;  // the sanitizer's own, which stops for a fork
#endif
  return n;
}

error refused(const char* call) {
  return {error_category::resource, std::string("placement cell: ") + call + ": " +
                                        errno_text(errno) +
                                        "; the routes with this placement cannot be served here"};
}

// -- the process ----------------------------------------------------------------------------------

class zygote {
 public:
  zygote(unique_fd control, const std::vector<route>& routes, pid_t server)
      : control_(std::move(control)), routes_(routes), server_(server) {
    sigset_t ends;
    ::sigemptyset(&ends);
    ::sigaddset(&ends, SIGCHLD);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    deaths_ = unique_fd(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  void run() {
    while (control_ && deaths_) {
      std::vector<pollfd> watched{{control_.get(), POLLIN, 0}, {deaths_.get(), POLLIN, 0}};
      for (const channel& c : channels_) watched.push_back({c.socket.get(), POLLIN, 0});
      if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) break;
      if (watched[1].revents != 0) reap();
      for (std::size_t i = 2; i < watched.size(); ++i) {
        if (watched[i].revents != 0) obey(channels_[i - 2]);
      }
      std::erase_if(channels_, [](const channel& c) { return !c.socket; });
      if (watched[0].revents != 0) add_channel();
    }
    for (const child& c : children_) ::kill(c.pid, SIGKILL);
  }

 private:
  struct channel {
    unique_fd socket;
    std::uint32_t route = 0;
    std::uint64_t number = 0;
  };
  struct child {
    pid_t pid = 0;
    std::uint32_t token = 0;
    std::uint64_t channel = 0;
  };

  void add_channel() {
    channel_order order;
    unique_fd socket;
    const ssize_t n = receive_message(control_.get(), &order, sizeof order, &socket, 1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n != sizeof order || !socket || order.route >= routes_.size()) return control_.reset();
    channels_.push_back({std::move(socket), order.route, ++last_channel_});
  }

  // One order at a time: the others are seen in the next round.
  void obey(channel& from) {
    spawn_order order;
    std::array<unique_fd, most_descriptors> descriptors;
    const ssize_t n = receive_message(from.socket.get(), &order, sizeof order, descriptors.data(),
                                      descriptors.size());
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n != sizeof order || !descriptors[1]) return close(from);
    const pid_t self = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
      run_worker({.what = &routes_[from.route],
                  .segment = descriptors[0].get(),
                  .bell = descriptors[1].get(),
                  .parent = self,
                  .server = server_});
    }
    zygote_report report{.what = zygote_report::kind::spawned, .token = order.token, .pid = pid};
    unique_fd pidfd;
    if (pid > 0) {
      children_.push_back({pid, order.token, from.number});
      pidfd = runtime::open_pidfd(pid);
    }
    if (!pidfd) {
      report.what = zygote_report::kind::refused;
      report.status = errno;
      if (pid > 0) ::kill(pid, SIGKILL);
      static_cast<void>(send_message(from.socket.get(), &report, sizeof report, {}));
      return;
    }
    static_cast<void>(send_message(from.socket.get(), &report, sizeof report, {pidfd.get()}));
  }

  void close(channel& c) {
    c.socket.reset();
    for (const child& k : children_) {
      if (k.channel == c.number) ::kill(k.pid, SIGKILL);
    }
  }

  void reap() {
    std::array<signalfd_siginfo, 8> seen;  // NOLINT(*-member-init): filled by read()
    while (::read(deaths_.get(), seen.data(), sizeof seen) > 0) {
    }
    for (;;) {
      int status = 0;
      rusage used{};
      const pid_t pid = ::wait4(-1, &status, WNOHANG, &used);
      if (pid <= 0) return;
      const auto it = std::find_if(children_.begin(), children_.end(),
                                   [pid](const child& c) { return c.pid == pid; });
      if (it == children_.end()) continue;
      const child dead = *it;
      children_.erase(it);
      for (const channel& c : channels_) {
        if (c.number != dead.channel || !c.socket) continue;
        const auto microseconds = [](const timeval& t) {
          return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000 +
                 static_cast<std::uint64_t>(t.tv_usec);
        };
        const zygote_report report{
            .what = zygote_report::kind::exited,
            .token = dead.token,
            .pid = pid,
            .status = status,
            .peak_kib = static_cast<std::uint64_t>(used.ru_maxrss),
            .microseconds = microseconds(used.ru_utime) + microseconds(used.ru_stime)};
        static_cast<void>(send_message(c.socket.get(), &report, sizeof report, {}));
      }
    }
  }

  unique_fd control_;
  unique_fd deaths_;
  const std::vector<route>& routes_;
  pid_t server_;
  std::vector<channel> channels_;
  std::vector<child> children_;
  std::uint64_t last_channel_ = 0;
};

[[noreturn]] void run_zygote(int control, const std::vector<route>& routes, pid_t server) {
  ::prctl(PR_SET_NAME, "bulkhead-zygote");
  // A terminal's Ctrl-C and a service manager's SIGTERM reach the whole group; the server drains
  // first and closes our control channel when it has ended, however it ended.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);
  constexpr int control_at = 3;
  if (control != control_at) ::dup2(control, control_at);
  ::close_range(control_at + 1, ~0U, 0);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::close(nothing);
  ::fcntl(control_at, F_SETFD, FD_CLOEXEC);
  try {
    zygote(unique_fd(control_at), routes, server).run();
    ::_exit(0);
  } catch (...) {
    ::_exit(1);  // out of memory: the server sees its channels close
  }
}

}  // namespace

// -- messages -------------------------------------------------------------------------------------

bool send_message(int socket, const void* bytes, std::size_t size,
                  std::initializer_list<int> descriptors) noexcept {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * most_descriptors)> extra{};
  iovec content{const_cast<void*>(bytes), size};  // NOLINT(*-const-cast): sendmsg() only reads
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  if (descriptors.size() != 0) {
    message.msg_control = extra.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    std::memcpy(CMSG_DATA(head), descriptors.begin(), sizeof(int) * descriptors.size());
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(size);
}

ssize_t receive_message(int socket, void* bytes, std::size_t size, unique_fd* descriptors,
                        std::size_t most) noexcept {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * most_descriptors)> extra{};
  iovec content{bytes, size};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = extra.data();
  message.msg_controllen = extra.size();
  const ssize_t n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n < 0) return n;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    std::array<int, most_descriptors> got{};
    const std::size_t count = std::min((head->cmsg_len - CMSG_LEN(0)) / sizeof(int), got.size());
    std::memcpy(got.data(), CMSG_DATA(head), count * sizeof(int));
    for (std::size_t i = 0; i < count; ++i) {
      unique_fd fd(got[i]);
      if (i < most) descriptors[i] = std::move(fd);
    }
  }
  return n;
}

// -- the server's side ----------------------------------------------------------------------------

result<std::unique_ptr<cell_zygote>> cell_zygote::start(const std::vector<route>& routes) {
  // A thread that was joined a moment ago may still be on its way out.
  unsigned threads = threads_of_this_process();
  for (int i = 0; i < 20 && threads > 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    threads = threads_of_this_process();
  }
  if (threads > 1) {
    return error(error_category::configuration,
                 "placement cell: workers are forked, which needs a process with one thread, but "
                 "this one has " +
                     std::to_string(threads) +
                     "; call server::prepare() before the program's first thread starts");
  }
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return refused("socketpair");
  }
  unique_fd ours(ends[0]);
  unique_fd its(ends[1]);
  const pid_t server = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return refused("fork");
  if (pid == 0) run_zygote(its.get(), routes, server);
  return std::unique_ptr<cell_zygote>(new cell_zygote(pid, std::move(ours)));
}

cell_zygote::cell_zygote(pid_t pid, unique_fd control) noexcept
    : pid_(pid), control_(std::move(control)) {}

cell_zygote::~cell_zygote() {
  control_.reset();  // it ends, and its workers with it
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

result<unique_fd> cell_zygote::open_channel(std::uint32_t route) const {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return refused("socketpair");
  }
  unique_fd ours(ends[0]);
  const unique_fd its(ends[1]);
  const channel_order order{route};
  if (!send_message(control_.get(), &order, sizeof order, {its.get()})) {
    return refused("the zygote has ended");
  }
  return ours;
}

}  // namespace bulkhead::supervision
