#include "local/node/image_root.h"

#include "local/node/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace manta::local {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSystemPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::string_view kToolFolder = "/opt/manta/bin";

// What Docker and containerd leave a container.
const std::vector<std::string> kDefaultCapabilities = {
    "CHOWN",   "DAC_OVERRIDE", "FSETID",           "FOWNER",
    "MKNOD",   "NET_RAW",      "SETGID",           "SETUID",
    "SETFCAP", "SETPCAP",      "NET_BIND_SERVICE", "SYS_CHROOT",
    "KILL",    "AUDIT_WRITE"};

// Of the host's /etc, what programs need to start, to resolve and to trust.
const std::vector<std::string> kSharedEtc = {
    "/etc/ssl",          "/etc/ca-certificates", "/etc/pki",
    "/etc/alternatives", "/etc/ld.so.cache",     "/etc/ld.so.conf",
    "/etc/ld.so.conf.d", "/etc/localtime",       "/etc/crypto-policies",
    "/etc/protocols",    "/etc/services",        "/etc/mime.types",
    "/etc/fonts",        "/etc/OpenCL"};

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

/// The base Python's prefix, which the environment's bin/python links into.
std::string base_prefix(const std::string& venv) {
  std::error_code error;
  for (const char* name : {"/bin/python3", "/bin/python"}) {
    const auto real = fs::canonical(venv + name, error);
    if (!error) return real.parent_path().parent_path().string();
  }
  return {};
}

/// A securityContext field of the container, else of the Pod.
const Json* security(const RootRequest& r, std::string_view field) {
  if (const Json* own = find(*r.container.document, {"securityContext", field})) return own;
  return find(*r.pod.document, {"spec", "securityContext", field});
}

struct ImageUser {
  std::string name, home;
  std::int64_t uid, gid;
};

ImageUser image_user(const ImageRoot& image) {
  const bool whole_root = image.kind == ImageRoot::Kind::Root;
  ImageUser user{whole_root ? "root" : "ray", whole_root ? "/root" : "/home/ray",
                 whole_root ? 0 : 1000, whole_root ? 0 : 100};
  if (!image.user.empty()) user.name = image.user;
  if (!image.home.empty()) user.home = image.home;
  if (image.uid >= 0) user.uid = image.uid;
  if (image.gid >= 0) user.gid = image.gid;
  return user;
}

Result<CredentialSpec> build_credentials(const RootRequest& r, const ImageUser& user,
                                         std::vector<std::string>& notices) {
  CredentialSpec c;
  c.uid = user.uid;
  c.gid = user.gid;
  if (const Json* uid = security(r, "runAsUser"); uid != nullptr && uid->is_int64()) {
    c.uid = uid->as_int64();
    if (c.uid == 0) c.gid = 0;
  }
  if (const Json* gid = security(r, "runAsGroup"); gid != nullptr && gid->is_int64())
    c.gid = gid->as_int64();
  for (const auto& group :
       array_at(*r.pod.document, {"spec", "securityContext", "supplementalGroups"}))
    if (group.is_int64()) c.groups.push_back(group.as_int64());
  if (const Json* group = find(*r.pod.document, {"spec", "securityContext", "fsGroup"});
      group != nullptr && group->is_int64())
    c.groups.push_back(group->as_int64());
  const Json* non_root = security(r, "runAsNonRoot");
  if (non_root != nullptr && non_root->is_bool() && non_root->as_bool() && c.uid == 0)
    return failed(ErrorCode::Invalid,
                  "container has runAsNonRoot and image will run as root; set runAsUser");
  c.privileged = bool_at(*r.container.document, {"securityContext", "privileged"});
  c.no_new_privileges =
      !bool_at(*r.container.document, {"securityContext", "allowPrivilegeEscalation"}, true);
  c.capabilities = kDefaultCapabilities;
  for (const auto& drop :
       array_at(*r.container.document, {"securityContext", "capabilities", "drop"})) {
    if (!drop.is_string()) continue;
    if (drop.as_string() == "ALL") c.capabilities.clear();
    std::erase(c.capabilities, std::string(drop.as_string()));
  }
  for (const auto& add :
       array_at(*r.container.document, {"securityContext", "capabilities", "add"}))
    if (add.is_string()) c.capabilities.emplace_back(add.as_string());
  if (r.rootless) {
    c.keep_ids = true;
    if (security(r, "runAsUser") != nullptr && c.uid != 0)
      notices.push_back(
          fmt::format("runAsUser {} cannot be had without root: the container runs as the user who "
                      "started Manta",
                      c.uid));
  }
  return c;
}

void add_accounts(const ImageUser& user, const CredentialSpec& c, RootSpec& root) {
  // Rootless, the one user that exists looks like root; its home is the image user's.
  std::string passwd =
      fmt::format("root:x:0:0:root:{}:/bin/bash\n", c.keep_ids ? user.home : "/root");
  std::string group = "root:x:0:\ntty:x:5:\nusers:x:100:\n";
  if (user.uid != 0)
    passwd += fmt::format("{}:x:{}:{}:{}:{}:/bin/bash\n", user.name, user.uid, user.gid, user.name,
                          user.home);
  if (c.uid != 0 && c.uid != user.uid)
    passwd += fmt::format("user{}:x:{}:{}::{}:/bin/bash\n", c.uid, c.uid, c.gid, user.home);
  passwd += "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
  if (user.gid != 0 && user.gid != 100 && user.gid != 5)
    group += fmt::format("{}:x:{}:\n", user.name, user.gid);
  group += "nogroup:x:65534:\n";
  root.files.push_back({"/etc/passwd", passwd});
  root.files.push_back({"/etc/group", group});
}

