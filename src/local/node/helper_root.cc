// A container's file system: assembled as PID 1 of the container in its own mount namespace.
//
// Sources are cloned as detached mounts (open_tree) before pivot_root and attached after it, so
// that no path of the container, nor a symlink in its image, can point a mount at the host's files.
#include "local/node/helper_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace manta::local::helper {
namespace {

constexpr unsigned kClone = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

bool is_folder(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// A detached mount of the file or folder behind a descriptor.
struct Tree {
  int fd = -1;
  bool folder = false;
};

Tree clone_fd(int fd, bool read_only, const std::string& name) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) die_errno("reading " + name);
  const int tree = open_tree(fd, "", kClone | AT_EMPTY_PATH);
  if (tree < 0) die_errno("mounting " + name);
  if (read_only) {
    mount_attr attributes = {};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) != 0)
      die_errno("making " + name + " read-only");
  }
  return {tree, S_ISDIR(info.st_mode)};
}

Tree clone_path(const std::string& path, bool read_only) {
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) die_errno("opening " + path);
  const auto tree = clone_fd(fd, read_only, path);
  close(fd);
  return tree;
}

int open_beneath(int folder, const std::string& path) {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
}

/// subPath: below the volume whatever symlinks say; missing folders are made, as the kubelet does.
Tree clone_sub_path(const MountSpec& mount) {
  const std::string name = mount.source + "/" + mount.sub_path;
  int at = open(mount.source.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) die_errno("opening " + mount.source);
  int target = open_beneath(at, mount.sub_path);
  if (target < 0 && errno == ENOENT) {
    std::size_t start = 0;
    while (start <= mount.sub_path.size()) {
      const auto slash = std::min(mount.sub_path.find('/', start), mount.sub_path.size());
      const auto part = mount.sub_path.substr(start, slash - start);
      start = slash + 1;
      if (part.empty() || part == ".") continue;
      if (part == "..") die("subPath " + mount.sub_path + " must not contain '..'");
      if (mkdirat(at, part.c_str(), 0777) == 0) fchmodat(at, part.c_str(), 0777, 0);
      const int next = open_beneath(at, part);
      if (next < 0) die_errno("making subPath " + name);
      close(at);
      at = next;
    }
    target = at;
  }
  if (target < 0) die_errno("opening subPath " + name);
  return clone_fd(target, mount.read_only, name);
}

bool make_mount_point(const std::string& target, bool folder) {
  if (folder) return make_folders(target) && is_folder(target);
  const auto slash = target.rfind('/');
  if (slash != std::string::npos && slash > 0 && !make_folders(target.substr(0, slash)))
    return false;
  if (exists(target)) return true;
  const int fd = open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  close(fd);
  return true;
}

