#include "local/node/node_object.h"

#include "base/quantity.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

namespace manta::local {

static std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The first address of the host that others could reach; else loopback.
static std::string host_address() {
  std::string found = "127.0.0.1";
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (auto* a = all; a != nullptr; a = a->ifa_next) {
    if (a->ifa_addr == nullptr || a->ifa_addr->sa_family != AF_INET) continue;
    if ((a->ifa_flags & IFF_LOOPBACK) != 0 || (a->ifa_flags & IFF_UP) == 0) continue;
    const std::string_view name(a->ifa_name);
    if (name.starts_with("manta") || name.starts_with("docker") || name.starts_with("br-") ||
        name.starts_with("virbr"))
      continue;
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(a->ifa_addr)->sin_addr, text, sizeof text);
    found = text;
    break;
  }
  freeifaddrs(all);
  return found;
}

static std::int64_t memory_total() {
  std::ifstream in("/proc/meminfo");
  for (std::string key, unit; in >> key;) {
    std::int64_t value = 0;
    in >> value;
    std::getline(in, unit);
    if (key == "MemTotal:") return value * 1024;
  }
  return 0;
}

MachineFacts read_machine(const std::string& state_folder) {
  MachineFacts m;
  m.cpu_milli = sysconf(_SC_NPROCESSORS_ONLN) * 1000;
  m.memory = memory_total();
  struct statvfs disk = {};
  if (statvfs(state_folder.c_str(), &disk) == 0)
    m.ephemeral_storage = static_cast<std::int64_t>(disk.f_blocks * disk.f_frsize);
  utsname name = {};
  uname(&name);
  m.hostname = name.nodename;
  m.kernel = name.release;
  const std::string_view machine(name.machine);
  m.architecture = machine == "x86_64"    ? "amd64"
                   : machine == "aarch64" ? "arm64"
                                          : std::string(machine);
  m.machine_id = first_line("/etc/machine-id");
  m.boot_id = first_line("/proc/sys/kernel/random/boot_id");
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);)
    if (line.starts_with("PRETTY_NAME=")) {
      m.os_image = line.substr(12);
      std::erase(m.os_image, '"');
    }
  m.address = host_address();
  return m;
}

Json build_node(const NodeOptions& options, const MachineFacts& machine) {
  JsonObject labels;
  labels["kubernetes.io/hostname"] = options.node_name;
  labels["kubernetes.io/os"] = "linux";
  labels["kubernetes.io/arch"] = machine.architecture;
  for (const auto& [key, value] : options.labels) labels[key] = value;
  return JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata", JsonObject{{"name", options.node_name}, {"labels", std::move(labels)}}},
      {"spec", JsonObject{{"providerID", "manta://" + options.node_name}}}};
}

static Json condition(std::string_view type, std::string_view status, std::string_view reason,
                      std::string_view message, const Json& previous, Time now) {
  std::string since = format_rfc3339(now);
  for (const auto& old : array_at(previous, {"conditions"}))
    if (string_at(old, {"type"}) == type && string_at(old, {"status"}) == status)
      since = string_at(old, {"lastTransitionTime"}, since);
  return JsonObject{{"type", type},
                    {"status", status},
                    {"lastHeartbeatTime", format_rfc3339(now)},
                    {"lastTransitionTime", since},
                    {"reason", reason},
                    {"message", message}};
}

Json build_node_status(const NodeOptions& options, const MachineFacts& machine,
                       const Json& previous, Time now) {
  JsonObject capacity;
  capacity["cpu"] = Quantity::from_milli(machine.cpu_milli).to_string();
  capacity["memory"] = fmt::format("{}Ki", machine.memory / 1024);
  capacity["ephemeral-storage"] = fmt::format("{}Ki", machine.ephemeral_storage / 1024);
  capacity["pods"] = std::to_string(options.max_pods);
  JsonObject status;
  status["capacity"] = capacity;
  status["allocatable"] = capacity;
  status["conditions"] = JsonArray{
      condition("MemoryPressure", "False", "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available", previous, now),
      condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure",
                previous, now),
      condition("PIDPressure", "False", "KubeletHasSufficientPID",
                "kubelet has sufficient PID available", previous, now),
      condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", previous, now)};
  status["addresses"] = JsonArray{JsonObject{{"type", "InternalIP"}, {"address", machine.address}},
                                  JsonObject{{"type", "Hostname"}, {"address", options.node_name}}};
  status["nodeInfo"] =
      JsonObject{{"machineID", machine.machine_id},   {"systemUUID", machine.machine_id},
                 {"bootID", machine.boot_id},         {"kernelVersion", machine.kernel},
                 {"osImage", machine.os_image},       {"containerRuntimeVersion", "manta://1"},
                 {"kubeletVersion", options.version}, {"kubeProxyVersion", options.version},
                 {"operatingSystem", "linux"},        {"architecture", machine.architecture}};
  return status;
}

Json build_lease(const NodeOptions& options, const std::string& node_uid, Time now) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(options.lease_period).count() * 4;
  return JsonObject{
      {"apiVersion", "coordination.k8s.io/v1"},
      {"kind", "Lease"},
      {"metadata", JsonObject{{"name", options.node_name},
                              {"namespace", "kube-node-lease"},
                              {"ownerReferences", JsonArray{JsonObject{{"apiVersion", "v1"},
                                                                       {"kind", "Node"},
                                                                       {"name", options.node_name},
                                                                       {"uid", node_uid}}}}}},
      {"spec", JsonObject{{"holderIdentity", options.node_name},
                          {"leaseDurationSeconds", seconds},
                          {"renewTime", format_rfc3339_micro(now)}}}};
}

}  // namespace manta::local