/// Everything that a Venv or Host image shows.
void add_synthesized(const RootRequest& r, const ImageUser& user, ContainerRoot& out) {
  auto& root = out.root;
  root.binds = kSharedEtc;
  if (!r.image.venv.empty()) {
    root.binds.push_back(r.image.venv);
    root.links.push_back({user.home + "/anaconda3/bin", r.image.venv + "/bin"});
    if (const auto base = base_prefix(r.image.venv); !base.empty()) root.binds.push_back(base);
    out.env["VIRTUAL_ENV"] = r.image.venv;
  }
  for (const auto& path : r.image.binds) root.binds.push_back(path);
  std::erase_if(root.binds, [](const auto& p) { return is_below(p, "/usr") || p == "/"; });
  std::ranges::sort(root.binds);  // outer folders first
  root.binds.erase(std::ranges::unique(root.binds).begin(), root.binds.end());

  add_accounts(user, out.credentials, root);
  root.writable = {user.home, user.home + "/anaconda3"};
  root.files.push_back({"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"});
  root.files.push_back(
      {"/etc/profile", "# PATH is the container's own: a login shell must not lose it.\n"});
  root.files.push_back({"/etc/os-release", read_file("/etc/os-release").value_or("")});
  for (const char* path : {"/var/tmp/.keep", "/var/log/.keep", "/run/.keep", "/root/.keep"})
    root.files.push_back({path, ""});
}

bool has_bash(const ImageRoot& image) {
  const auto& root = image.kind == ImageRoot::Kind::Root ? image.root : std::string();
  std::error_code error;
  for (const char* path : {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"})
    if (fs::exists(root + path, error)) return true;
  return false;
}

void add_path(const RootRequest& r, bool stand_in, ContainerRoot& out) {
  std::vector<std::string> path;
  if (!r.image.venv.empty()) path.push_back(r.image.venv + "/bin");
  path.insert(path.end(), r.image.path.begin(), r.image.path.end());
  path.emplace_back(kSystemPath);
  if (stand_in) path.emplace_back(kToolFolder);
  out.env["PATH"] = fmt::format("{}", fmt::join(path, ":"));
}

}  // namespace

Result<ContainerRoot> build_container_root(const RootRequest& r) {
  ContainerRoot out;
  const auto user = image_user(r.image);
  auto credentials = build_credentials(r, user, out.notices);
  if (!credentials) return failed(credentials.error());
  out.credentials = std::move(*credentials);
  auto& root = out.root;
  root.dir = r.folder + "/root";
  root.own_network = !r.pod.host_network;
  root.read_only = bool_at(*r.container.document, {"securityContext", "readOnlyRootFilesystem"});
  if (r.image.kind == ImageRoot::Kind::Root) {
    root.lower = r.image.root;
    root.upper = r.folder + "/upper";
    root.work = r.folder + "/work";
    for (const auto& path : r.image.binds)
      out.mounts.push_back({.source = path, .target = path, .read_only = true});
  } else {
    add_synthesized(r, user, out);
  }
  // Last in PATH: the machine's or the image's own wget comes first.
  const bool stand_in = !r.executable.empty();
  if (stand_in)
    out.mounts.push_back(
        {.source = r.executable, .target = fmt::format("{}/wget", kToolFolder), .read_only = true});
  // Ray starts its workers by way of bash, with nothing that sh would not understand.
  if (stand_in && !has_bash(r.image))
    root.links.push_back({fmt::format("{}/bash", kToolFolder), "/bin/sh"});
  add_path(r, stand_in, out);
  const bool is_root = out.credentials.uid == 0 && !out.credentials.keep_ids;
  out.env["HOME"] =
      is_root && r.image.kind != ImageRoot::Kind::Root && user.uid != 0 ? "/root" : user.home;
  for (const auto& [name, value] : r.image.env) out.env[name] = value;
  out.cwd = r.container.working_dir;
  if (out.cwd.empty()) out.cwd = r.image.working_dir;
  if (out.cwd.empty()) out.cwd = r.image.kind == ImageRoot::Kind::Root ? "/" : user.home;
  if (!r.image.notice.empty()) out.notices.push_back(r.image.notice);
  return out;
}

std::vector<MountSpec> restore_hidden(const RootSpec& root, const std::vector<MountSpec>& mounts) {
  std::vector<MountSpec> again;
  std::error_code error;
  for (const auto& path : root.binds)
    for (const auto& mount : mounts)
      if (path != mount.target && is_below(path, mount.target) && fs::exists(path, error)) {
        again.push_back({.source = path, .target = path, .read_only = true});
        break;
      }
  return again;
}

}  // namespace manta::local