void attach(const Tree& tree, const std::string& target) {
  if (!make_mount_point(target, tree.folder)) die_errno("cannot make mount point " + target);
  if (move_mount(tree.fd, "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    die_errno("mounting at " + target);
  close(tree.fd);
}

void bind_mount(const std::string& source, const std::string& target, bool read_only) {
  attach(clone_path(source, read_only), target);
}

/// As the host has it: /bin is a link to usr/bin on merged systems, a folder elsewhere.
void mirror_top_level(const std::string& root, const std::string& name) {
  const auto path = "/" + name;
  char link[256];
  const auto size = readlink(path.c_str(), link, sizeof link - 1);
  if (size > 0) {
    link[size] = '\0';
    (void)!symlink(link, (root + path).c_str());
  } else if (is_folder(path)) {
    bind_mount(path, root + path, true);
  }
}

void build_synthesized(const RootSpec& spec) {
  const auto& root = spec.dir;
  bind_mount("/usr", root + "/usr", true);
  for (const char* name : {"bin", "sbin", "lib", "lib32", "lib64", "libx32"})
    mirror_top_level(root, name);
  for (const auto& path : spec.binds)
    if (exists(path)) bind_mount(path, root + path, true);
}

/// The image's folder below an overlay; where overlays are not possible, the folder itself,
/// read-only.
void build_from_folder(const RootSpec& spec) {
  make_folders(spec.upper);
  make_folders(spec.work);
  const auto base = "lowerdir=" + spec.lower + ",upperdir=" + spec.upper + ",workdir=" + spec.work;
  for (const auto& options : {base, base + ",userxattr"})
    if (mount("overlay", spec.dir.c_str(), "overlay", 0, options.c_str()) == 0) return;
  send_news(
      {.notice = std::string("no overlay file system here (") + strerror(errno) +
                 "): the container's root is read-only apart from its volumes, /tmp and /home"});
  bind_mount(spec.lower, spec.dir, false);
  for (const char* name : {"/tmp", "/home", "/var/tmp", "/run"})
    if (is_folder(spec.dir + name))
      mount("tmpfs", (spec.dir + name).c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
}

void write_files(const RootSpec& spec, const CredentialSpec& owner) {
  make_folders(spec.dir + "/tmp");
  chmod((spec.dir + "/tmp").c_str(), 01777);
  for (const auto& path : spec.writable) {
    make_folders(spec.dir + path);
    if (!owner.keep_ids)
      (void)!chown((spec.dir + path).c_str(), static_cast<uid_t>(owner.uid),
                   static_cast<gid_t>(owner.gid));
  }
  for (const auto& file : spec.files) {
    const auto path = spec.dir + file.path;
    make_folders(path.substr(0, path.rfind('/')));
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                        static_cast<mode_t>(file.mode));
    if (fd < 0) {
      if (errno == EROFS || errno == ELOOP) continue;  // the image has its own
      die_errno("writing " + file.path);
    }
    if (write(fd, file.content.data(), file.content.size()) < 0) die_errno("writing " + file.path);
    close(fd);
  }
  for (const auto& link : spec.links) {
    const auto path = spec.dir + link.path;
    make_folders(path.substr(0, path.rfind('/')));
    if (symlink(link.to.c_str(), path.c_str()) != 0 && errno != EEXIST && errno != EROFS)
      die_errno("linking " + link.path);
  }
}

void mount_devices(const std::string& root, bool privileged) {
  const auto dev = root + "/dev";
  make_folders(dev);
  if (privileged) {
    bind_mount("/dev", dev, false);
  } else {
    if (mount("tmpfs", dev.c_str(), "tmpfs", MS_NOSUID, "mode=755,size=65536k") != 0)
      die_errno("mounting /dev");
    for (const char* name : {"null", "zero", "full", "random", "urandom", "tty", "fuse"})
      if (exists(std::string("/dev/") + name))
        bind_mount(std::string("/dev/") + name, dev + "/" + name, false);
    const LinkSpec links[] = {{"/fd", "/proc/self/fd"},
                              {"/stdin", "/proc/self/fd/0"},
                              {"/stdout", "/proc/self/fd/1"},
                              {"/stderr", "/proc/self/fd/2"},
                              {"/ptmx", "pts/ptmx"}};
    for (const auto& link : links) (void)!symlink(link.to.c_str(), (dev + link.path).c_str());
    make_folders(dev + "/pts");
    if (mount("devpts", (dev + "/pts").c_str(), "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,ptmxmode=0666,mode=620,gid=5") != 0)  // gid 5 is not mapped rootless
      mount("devpts", (dev + "/pts").c_str(), "devpts", MS_NOSUID | MS_NOEXEC,
            "newinstance,ptmxmode=0666,mode=620");
  }
  make_folders(dev + "/shm");
  // 64 MiB is containerd's default; a volume at /dev/shm comes on top of it.
  mount("tmpfs", (dev + "/shm").c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=65536k");
}

void mount_proc_and_sys(const RootSpec& spec, bool privileged, bool host_pid) {
  const auto proc = spec.dir + "/proc";
  make_folders(proc);
  if (host_pid ||
      mount("proc", proc.c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    if (!host_pid)
      send_news({.notice = std::string("cannot mount a fresh /proc (") + strerror(errno) +
                           "): the container sees the host's"});
    bind_mount("/proc", proc, false);
  }
  const auto sys = spec.dir + "/sys";
  make_folders(sys);
  const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | (privileged ? 0 : MS_RDONLY);
  bool fresh = spec.own_network && mount("sysfs", sys.c_str(), "sysfs", flags, nullptr) == 0;
  if (!fresh) bind_mount("/sys", sys, !privileged);
  if (!fresh || spec.cgroups.empty()) return;
  const auto cgroup = sys + "/fs/cgroup";
  if (spec.cgroups.size() == 1 && spec.cgroups[0].starts_with("=")) {
    bind_mount(spec.cgroups[0].substr(1), cgroup, true);
    return;
  }
  if (mount("tmpfs", cgroup.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755") != 0)
    return;
  for (const auto& entry : spec.cgroups) {
    const auto equals = entry.find('=');
    bind_mount(entry.substr(equals + 1), cgroup + "/" + entry.substr(0, equals), true);
  }
}

void protect_proc() {
  bind_mount("/proc/sys", "/proc/sys", true);
  for (const char* path : {"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sysrq-trigger"})
    if (exists(path)) bind_mount("/dev/null", path, true);
}

struct PendingMount {
  Tree tree;
  const MountSpec* spec;
};

}  // namespace

bool make_folders(const std::string& path, mode_t mode) {
  for (std::size_t slash = 1; slash != std::string::npos;) {
    slash = path.find('/', slash);
    const auto part = path.substr(0, slash);
    if (!part.empty() && mkdir(part.c_str(), mode) != 0 && errno != EEXIST && !is_folder(part))
      return false;
    if (slash != std::string::npos) ++slash;
  }
  return true;
}

void enter_root(const HelperSpec& spec) {
  const auto& root = spec.root;
  const bool privileged = spec.process.credentials.privileged;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    die_errno("keeping the container's mounts to itself");
  make_folders(root.dir);
  if (root.lower.empty()) {
    bind_mount(root.dir, root.dir, false);  // pivot_root wants a mount point
    build_synthesized(root);
  } else {
    build_from_folder(root);
  }
  write_files(root, spec.process.credentials);
  mount_proc_and_sys(root, privileged, spec.host_pid);
  mount_devices(root.dir, privileged);

  std::vector<PendingMount> pending;
  for (const auto& mount : spec.mounts) {
    Tree tree = {};
    if (mount.source != "tmpfs")
      tree = mount.sub_path.empty() ? clone_path(mount.source, mount.read_only)
                                    : clone_sub_path(mount);
    pending.push_back({tree, &mount});
  }
  if (chdir(root.dir.c_str()) != 0 || syscall(SYS_pivot_root, ".", ".") != 0)
    die_errno("entering the container's root");
  if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) die_errno("leaving the host's root");

  for (const auto& [tree, mount_spec] : pending) {
    if (tree.fd >= 0) {
      attach(tree, mount_spec->target);
      continue;
    }
    make_folders(mount_spec->target);
    mount("tmpfs", mount_spec->target.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
  }
  if (!privileged && !spec.host_pid) protect_proc();
  if (root.read_only) {
    mount_attr attributes = {};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    if (mount_setattr(AT_FDCWD, "/", 0, &attributes, sizeof attributes) != 0)
      die_errno("making the root read-only");
  }
}

}  // namespace manta::local::helper
